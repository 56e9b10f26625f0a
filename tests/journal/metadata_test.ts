import assert from "node:assert/strict";
import {
  BlockBuilder,
  type BlockDevice,
  type BlockMetadata,
  type BusCounts,
  crc32c,
  DIGEST_WINDOW,
  type DigestNote,
  INCOMPLETE_REASONS,
  readBlock,
  type WindowDigest,
} from "../../src/journal/mod.ts";
import { newFrameDrops } from "../../src/can/assembly/drops.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const BLOCK_BYTES = 8192;

function randomText(random: Random): string {
  return Array.from({ length: random.int(20) }, () => random.pick(["a", "Z", "9", " ", "ü", "€", "😀", "\ufeff"])).join(
    "",
  );
}

function randomDevice(random: Random, { buses }: { buses: number }): BlockDevice {
  const name = random.bits64() | 1n;
  const numbers = { bus: random.int(buses), src: random.int(254), activeFrom: 0, productCode: random.int(65536) };
  const [modelId, softwareVersion] = [randomText(random), randomText(random)];
  return {
    ...numbers,
    name,
    modelId,
    softwareVersion,
    modelVersion: randomText(random),
    modelSerial: randomText(random),
  };
}

/** Digests, each within its window, with gaps between some of them. */
function randomDigests(random: Random): DigestNote {
  const all: WindowDigest[] = [];
  let window = random.int(2 ** 20);
  for (let count = random.between(1, 20); count > 0; count--, window += random.pick([1, 1, 1, 5])) {
    const first = random.chance(0.5) ? 0 : random.int(1000);
    const last = random.chance(0.5) ? DIGEST_WINDOW - 1 : random.between(1000, 60_000);
    const firstSeq = Math.max(1, window * DIGEST_WINDOW + first);
    all.push({ firstSeq, lastSeq: window * DIGEST_WINDOW + last, hash: random.bytes(8) });
  }
  const open = random.chance(0.5) ? all.pop() : undefined;
  return { finished: all, ...(open && { open }) };
}

function randomCounts(random: Random): BusCounts {
  const reasons = INCOMPLETE_REASONS.filter(() => random.chance(0.3));
  return {
    received: random.int(2 ** 31) * 1000,
    dropped: random.pick([0, random.int(2 ** 20)]),
    incomplete: Object.fromEntries(reasons.map((reason) => [reason, random.between(1, 2 ** 30)])),
  };
}

function randomNotes(random: Random): BlockMetadata {
  const metadata: BlockMetadata = {};
  if (random.chance(0.5)) metadata.buses = Array.from({ length: random.between(1, 4) }, () => randomText(random));
  if (random.chance(0.5)) metadata.epoch = random.bytes(16);
  if (random.chance(0.5)) {
    const clock = random.pick(["synchronized", "unsynchronized", "unknown"] as const);
    metadata.boot = { bootId: random.bytes(16), monoMs: random.next() * 1e9, timeUs: random.int(2 ** 31) * 1e6, clock };
  }
  if (random.chance(0.5)) {
    const reason = random.pick(["restart", "disk", "source"] as const);
    metadata.gap = { firstMissing: random.int(2 ** 32) * 1000, reason };
  }
  if (random.chance(0.5)) metadata.digests = randomDigests(random);
  if (random.chance(0.5)) metadata.counts = Array.from({ length: random.between(1, 4) }, () => randomCounts(random));
  return metadata;
}

function build(devices: BlockDevice[], metadata: BlockMetadata): Uint8Array<ArrayBuffer> {
  const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  builder.begin({ devices, metadata });
  builder.append(1, message());
  return builder.finish();
}

/** Puts `extra` behind all that the table holds. */
function withExtra(block: Uint8Array<ArrayBuffer>, extra: ArrayLike<number>): Uint8Array<ArrayBuffer> {
  const result = block.slice();
  const view = new DataView(result.buffer);
  const size = view.getUint16(BLOCK_BYTES - 10, true);
  const end = BLOCK_BYTES - 10;
  result.copyWithin(end - size - extra.length, end - size, end);
  result.set(Array.from(extra), end - extra.length);
  view.setUint16(end, size + extra.length, true);
  view.setUint32(BLOCK_BYTES - 4, crc32c(result.subarray(0, -4)), true);
  return result;
}

Deno.test("journal: devices and metadata come back as they were written", () => {
  const random = new Random(2);
  for (let round = 0; round < 300; round++) {
    const buses = random.pick([1, 4]);
    const devices = Array.from({ length: random.int(15) }, () => randomDevice(random, { buses }));
    const metadata = randomNotes(random);
    const block = readBlock(build(devices, metadata), { version: 2, blockBytes: BLOCK_BYTES });
    assert.deepEqual(block.devices, devices);
    assert.deepEqual(block.metadata, metadata);
  }
});

