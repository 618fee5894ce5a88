/**
 * The REST API's types (`/api/v1`), from the schema the back end exports (`npm run api`). Money is integer minor units of
 * the currency beside it; times are ISO 8601.
 */

import type { components } from "./schema";

type Schemas = components["schemas"];

/** A field may be left out of a request, never out of an answer. */
type Answer<T> = T extends (infer Item)[]
  ? Answer<Item>[]
  : T extends object
    ? { -readonly [Key in keyof T]-?: Answer<T[Key]> }
    : T;

export type Lang = Schemas["LanguageEnum"];
export type Text = Answer<Schemas["Text"]>;

export type Tenant = Answer<Schemas["TenantOut"]>;
export type Membership = Answer<Schemas["MembershipOut"]>;
export type AuthSession = Answer<Schemas["SessionOut"]>;

export interface Page<T> {
  items: T[];
  next: string | null;
}

export type SegmentKind = Schemas["SegmentKindEnum"];
export type Line = Answer<Schemas["Line"]>;
export type Segment = Answer<Schemas["Segment"]>;
export type Show = Answer<Schemas["Show"]>;

export type Channel = Answer<Schemas["Channel"]>;
/** `stream_key` is sent and never answered. */
export type Destination = Answer<Omit<Schemas["Destination"], "stream_key">>;
export type CommentSource = Answer<Schemas["Source"]>;

export type SessionState = Schemas["SessionStateEnum"];

/** Where the show is; the engine's own record, which the schema leaves open. */
export interface Cursor {
  loop: number;
  segment_index: number;
  line_index: number;
  sentence_index: number;
  segment_id?: string;
  title?: string;
}

export type Session = Omit<Answer<Schemas["Session"]>, "cursor"> & { cursor: Cursor | null };
export type Recording = Answer<Schemas["Recording"]>;
export type CommentReply = Answer<Schemas["CommentAnswer"]>;

export type Avatar = Answer<Schemas["AvatarOut"]>;
export type Voice = Answer<Schemas["VoiceOut"]>;
export type Backdrop = Answer<Schemas["BackdropOut"]>;
export type MotionToken = Answer<Schemas["MotionTokenOut"]>;

export type Promotion = Answer<Schemas["PromotionOut"]>;
export type Product = Answer<Schemas["Product"]>;
export type Faq = Answer<Schemas["Faq"]>;
/** `row` counts records, the header being 1; null speaks of the whole file. */
export type ImportRemark = Answer<Schemas["RemarkOut"]>;
export type ProductImport = Answer<Schemas["Import"]>;
