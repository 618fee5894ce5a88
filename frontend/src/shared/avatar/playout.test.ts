import { describe, expect, it } from "vitest";
import { mixFrames, restFrame } from "./frame";
import { PlayOut } from "./playout";
import { JOINTS, WEIGHTS } from "./tables";

const jaw = WEIGHTS.indexOf("jawOpen");
const head = JOINTS.indexOf("head") * 4;

function frame(open: number, yaw = 0) {
  const made = restFrame();
  made.weights[jaw] = open;
  made.joints.set([0, Math.sin(yaw / 2), 0, Math.cos(yaw / 2)], head);
  return made;
}

it("turns by the same angle each step, over the shorter way", () => {
  const out = restFrame();
  const far = frame(0, 1.2);
  far.joints.set(
    far.joints.slice(head, head + 4).map((v) => -v),
    head,
  );
  mixFrames(frame(0), far, 0.25, out);
  expect(2 * Math.atan2(out.joints[head + 1] ?? 0, out.joints[head + 3] ?? 0)).toBeCloseTo(0.3, 5);
});

describe("play-out", () => {
  it("plays by capture time however unevenly frames arrive", () => {
    const play = new PlayOut();
    const out = restFrame();
    expect(play.at(0, out)).toBe(false);
    const late = [0, 25, 3, 18, 9, 30, 2, 14];
    const seen: number[] = [];
    let pushed = 0;
    for (let now = 0; now < 4_000; now += 10) {
      while (pushed * 40 + (late[pushed % late.length] ?? 0) <= now) {
        play.push(frame((pushed % 100) / 100), pushed * 40, now);
        pushed += 1;
      }
      if (play.at(now, out) && now > 1_500) seen.push(out.weights[jaw] ?? 0);
    }
    const steps = seen.slice(1).map((value, i) => value - (seen[i] ?? 0));
    // 1 % each 40 ms is 0.25 % each 10 ms; the clock may be run a tenth fast or a quarter slow, never in jerks.
    for (const step of steps) expect(step > -0.5 ? step : 0.0025).toBeGreaterThanOrEqual(0.0018);
    for (const step of steps) expect(step).toBeLessThanOrEqual(0.0029);
    expect(play.smoothingMs).toBeGreaterThan(40);
    expect(play.smoothingMs).toBeLessThanOrEqual(100);
  });

  it("lets a movement run out when nothing more comes", () => {
    const play = new PlayOut();
    const out = restFrame();
    play.push(frame(0.2), 0, 0);
    play.push(frame(0.3), 40, 40);
    const values: number[] = [];
    for (let now = 40; now < 2_000; now += 20) {
      play.at(now, out);
      values.push(out.weights[jaw] ?? 0);
    }
    expect(play.ranDry).toBe(true);
    expect(Math.max(...values)).toBeLessThanOrEqual(0.3 + 0.1 * 1.5 + 1e-6);
    expect(values.at(-1)).toBeCloseTo(values.at(-2) ?? 0, 4);
  });
});
