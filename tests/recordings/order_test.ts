import assert from "node:assert/strict";
import { ORDER_WINDOW_US, TimeOrder } from "../../src/recordings/convert/order.ts";
import type { Message } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

/** A message that is known by its number. */
function message(timeUs: number, number: number): Message {
  return { id: number, pgn: 0, bus: 0, timeUs, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
}

/** What comes out, as `time number`; `held` is how many were still held at the end. */
function ordered(timesUs: readonly number[]): { out: [timeUs: number, number: number][]; held: number } {
  const out: [number, number][] = [];
  const order = new TimeOrder(({ timeUs, id }) => out.push([timeUs, id]));
  timesUs.forEach((timeUs, number) => order.add(message(timeUs, number)));
  const before = out.length;
  order.flush();
  return { out, held: out.length - before };
}

Deno.test("times out of order by less than the window come out in order, equal ones as they came", () => {
  for (let seed = 0; seed < 20; seed++) {
    const random = new Random(seed);
    const timesUs = Array.from({ length: 2000 }, (_, i) => i * 1000 + random.int(ORDER_WINDOW_US / 1000 - 2000) * 1000);
    const { out } = ordered(timesUs);
    const expected = timesUs.map((timeUs, number): [number, number] => [timeUs, number])
      .sort(([a, i], [b, j]) => a - b || i - j);
    assert.deepEqual(out, expected);
  }
});

Deno.test("a time before the window begins anew, and nothing is lost or doubled", () => {
  for (let seed = 0; seed < 20; seed++) {
    const random = new Random(seed);
    const timesUs = Array.from({ length: 500 }, () => random.int(100) * (ORDER_WINDOW_US / 10));
    const { out } = ordered(timesUs);
    assert.deepEqual(out.map(([, number]) => number).sort((a, b) => a - b), timesUs.map((_, number) => number));
    assert.deepEqual(out.map(([timeUs]) => timeUs).sort((a, b) => a - b), timesUs.toSorted((a, b) => a - b));
  }
  assert.deepEqual(ordered([9e6, 5e6, 5.5e6, 5.2e6]).out.map(([timeUs]) => timeUs), [9e6, 5e6, 5.2e6, 5.5e6]);
});

Deno.test("however many messages come within the window, no more than 8192 are held", () => {
  const timesUs = Array.from({ length: 20_000 }, () => 5);
  const { out, held } = ordered(timesUs);
  assert.equal(held, 8192);
  assert.deepEqual(out.map(([, number]) => number), timesUs.map((_, number) => number));
});
