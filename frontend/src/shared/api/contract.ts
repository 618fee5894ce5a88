/** What the platform's REST API (`/api/v1`) sends and takes. Money is integer minor units; times are ISO 8601. */

export type Lang = "zh" | "en";

export interface Text {
  zh: string;
  en: string;
}

export interface Tenant {
  id: string;
  name: string;
  slug: string;
  currency: string;
  locale: string;
  timezone?: string;
}

export interface Membership {
  tenant: Tenant;
  role: string;
  permissions: string[];
}

export interface AuthSession {
  user: { id: string | number; email: string; name?: string } | null;
  csrf_token: string;
  memberships: Membership[];
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export type SegmentKind =
  | "opening"
  | "hook"
  | "points"
  | "demo"
  | "objection"
  | "price"
  | "cta"
  | "qa"
  | "transition"
  | "announcement"
  | "break";

export interface Line {
  id: string;
  text: string;
  lang: Lang;
  interruptible: boolean;
  variants: string[];
}

export interface Segment {
  id: string;
  kind: SegmentKind;
  title: string;
  product_id: string | null;
  lines: Line[];
  gap_s: number;
}

export interface Show {
  id: string;
  title: string;
  language: Lang;
  avatar: string;
  voice_zh: string;
  voice_en: string;
  speed: number;
  segments: Segment[];
  loop: boolean;
  created_at?: string;
  updated_at?: string;
}

export interface Channel {
  id: string;
  name: string;
  platform: string;
  language: Lang;
}

export interface Destination {
  id: string;
  name: string;
  kind: string;
  url: string;
  enabled: boolean;
  has_stream_key: boolean;
}

export interface CommentSource {
  id: string;
  kind: string;
  url: string;
  enabled: boolean;
}

export type SessionState =
  | "requested"
  | "assigned"
  | "starting"
  | "live"
  | "interrupted"
  | "stopping"
  | "ended"
  | "failed";

export interface Cursor {
  loop: number;
  segment_index: number;
  line_index: number;
  sentence_index: number;
  segment_id?: string;
  title?: string;
}

export interface Session {
  id: string;
  state: SessionState;
  desired: "running" | "stopped";
  epoch: number;
  show: { id: string; title: string };
  channel: { id: string; name: string } | null;
  node: string | null;
  cursor: Cursor | null;
  record: boolean;
  requested_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  end_reason: string;
  media_s: number;
  billable_s: number;
  cost_minor: number;
  currency: string;
}

export interface Recording {
  id: string;
  epoch: number;
  part: number;
  name: string;
  bytes: number;
  duration_s: number;
  finished: boolean;
}

export interface CommentReply {
  id: string;
  accepted: boolean;
  reason: string;
}

/** A voice or an avatar of the stock. */
export interface Stock {
  id: string;
  name: Text;
  language?: Lang;
  gender?: "female" | "male";
}

export interface Promotion {
  text: Text;
  starts_at: string | null;
  ends_at: string | null;
}

export interface Product {
  id: string;
  sku: string;
  link_no: number;
  title: Text;
  aliases: string[];
  category: string;
  currency: string;
  price_minor: number;
  list_price_minor: number | null;
  /** null = not known */
  stock: number | null;
  attributes: Record<string, Text>;
  selling_points: Text[];
  shipping: Text;
  after_sales: Text;
  promotion: Promotion | null;
  image: string;
  created_at: string;
  updated_at: string;
}

export interface Faq {
  id: string;
  question: Text;
  answer: Text;
  product_id: string | null;
}

export interface ImportRemark {
  /** Counts records, the header being 1; null speaks of the whole file. */
  row: number | null;
  column: string | null;
  value: string;
  code: string;
  message: Text;
}

export interface ProductImport {
  id: string;
  file_name: string;
  state: "applied" | "refused";
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
  errors: ImportRemark[];
  warnings: ImportRemark[];
  created_at: string;
}
