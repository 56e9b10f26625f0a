import assert from "node:assert/strict";
import { buildCanId } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";
import { DeviceBench, nameBytes, OWN_NAME } from "./virtual_device_bench.ts";

const PGNS = [59392, 59904, 60160, 60416, 60928, 65240, 126208, 127250, 129029];
/** Frames that may be ours in a second: answers, claims in a fight, heartbeats, and control frames of 16 senders. */
const MAX_OWN_FRAMES_A_SECOND = 250;

/** Bytes that look like something meant for us. */
function payload(random: Random, pgn: number): Uint8Array<ArrayBuffer> {
  if (random.chance(0.1)) return random.bytes(random.int(9));
  if (pgn === 60928) return nameBytes(random.pick([1n, OWN_NAME, OWN_NAME - 1n, OWN_NAME + 1n, random.bits64()]));
  if (pgn === 59904) {
    const wanted = random.pick([60928, 126464, 126993, 126996, 126998, random.int(2 ** 18)]);
    return Uint8Array.of(wanted & 255, (wanted >> 8) & 255, wanted >> 16);
  }
  if (pgn === 60416) {
    const length = random.between(0, 40);
    return Uint8Array.of(random.pick([16, 17, 19, 32, 255]), length, 0, Math.ceil(length / 7), 255, 0xd8, 0xfe, 0);
  }
  return Uint8Array.of(random.int(6), ...random.bytes(7));
}

Deno.test("virtual device: whatever comes, it lives, says little, and never uses an address that it lost", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    using bench = await DeviceBench.start();
    let sent = 0;
    for (let second = 0; second < 20; second++) {
      const taken = bench.transmit.taken.length;
      for (let i = 0; i < 20; i++) {
        for (let frame = random.int(40); frame > 0; frame--) {
          const pgn = random.pick(PGNS);
          const header = { pgn, prio: 6, src: random.pick([10, 11, 251, 252, random.int(256)]) };
          const dst = random.pick([255, 252, 251, random.int(256)]);
          bench.buses[0]!.inject(buildCanId({ ...header, dst }), payload(random, pgn));
        }
        if (random.chance(0.02)) bench.device.up(0);
        await bench.pass(50);
      }
      const messages = bench.transmit.taken.slice(taken).map(({ message }) => message);
      sent += messages.length;
      const frames = messages.reduce((sum, { data }) => sum + Math.ceil(data.length / 7), 0);
      assert.ok(frames <= MAX_OWN_FRAMES_A_SECOND, `${frames} frames in second ${second} with seed ${seed}`);
    }
    assert.ok(sent > 0);
    await bench.pass(5000);
    const claims = bench.transmit.taken.map(({ message }) => message).filter(({ pgn }) => pgn === 60928);
    const own = bench.device.address(0);
    assert.ok(own.kind === "claimed", own.kind);
    assert.equal(claims.at(-1)!.src, own.src);
    assert.equal((await bench.ask(60928)).at(-1)!.src, own.src);
  }
});

Deno.test("virtual device: after each claim it is silent for 250 ms but for claims", async () => {
  const random = new Random(3);
  using bench = await DeviceBench.start({ ready: false });
  for (let i = 0; i < 3000; i++) {
    if (random.chance(0.05)) await bench.claim(random.pick([1n, OWN_NAME + 1n]), random.between(240, 252), { ms: 0 });
    await bench.ask(random.pick([126996, 127505]), { dst: random.between(240, 252) });
  }
  const own = bench.heard.filter(({ src, pgn }) => src >= 230 && src <= 252 && pgn !== 60928);
  assert.ok(own.length > 20, `${own.length} answers`);
  for (const { src, atMs } of own) {
    const claims = bench.heard.filter((each) => each.pgn === 60928 && each.src === src && each.atMs <= atMs);
    const first = claims.find(({ data }) => data === nameBytes(OWN_NAME).toHex());
    assert.ok(first && atMs - first.atMs >= 250, `from ${src} at ${atMs}`);
  }
});
