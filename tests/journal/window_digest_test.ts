import assert from "node:assert/strict";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import {
  DIGEST_WINDOW,
  FrameSum,
  Journal,
  JournalIndex,
  MAX_WINDOW_DIGESTS,
  readDigest,
  readNewestDigest,
  type WindowDigest,
  WindowDigests,
} from "../../src/journal/mod.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const FILES = needs({ permissions: ["read", "write"] });
const WORD = 2n ** 32n;

/** The hash of a frame as the documentation of the format has it, in numbers of any size. */
function documented(seq: number, { id, bus, timeUs, data, offset, length }: Message): [a: bigint, b: bigint] {
  const times = (x: bigint, y: bigint) => (x * y) % WORD;
  const rot = (x: bigint, by: bigint) => ((x << by) | (x >> (32n - by))) % WORD;
  const bytes = [...data.subarray(offset, offset + length)].map(BigInt);
  const word = (at: number) => bytes.slice(at, at + 4).reduce((sum, byte, i) => sum + (byte << BigInt(8 * i)), 0n);
  let a = times((BigInt(seq) % WORD) ^ (BigInt(bus) << 16n) ^ 0x9e3779b9n, 0x85ebca6bn);
  let b = times((BigInt(timeUs) % WORD) ^ 0x7f4a7c15n, 0xc2b2ae35n);
  a ^= a >> 15n;
  b ^= b >> 13n;
  a = times(a ^ BigInt(id), 0x27d4eb2fn);
  b = times(b ^ (BigInt(timeUs) / WORD) ^ (BigInt(length) << 21n) % WORD, 0x165667b1n);
  a ^= a >> 15n;
  b ^= b >> 13n;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const [u, v] = [times(word(at), 0xcc9e2d51n), times(word(at + 4), 0x1b873593n)];
    a = rot(times(a ^ u ^ (u >> 11n), 0x9e3779b1n), 13n);
    b = rot(times(b ^ v ^ (v >> 11n), 0x85ebca77n), 17n);
  }
  for (; at < bytes.length; at++) a = rot(times(a ^ bytes[at]!, 0x9e3779b1n), 13n);
  a = times(a ^ (b >> 15n), 0x2c1b3c6dn);
  b = times(b ^ (a >> 13n), 0x297a2d39n);
  return [a ^ (b >> 16n), b];
}

function frameOf(seq: number, random = new Random(seq)): Message {
  const long = random.chance(0.1);
  return message({
    bus: random.int(4),
    src: random.int(250),
    data: random.bytes(long ? random.int(1785) : 8),
    timeUs: START_US + seq * 500,
  });
}

function hexOf({ firstSeq, lastSeq, hash }: WindowDigest): string {
  return `${firstSeq}-${lastSeq} ${hash.toHex()}`;
}

Deno.test("a digest is what its documentation says, and the same in whatever order frames are added", () => {
  const random = new Random(1);
  for (let round = 0; round < 50; round++) {
    const seqs = Array.from({ length: 20 }, () => random.pick([1, 2 ** 31, 2 ** 45]) + random.int(1000));
    const sum = new FrameSum();
    for (const seq of seqs) sum.add(seq, frameOf(seq));
    const backwards = new FrameSum();
    for (const seq of seqs.toReversed()) backwards.add(seq, frameOf(seq));
    const hashes = seqs.map((seq) => documented(seq, frameOf(seq)));
    const view = new DataView(new ArrayBuffer(8));
    view.setUint32(0, Number(hashes.reduce((total, [a]) => total + a, 0n) % WORD), true);
    view.setUint32(4, Number(hashes.reduce((total, [, b]) => total + b, 0n) % WORD), true);
    assert.equal(sum.hash.toHex(), new Uint8Array(view.buffer).toHex());
    assert.equal(backwards.hash.toHex(), sum.hash.toHex());
  }
});

Deno.test("a digest tells frames apart that differ in number, time, identifier, bus, length or one bit of payload", () => {
  const base = message({ data: [1, 2, 3, 4, 5, 6, 7, 8] });
  const digest = (seq: number, frame: Message) => {
    const sum = new FrameSum();
    sum.add(seq, frame);
    return sum.hash.toHex();
  };
  const found = [digest(1, base), digest(2, base)];
  for (let bit = 0; bit < 51; bit++) found.push(digest(1, { ...base, timeUs: base.timeUs + 2 ** bit }));
  for (let bit = 0; bit < 29; bit++) found.push(digest(1, { ...base, id: base.id ^ (1 << bit) }));
  for (let bus = 1; bus < 4; bus++) found.push(digest(1, { ...base, bus }));
  for (let length = 0; length < 8; length++) found.push(digest(1, { ...base, length }));
  for (let bit = 0; bit < 64; bit++) {
    const data = base.data.slice();
    data[base.offset + (bit >> 3)]! ^= 1 << (bit & 7);
    found.push(digest(1, { ...base, data }));
  }
  assert.equal(new Set(found).size, found.length);
});

