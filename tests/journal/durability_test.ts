import assert from "node:assert/strict";
import { Durability } from "../../src/journal/writer/durability.ts";
import { FakeClock } from "../support/fake_clock.ts";

function setup(): {
  clock: FakeClock;
  durable: Durability;
  take: (from: number, to: number, epochWord?: number) => void;
} {
  const clock = new FakeClock();
  const durable = new Durability(() => clock.monoMs());
  const take = (from: number, to: number, epochWord = 1) => {
    for (let seq = from; seq <= to; seq++) durable.noteAppended(epochWord, seq);
  };
  return { clock, durable, take };
}

Deno.test("the oldest frame that no sync covers counts, whatever comes after it", () => {
  const { clock, durable, take } = setup();
  assert.equal(durable.unsyncedSinceMs, undefined);
  take(1, 10);
  clock.advance(100);
  take(11, 20);
  assert.equal(durable.unsyncedSinceMs, 0);
  durable.startSpan();
  clock.advance(100);
  take(21, 30);
  durable.noteDurable({ epochWord: 1, seq: 20 });
  assert.equal(durable.unsyncedSinceMs, 200);
  durable.noteDurable({ epochWord: 1, seq: 30 });
  assert.equal(durable.unsyncedSinceMs, undefined);
});

Deno.test("a sync of a part leaves the rest as old as it was, and a sync without frames changes nothing", () => {
  const { clock, durable, take } = setup();
  take(1, 10);
  for (let sync = 0; sync < 3; sync++) durable.startSpan();
  clock.advance(50);
  take(11, 12);
  durable.noteDurable({ epochWord: 1, seq: 5 });
  assert.equal(durable.unsyncedSinceMs, 0);
  durable.noteDurable({ epochWord: 1, seq: 12 });
  assert.equal(durable.unsyncedSinceMs, undefined);
});

Deno.test("numbers that begin again are frames of their own", () => {
  const { clock, durable, take } = setup();
  take(500, 600);
  clock.advance(10);
  take(1, 5, 2);
  durable.noteDurable({ epochWord: 1, seq: 600 });
  assert.equal(durable.unsyncedSinceMs, 10);
  durable.noteDurable({ epochWord: 2, seq: 5 });
  assert.equal(durable.unsyncedSinceMs, undefined);
});

Deno.test("a disk that hangs for days costs no memory, and the age stays that of the oldest frame", () => {
  const { clock, durable, take } = setup();
  for (let seq = 1; seq <= 100_000; seq++) {
    take(seq, seq);
    durable.startSpan();
    clock.advance(1000);
  }
  assert.equal(durable.unsyncedSinceMs, 0);
  durable.noteDurable({ epochWord: 1, seq: 99_999 });
  assert.notEqual(durable.unsyncedSinceMs, undefined, "one is left");
  durable.noteDurable({ epochWord: 1, seq: 100_000 });
  assert.equal(durable.unsyncedSinceMs, undefined);
});