Deno.test("journal: a block of one bus without metadata has nothing that older software does not know", () => {
  const random = new Random(3);
  const devices = Array.from({ length: 3 }, () => randomDevice(random, { buses: 1 }));
  const text = (t: string) => 1 + new TextEncoder().encode(t).length;
  const size = devices.reduce(
    (sum, d) => sum + 15 + text(d.modelId) + text(d.softwareVersion) + text(d.modelVersion) + text(d.modelSerial),
    2,
  );
  const block = build(devices, {});
  assert.equal(new DataView(block.buffer).getUint16(BLOCK_BYTES - 10, true), size);
});

Deno.test("journal: metadata that are not known, longer than known or no metadata at all cost nothing", () => {
  const random = new Random(4);
  const devices = [randomDevice(random, { buses: 4 })];
  const metadata: BlockMetadata = { epoch: random.bytes(16) };
  const gap = [9, 0, 0, 0, 0, 0, 0, 0, 1];
  const extras: [extra: number[], metadata: BlockMetadata][] = [
    [[77, 2, 0, 1, 2], metadata],
    [[77, 2, 0, 1, 2, 5, 9, 0, ...gap], { ...metadata, gap: { firstMissing: 9, reason: "restart" } }],
    [[5, 11, 0, ...gap, 1, 2], { ...metadata, gap: { firstMissing: 9, reason: "restart" } }],
    [[5, 8, 0, ...gap.slice(1)], metadata],
    [[5, 9, 0, ...gap.with(8, 99)], metadata],
    [[5, 9, 0, ...gap.with(7, 99)], metadata],
    [[1, 4, 0, 200, 1, 2, 3], metadata],
    [[77, 255, 255, 1, 2], metadata],
    [[77], metadata],
  ];
  for (const [extra, wanted] of extras) {
    const block = readBlock(withExtra(build(devices, metadata), extra), { version: 2, blockBytes: BLOCK_BYTES });
    assert.deepEqual(block.metadata, wanted, String(extra));
    assert.deepEqual(block.devices, devices);
    assert.equal(block.frameCount, 1);
  }
});

Deno.test("journal: a block says why frames never became a message by every reason that an assembler has", () => {
  assert.deepEqual([...INCOMPLETE_REASONS], Object.keys(newFrameDrops()));
});

Deno.test("journal: what is told with tag 8, a chain of hashes, and with later tags costs a reader nothing", () => {
  const metadata: BlockMetadata = {
    buses: ["can0"],
    counts: [{ received: 3, dropped: 1, incomplete: { timeout: 2 } }],
  };
  const plain = build([], metadata);
  const chained = withExtra(plain, [8, 3, 0, 1, 2, 3, 9, 0, 0, 200, 1, 0, 7]);
  const block = readBlock(chained, { version: 2, blockBytes: BLOCK_BYTES });
  assert.deepEqual(block.metadata, metadata);
  assert.equal(block.frameCount, 1);
});

Deno.test("journal: bytes of digests and counters that make no sense are left out, and nothing else with them", () => {
  const random = new Random(4);
  for (let round = 0; round < 2000; round++) {
    const tag = random.pick([6, 7]);
    const body = random.bytes(random.int(60));
    const block = readBlock(withExtra(build([], { buses: ["a"] }), [tag, body.length, 0, ...body]), {
      version: 2,
      blockBytes: BLOCK_BYTES,
    });
    const { buses, digests, counts = [] } = block.metadata;
    assert.deepEqual(buses, ["a"]);
    for (const { firstSeq, lastSeq } of [...digests?.finished ?? [], ...digests?.open ? [digests.open] : []]) {
      assert.ok(firstSeq >= 1 && lastSeq >= firstSeq && lastSeq - firstSeq < DIGEST_WINDOW, `${firstSeq} ${lastSeq}`);
    }
    assert.ok(counts.length <= 4);
  }
});

Deno.test("journal: the smallest block has room for the longest message beside all metadata of four buses", () => {
  const random = new Random(5);
  const most = Number.MAX_SAFE_INTEGER;
  const incomplete = Object.fromEntries(INCOMPLETE_REASONS.map((reason) => [reason, most]));
  const digest = (firstSeq: number) => ({ firstSeq, lastSeq: firstSeq + 9, hash: random.bytes(8) });
  const metadata: BlockMetadata = {
    buses: Array.from({ length: 4 }, () => "x".repeat(255)),
    epoch: random.bytes(16),
    boot: { bootId: random.bytes(16), monoMs: 1, timeUs: 1, clock: "unknown" },
    gap: { firstMissing: most, reason: "disk" },
    digests: { finished: [digest(2 ** 52)], open: digest(2 ** 52 + DIGEST_WINDOW) },
    counts: Array.from({ length: 4 }, () => ({ received: most, dropped: most, incomplete })),
  };
  const devices = Array.from({ length: 200 }, () => randomDevice(random, { buses: 4 }));
  const builder = new BlockBuilder({ blockBytes: 4096 });
  builder.begin({ devices, metadata });
  const data = random.bytes(1785);
  assert.equal(builder.append(1, message({ data })), "added");
  const block = readBlock(builder.finish(), { version: 2, blockBytes: 4096 });
  assert.deepEqual(block.metadata, metadata);
  assert.equal(block.frameCount, 1);
});
