import assert from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
import { type BlockCheckOptions, checkBlock, type CheckedBlock, Received, storedForm } from "../../src/cloud/mod.ts";
import { compress, crc32c, epochWordOf, JournalFile, JournalIndex, MAX_BLOCK_BYTES } from "../../src/journal/mod.ts";
import { type BackfillBlock, backfillUpstreamCodec } from "../../src/replication/mod.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { inFolder } from "../support/folder.ts";
import { type FrameSeen, framesOf } from "../support/journal_files.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { blockBytes, EPOCH, wireBlock } from "./block_check_fixture.ts";

function taken(message: BackfillBlock, options: BlockCheckOptions = { epoch: EPOCH }): CheckedBlock {
  const verdict = checkBlock(message, options);
  assert.ok(verdict.ok, verdict.ok ? "" : verdict.reason);
  return verdict;
}

function refused(message: BackfillBlock, reason: RegExp): void {
  const verdict = checkBlock(message, { epoch: EPOCH });
  assert.equal(verdict.ok, false);
  if (!verdict.ok) assert.match(verdict.reason, reason);
}

/** The block after its bytes were changed by who knows how checksums are made. */
function forged(change: (bytes: Uint8Array, view: DataView) => void, compressed = true): BackfillBlock {
  const bytes = blockBytes();
  const view = new DataView(bytes.buffer);
  change(bytes, view);
  view.setUint32(bytes.length - 4, crc32c(bytes.subarray(0, -4)), true);
  return { ...wireBlock(), compressed, data: compressed ? compress(bytes, "zstd") : bytes };
}

Deno.test("a block is taken as it lay in the journal, packed or not", () => {
  for (const compressed of [true, false]) {
    const checked = taken(wireBlock({ firstSeq: 701, frames: 250, compressed }));
    assert.deepEqual(checked.seqs, { start: 701, end: 951 });
    assert.equal(checked.firstTimeUs, START_US + 701_000);
    assert.equal(checked.latestTimeUs, START_US + 950_000);
    assert.deepEqual(checked.bytes, blockBytes({ firstSeq: 701, frames: 250 }));
    assert.equal(framesOf(checked.block).length, 250);
    assert.equal(checked.packed !== undefined, compressed);
  }
});

Deno.test("what is kept of a block does not change with the message that it came in", () => {
  for (const compressed of [true, false]) {
    const wire = backfillUpstreamCodec.encode({ block: wireBlock({ compressed }) });
    const { block } = backfillUpstreamCodec.decode(wire);
    const checked = taken(block!);
    wire.fill(0);
    assert.deepEqual(checked.bytes, blockBytes());
    if (compressed) assert.deepEqual(checked.packed, compress(blockBytes(), "zstd"));
  }
});

Deno.test("a block that is not what its message says is refused", () => {
  const honest = wireBlock();
  refused({ ...honest, baseSeq: 2 }, /first number of the block is 1, but its message says 2$/);
  refused(
    { ...honest, baseTimeUs: honest.baseTimeUs + 1 },
    /first time of the block is \d+, but its message says \d+$/,
  );
  refused({ ...honest, frameCount: 1_000_000 }, /frame count of the block is 100, but its message says 1000000$/);
  refused({ ...honest, frameCount: 99 }, /frame count of the block is 100, but its message says 99$/);
  refused({ ...honest, blockSize: 32_768 }, /16384 bytes instead of 32768/);
  refused({ ...honest, blockSize: 8192 }, /instead of 8192/);
  refused({ ...honest, compressed: false }, /bytes instead of 16384/);
  refused({ ...wireBlock({ compressed: false }), compressed: true }, /is no zstd/);
});

Deno.test("a block of another run of numbers, or of none, is refused", () => {
  refused(wireBlock({ epoch: new Uint8Array(16).fill(7) }), /has epoch 0707\w+, expected a1a1/);
  refused(wireBlock({ epoch: undefined }), /has epoch unknown, expected a1a1/);
  assert.equal(checkBlock(wireBlock(), { epoch: undefined }).ok, false);
  taken(wireBlock({ epoch: undefined }), { epoch: undefined });
});

Deno.test("blocks of sizes that nobody makes are refused before anything is unpacked", () => {
  for (const blockSize of [0, 1, 2048, 10_000, 2 * MAX_BLOCK_BYTES, 2 ** 32 - 1]) {
    refused({ ...wireBlock(), blockSize }, /^A block of \d+ bytes is refused/);
  }
  const verdict = checkBlock(wireBlock(), { epoch: EPOCH, maxBlockBytes: 8192 });
  assert.deepEqual(verdict, {
    ok: false,
    reason: "A block of 16384 bytes is refused: expected a power of two from 4096 to 8192",
  });
});

Deno.test("what would unpack to more than the block is refused, whatever it says of its size", () => {
  const honest = wireBlock();
  const zeros = new Uint8Array(64 * 1024 * 1024);
  refused({ ...honest, data: new Uint8Array(zstdCompressSync(zeros)) }, /The block has|cannot be unpacked/);
  const twice = new Uint8Array([...honest.data, ...honest.data]);
  refused({ ...honest, data: twice }, /bytes instead of 16384/);
  refused({ ...honest, data: new Uint8Array(2 * honest.blockSize + 1) }, /^The block is compressed to 32769 bytes/);
});

