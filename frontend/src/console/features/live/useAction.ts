import { useMutation } from "@tanstack/react-query";
import { App } from "antd";
import { request } from "../../../shared/api/client";
import { useWorkspace } from "../../../shared/auth/session";
import { useTellProblem } from "../../../shared/ui/Problem";

/** One command to the running session: `POST …/sessions/{id}/{name}`; says what came of it. */
export function useAction<Result = unknown>(sessionId: string, name: string, done: (result: Result) => string | null) {
  const { path } = useWorkspace();
  const { message } = App.useApp();
  const tellProblem = useTellProblem();
  return useMutation({
    mutationFn: (body: Record<string, unknown> = {}) =>
      request<Result>(path(`/sessions/${sessionId}/${name}`), { method: "POST", json: body }),
    onSuccess: (result) => {
      const text = done(result);
      if (text) void message.success(text);
    },
    onError: tellProblem,
  });
}
