import assert from "node:assert/strict";
import { Assembler, newFrameDrops } from "../../src/can/mod.ts";
import { canFrame } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** Single, fast, either, ISO transport control and data. */
const PGNS = [127250, 129029, 127510, 60416, 60160];
/** First bytes of connection management: announcements, answers, abort, none. */
const CONTROLS = [32, 32, 16, 17, 19, 255, 77];

/** A frame of one of few sources, so that messages meet in every way. */
function randomFrame(random: Random, monoMs: number) {
  const pgn = random.pick(PGNS);
  const data = random.bytes(random.chance(0.03) ? random.int(3) : 8);
  if (pgn === 129029 || pgn === 127510) {
    data[0] = (random.int(2) << 5) | random.int(4);
    if ((data[0] & 0x1f) === 0) data[1] = random.pick([6, 13, 20, 27, 224]);
  }
  if (pgn === 60160) data[0] = 1 + random.int(4);
  if (pgn === 60416 && data.length === 8) {
    const packets = 2 + random.int(2);
    data.set([random.pick(CONTROLS), 7 * packets - random.int(7), 0, random.chance(0.9) ? packets : 9, 255, 0, 255, 1]);
  }
  const dst = random.pick([255, 3]);
  return canFrame({ pgn, src: 1 + random.int(4), dst, monoMs, data });
}

Deno.test("at every moment each frame is in a message, dropped for a reason, or waits: whatever comes in whatever order", () => {
  const kinds = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const frameDrops = newFrameDrops();
    let [pushed, emitted, monoMs] = [0, 0, 0];
    const check = (inHand: number) => {
      const dropped = Object.values(frameDrops).reduce((sum, count) => sum + count, 0);
      assert.equal(pushed, emitted + dropped + assembler.waitingFrames + inHand, `seed ${seed}, frame ${pushed}`);
    };
    const assembler = new Assembler(({ frames = 0 }) => {
      check(frames);
      emitted += frames;
    }, { frameDrops, maxAssemblies: 6 });
    for (let i = 0; i < 800; i++) {
      monoMs += random.pick([0, 1, 1, 5, 20, 200, 900]);
      pushed++;
      assembler.push(randomFrame(random, monoMs));
      check(0);
    }
    assembler.expire(monoMs + 10_000);
    check(0);
    assert.equal(assembler.waitingFrames, 0);
    for (const [reason, count] of Object.entries(frameDrops)) if (count > 0) kinds.add(reason);
  }
  assert.deepEqual([...kinds].sort(), Object.keys(newFrameDrops()).sort());
});