Deno.test("blocks whose checksum fits bytes that make no sense are refused", () => {
  refused(forged((_, view) => view.setBigUint64(8, 0n, true)), /begins with number 0/);
  refused(forged((bytes, view) => view.setUint32(bytes.length - 8, 0, true)), /has no frames/);
  refused(forged((bytes, view) => view.setUint32(bytes.length - 8, 2 ** 31, true)), /no room for/);
  refused(forged((bytes, view) => view.setUint16(bytes.length - 10, 0xffff, true)), /device table/);
  refused(forged((_, view) => view.setBigUint64(8, 2n ** 60n, true)), /sequence numbers are too large/);
  // The first frame's length: 1786 bytes, and then one that never ends.
  refused(forged((bytes) => bytes.set([0xfa, 0x0d], 21)), /Frame 1 has 1786 bytes/);
  refused(forged((bytes) => bytes.fill(0xff, 21, 40)), /number that does not end/);
});

Deno.test("a block in which any byte was changed is refused or holds the same frames", () => {
  const random = new Random(20);
  const wanted = framesOf(taken(wireBlock()).block);
  let refusals = 0;
  for (let run = 0; run < 1500; run++) {
    const honest = wireBlock({ compressed: run % 2 === 0 });
    const data = honest.data.slice();
    const changes = random.between(1, 3);
    for (let i = 0; i < changes; i++) data[random.int(data.length)]! ^= random.between(1, 255);
    const verdict = checkBlock({ ...honest, data }, { epoch: EPOCH });
    if (verdict.ok) assert.deepEqual(framesOf(verdict.block), wanted, `run ${run}`);
    else refusals++;
  }
  assert.ok(refusals > 1300, `${refusals}`);
});

Deno.test("a block that is cut anywhere is refused", () => {
  const honest = wireBlock();
  for (let length = 0; length < honest.data.length; length += 7) {
    refused({ ...honest, data: honest.data.slice(0, length) }, /./);
  }
});

Deno.test("bytes of which nobody knows where they are from are refused, never thrown about", () => {
  const random = new Random(21);
  for (let run = 0; run < 3000; run++) {
    const data = random.bytes(random.int(300));
    if (random.chance(0.7)) data.set([0x28, 0xb5, 0x2f, 0xfd].slice(0, data.length));
    refused({ ...wireBlock(), data, compressed: random.chance(0.8) }, /./);
  }
});

Deno.test(
  "checked blocks lie in a journal file as on the boat, and are read back from there",
  needs({ permissions: ["read", "write"] }),
  () =>
    inFolder(async (directory) => {
      const epochWord = 0xa1a1a1a1;
      const path = `${directory}/backfill-20260102T030405.000Z.lpj`;
      const options = { path, directory, blockBytes: 16_384, compression: "zstd", epochWord } as const;
      const file = await JournalFile.create(options);
      const wire = [wireBlock({ firstSeq: 1 }), wireBlock({ firstSeq: 101, compressed: false })];
      const offsets: number[] = [];
      for (const message of wire) {
        const { sealed, packed } = storedForm(taken(message), { epoch: EPOCH, compression: "zstd" });
        assert.equal(sealed.epochWord, epochWord);
        offsets.push(await file.append(sealed, packed));
      }
      await file.end();
      const stored = await Deno.readFile(path);
      assert.deepEqual(stored.slice(offsets[0]! + 20, offsets[1]), wire[0]!.data);
      const index = await JournalIndex.open(directory, { log: silentLogger });
      const seqs: number[] = [];
      for await (const block of index.blocks({ epochWord })) seqs.push(...framesOf(block).map(({ seq }) => seq));
      assert.deepEqual(seqs, Array.from({ length: 200 }, (_, i) => i + 1));
    }),
);

Deno.test(
  "of blocks that come twice, overlap or lie, every frame is stored and read once",
  needs({ permissions: ["read", "write"] }),
  () =>
    inFolder(async (directory) => {
      const path = `${directory}/backfill-20260102T030405.000Z.lpj`;
      const options = { blockBytes: 16_384, compression: "zstd", epochWord: epochWordOf(EPOCH) } as const;
      const file = await JournalFile.create({ path, directory, ...options });
      const received = new Received();
      const honest: [number, number][] = [[101, 100], [1, 100], [101, 100], [51, 200], [1, 250], [120, 30], [251, 50]];
      const kinds: string[] = [];
      for (const [firstSeq, frames] of honest) {
        const message = wireBlock({ firstSeq, frames });
        refused({ ...message, frameCount: 5000 }, /frame count of the block/);
        const checked = taken(message);
        kinds.push(received.evaluate(checked.seqs).kind);
        if (kinds.at(-1) === "duplicate") continue;
        const { sealed, packed } = storedForm(checked, { epoch: EPOCH, compression: "zstd" });
        await file.append(sealed, packed);
        received.addBlock(checked.seqs);
        received.markDurable(checked.seqs);
      }
      await file.end();
      assert.deepEqual(kinds, ["new", "new", "duplicate", "overlapping", "duplicate", "duplicate", "new"]);
      assert.equal(received.ack, 300);
      const index = await JournalIndex.open(directory, { log: silentLogger });
      const stored: FrameSeen[] = [];
      for await (const block of index.blocks({ fromSeq: 1 })) stored.push(...framesOf(block));
      const wanted = [[1, 200], [201, 100]] as const;
      assert.deepEqual(
        stored,
        wanted.flatMap(([firstSeq, frames]) => framesOf(taken(wireBlock({ firstSeq, frames })).block)),
      );
    }),
);

Deno.test("a checked block goes into a file without compression, too", () => {
  const { packed } = storedForm(taken(wireBlock()), { epoch: EPOCH, compression: "none" });
  assert.deepEqual(packed, blockBytes());
});