Deno.test("digests cover aligned windows, end early at a gap, and the oldest go", () => {
  const digests = new WindowDigests();
  const frame = message();
  for (let seq = 1; seq < 3 * DIGEST_WINDOW + 10; seq++) {
    if (seq < 70_000 || seq >= 70_010) digests.add(seq, frame);
  }
  digests.add(5, frame);
  assert.deepEqual(digests.list().map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]), [
    [1, 65_535],
    [65_536, 69_999],
    [70_010, 131_071],
    [131_072, 196_607],
    [196_608, 196_617],
  ]);
  for (let window = 10; window < 10 + MAX_WINDOW_DIGESTS; window++) digests.add(window * DIGEST_WINDOW, frame);
  const left = digests.list();
  assert.equal(left.length, MAX_WINDOW_DIGESTS + 1);
  assert.equal(left.at(-1)?.firstSeq, (9 + MAX_WINDOW_DIGESTS) * DIGEST_WINDOW);
});

/** Opens a journal, and what its digests have to be by the frames it was given. */
async function openJournal(folder: string): Promise<Journal> {
  return await Journal.open({
    directory: folder,
    stateDirectory: folder,
    buses: ["a", "b", "c", "d"],
    syncIntervalMs: 3_600_000,
    clock: systemClock,
    log: silentLogger,
  });
}

function feed(journal: Journal, expected: WindowDigests, count: number): void {
  for (; count > 0; count--) {
    const seq = journal.next();
    const frame = frameOf(seq);
    journal.append(seq, frame);
    expected.add(seq, frame);
  }
}

Deno.test({
  name: "a journal's digests are those of all its frames after each start, whatever ended the recording before",
  ...FILES,
  fn: () =>
    inFolder(async (base) => {
      const expected = new WindowDigests();
      const ends = { orderly: 0, cut: 0 };
      let folder = `${base}/0`;
      await Deno.mkdir(folder);
      const random = new Random(7);
      for (let round = 1; round <= 8; round++) {
        const journal = await openJournal(folder);
        assert.deepEqual(journal.digests.map(hexOf), expected.list().map(hexOf), `start ${round}`);
        feed(journal, expected, random.pick([10, 3000, 40_000]));
        if (random.chance(0.5)) {
          ends.orderly++;
          await journal.close();
          continue;
        }
        // What a power cut leaves: all that was synced, the open block in its tail alone.
        ends.cut++;
        await journal.sync();
        copyAsCrashed(folder, `${base}/${round}`);
        await journal.close();
        folder = `${base}/${round}`;
      }
      assert.ok(ends.orderly > 1 && ends.cut > 1 && expected.list().length > 3, JSON.stringify(ends));
      const journal = await openJournal(folder);
      const all = expected.list();
      for (const digest of all) {
        const read = await readDigest(digest, journal);
        assert.equal(read && hexOf(read), hexOf(digest));
      }
      const [{ lastSeq }] = all as [WindowDigest];
      assert.equal(await readDigest({ firstSeq: lastSeq + 1, lastSeq: lastSeq + 2 }, journal), undefined, "not there");
      feed(journal, expected, 20);
      assert.deepEqual(journal.digests.map(hexOf), expected.list().map(hexOf));
      const open = expected.list().at(-1)!;
      assert.equal(hexOf((await readDigest(open, journal))!), hexOf(open), "not on disk yet");
      // Before it is a gap, and behind it there is nothing.
      const around = { firstSeq: Math.max(1, open.firstSeq - 100), lastSeq: open.lastSeq + 100 };
      assert.equal(hexOf((await readNewestDigest(around, journal))!), hexOf(open));
      const none = { firstSeq: open.lastSeq + 1, lastSeq: open.lastSeq + 9 };
      assert.equal(await readNewestDigest(none, journal), undefined);
      journal.newEpoch("somebody says so");
      assert.deepEqual(journal.digests, []);
      feed(journal, new WindowDigests(), 3);
      assert.deepEqual(journal.digests.map(({ firstSeq, lastSeq }) => [firstSeq, lastSeq]), [[1, 3]]);
      await journal.close();
      const index = await JournalIndex.open(folder, { log: silentLogger });
      for await (const { metadata } of index.blocks({})) assert.ok(metadata.digests);
    }),
});
