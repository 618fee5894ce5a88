import { expect, it } from "vitest";
import type { Comment, Turn } from "../../../shared/ws/log";
import { type OwnComment, withOwn } from "./ownComments";

const logged = (over: Partial<Comment>): Comment => ({
  id: "cmt_1",
  text: "多少钱",
  user: "viewer",
  outcome: "queued",
  reason: "",
  turnId: "",
  at: 1,
  ...over,
});
const own: OwnComment = { local: "l1", id: "", text: "多少钱", outcome: "sending", reason: "", at: 1 };

it("shows an own comment once, before and after the log knows it", () => {
  expect(withOwn([], [own], [])).toMatchObject([{ id: "l1", outcome: "sending" }]);
  const sent = { ...own, id: "cmt_1", outcome: "received" };
  expect(withOwn([], [sent], [])).toMatchObject([{ id: "cmt_1", outcome: "received" }]);
  expect(withOwn([logged({ outcome: "answered" })], [sent], [])).toMatchObject([{ id: "cmt_1", outcome: "answered" }]);
});

it("marks the waiting comment that is being answered aloud", () => {
  const turn = { question: "多少钱", outcome: "speaking" } as Turn;
  expect(withOwn([logged({})], [], [turn])[0]?.outcome).toBe("answering");
  expect(withOwn([logged({ outcome: "merged" })], [], [turn])[0]?.outcome).toBe("merged");
});
