/** RFC 9457 problem details as an error a page can show. */

export interface FieldProblem {
  /** JSON pointer into the request body, e.g. `/price_minor`. */
  pointer: string;
  code: string;
  detail: string;
}

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  readonly errors: readonly FieldProblem[];
  readonly requestId: string;

  constructor(document: {
    status: number;
    code: string;
    title?: string;
    detail?: string;
    errors?: FieldProblem[];
    request_id?: string;
  }) {
    super(document.detail || document.title || document.code);
    this.name = "Problem";
    this.status = document.status;
    this.code = document.code;
    this.title = document.title ?? "";
    this.detail = document.detail ?? "";
    this.errors = document.errors ?? [];
    this.requestId = document.request_id ?? "";
  }

  /** Whether trying again later may help: the server or the way to it is at fault. */
  get passing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The problem in an answer that is not 2xx, whatever its body turns out to be. */
export async function problemOf(response: Response): Promise<Problem> {
  let body: unknown = null;
  try {
    body = await response.json();
  } catch {
    body = null;
  }
  const document = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  return new Problem({
    status: response.status,
    code: typeof document.code === "string" ? document.code : `http_${response.status}`,
    title: typeof document.title === "string" ? document.title : response.statusText,
    detail: typeof document.detail === "string" ? document.detail : "",
    errors: Array.isArray(document.errors) ? (document.errors as FieldProblem[]) : [],
    request_id:
      typeof document.request_id === "string" ? document.request_id : (response.headers.get("X-Request-Id") ?? ""),
  });
}

/** The problem of a request that got no answer at all. */
export function unreachable(): Problem {
  return new Problem({ status: 0, code: "unreachable" });
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem({ status: 0, code: "unexpected", detail: error instanceof Error ? error.message : String(error) });
}
