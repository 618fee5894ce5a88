/** Edits of a show's segments, as pure functions over the draft. */

import type { Avatar, Lang, Line, Segment, SegmentKind, Show } from "../../../shared/api/contract";

export type Draft = Omit<Show, "id" | "created_at" | "updated_at">;

export const KINDS: readonly SegmentKind[] = [
  "opening",
  "hook",
  "points",
  "demo",
  "objection",
  "price",
  "cta",
  "qa",
  "transition",
  "announcement",
  "break",
];

export interface Voices {
  voice_zh: string;
  voice_en: string;
}

/** What a presenter that is not known here speaks with (lumihost.avatars.catalogue.DEFAULT_VOICES). */
export const DEFAULT_VOICES: Voices = { voice_zh: "zf_xiaoxiao", voice_en: "af_heart" };

export function newDraft(language: Lang): Draft {
  return {
    title: "",
    language,
    avatar: "lin",
    backdrop: "daylight",
    ...DEFAULT_VOICES,
    speed: 1,
    loop: true,
    segments: [newSegment("opening", language)],
  };
}

export function draftOf(show: Show): Draft {
  const { id: _id, created_at: _created, updated_at: _updated, ...draft } = show;
  return draft;
}

function ownVoices(avatars: readonly Avatar[], id: string): Voices {
  return avatars.find((avatar) => avatar.id === id) ?? DEFAULT_VOICES;
}

/** Another presenter: a voice that was the previous one's own becomes the new one's, any other was chosen and stays. */
export function withPresenter(draft: Draft, avatars: readonly Avatar[], id: string): Pick<Draft, "avatar"> & Voices {
  const before = ownVoices(avatars, draft.avatar);
  const after = ownVoices(avatars, id);
  const voice = (of: keyof Voices) => (draft[of] === before[of] ? after[of] : draft[of]);
  return { avatar: id, voice_zh: voice("voice_zh"), voice_en: voice("voice_en") };
}

/** Short and unique enough within one show; the server checks that it is. */
export function newPartId(prefix: string): string {
  return `${prefix}-${crypto.randomUUID().slice(0, 8)}`;
}

export function newLine(lang: Lang): Line {
  return { id: newPartId("line"), text: "", lang, interruptible: true, variants: [] };
}

export function newSegment(kind: SegmentKind, lang: Lang): Segment {
  return { id: newPartId("seg"), kind, title: "", product_id: null, lines: [newLine(lang)], gap_s: 0 };
}

/** `list` with the item at `from` moved to `to`; unchanged when either is outside. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = list.slice();
  if (from < 0 || to < 0 || from >= next.length || to >= next.length) return next;
  const [item] = next.splice(from, 1);
  if (item !== undefined) next.splice(to, 0, item);
  return next;
}

export function replaced<T>(list: readonly T[], at: number, change: Partial<T>): T[] {
  return list.map((item, index) => (index === at ? { ...item, ...change } : item));
}

export function without<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, index) => index !== at);
}

/** A copy after the original, with ids of its own. */
export function duplicated(segments: readonly Segment[], at: number): Segment[] {
  const original = segments[at];
  if (!original) return segments.slice();
  const copy: Segment = {
    ...original,
    id: newPartId("seg"),
    lines: original.lines.map((line) => ({ ...line, id: newPartId("line"), variants: line.variants.slice() })),
  };
  return [...segments.slice(0, at + 1), copy, ...segments.slice(at + 1)];
}

/** What must be put right before saving: segment and line of the first empty line. */
export function firstEmptyLine(segments: readonly Segment[]): { segment: number; line: number } | null {
  for (const [segment, { lines }] of segments.entries()) {
    const line = lines.findIndex((l) => l.text.trim() === "");
    if (line >= 0) return { segment, line };
  }
  return null;
}
