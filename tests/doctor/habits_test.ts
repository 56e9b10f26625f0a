// What the doctor learns, and how long it remembers it.
import assert from "node:assert/strict";
import { encode } from "../../src/pgn/mod.ts";
import { COMPASS, of, SECOND, WIND } from "./fault.ts";
import { framesOf, healthyFrames, Lab, type LabFrame } from "./lab.ts";

const MINUTE = 60 * SECOND;

function peakOf(frames: readonly LabFrame[], { asleep }: { asleep?: { fromMs: number; toMs: number } } = {}): number {
  const lab = new Lab();
  let slept = false;
  for (const frame of frames) {
    const isHeld = asleep && frame.atMs >= asleep.fromMs && frame.atMs < asleep.toMs;
    if (isHeld && !slept) lab.sleep(asleep.toMs);
    slept ||= isHeld === true;
    lab.push(isHeld ? { ...frame, atMs: asleep.toMs } : frame);
  }
  return lab.doctor.loads()[0]?.peak_percent ?? 0;
}

Deno.test("doctor: the peak of a bus is the same when the process was held up for five seconds", () => {
  const frames = healthyFrames(MINUTE);
  const peak = peakOf(frames);
  const held = peakOf(frames, { asleep: { fromMs: 30 * SECOND, toMs: 35 * SECOND } });
  assert.ok(peak > 1 && Math.abs(held - peak) <= 0.2 * peak, `${held} instead of ${peak}`);
});

Deno.test("doctor: a device that is silent for the second time is missing as soon as the first time", () => {
  const lab = new Lab();
  const outages = [[8, 10], [12, 14]].map(([from, to]) => ({ fromMs: from! * MINUTE, toMs: to! * MINUTE }));
  const missing = () => lab.found.filter(({ kind, src }) => kind === "missing_device" && src === WIND);
  const delays: number[] = [];
  for (const frame of healthyFrames(15 * MINUTE)) {
    const outage = outages.find(({ fromMs, toMs }) => frame.atMs >= fromMs && frame.atMs < toMs);
    if (outage && of(WIND)(frame)) continue;
    const before = missing().length;
    lab.push(frame);
    if (outage && missing().length > before) delays.push(Math.round((frame.atMs - outage.fromMs) / SECOND));
  }
  assert.equal(delays.length, 2, `${delays}`);
  assert.ok(Math.abs(delays[0]! - delays[1]!) <= 2, `${delays}`);
});

Deno.test("doctor: after hundreds of pairs of devices that disagreed and left, a new pair is found", () => {
  const lab = new Lab();
  const heading = (atMs: number, src: number, radians: number) =>
    framesOf({
      atMs,
      pgn: 127250,
      src,
      data: encode(127250, { heading: radians % (2 * Math.PI), heading_reference: "magnetic" }),
    });
  const last = { src: 90, fromMs: 4 * MINUTE };
  for (const frame of healthyFrames(5 * MINUTE)) {
    lab.push(frame);
    if (!of(COMPASS, 127250)(frame)) continue;
    const { atMs } = frame;
    if (atMs > 30 * SECOND && atMs < 50 * SECOND) {
      for (let i = 0; i < 30; i++) for (const each of heading(atMs, 100 + i, i * 0.209)) lab.push(each);
    }
    // Opposite to each other: whatever the compass says, one of the two is far from it.
    if (atMs > last.fromMs) {
      for (const [src, radians] of [[last.src, 0], [last.src + 1, Math.PI]] as const) {
        for (const each of heading(atMs, src, radians)) lab.push(each);
      }
    }
  }
  const disagreed = lab.found.filter(({ kind }) => kind === "sources_disagree");
  assert.ok(disagreed.length > 20, `${disagreed.length}`);
  const isNew = (text: string) => text.includes(`address ${last.src}`) && text.includes(`address ${last.src + 1}`);
  assert.ok(disagreed.some(({ text }) => isNew(text)), "the new pair");
});
