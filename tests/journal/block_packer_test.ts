import assert from "node:assert/strict";
import { BlockPacker, type PackThread, PackWorker } from "../../src/journal/block/packer.ts";
import { compress, compressSmall, decompress } from "../../src/journal/mod.ts";
import { pause } from "../support/eventually.ts";
import { HeldThread } from "../support/held_thread.ts";
import { keptLog } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const FAST = { mayWait: false };
const SMALL = { mayWait: true };

/** Bytes that a better search packs better. */
function makeBlock(seed: number): Uint8Array<ArrayBuffer> {
  const random = new Random(seed);
  const records = Array.from({ length: 30 }, () => random.bytes(14));
  return Uint8Array.from(
    Array.from({ length: 1170 }, () => {
      const record = random.pick(records);
      record[1 + random.int(12)] = random.int(256);
      return [...record];
    }).flat(),
  );
}

function makePacker(thread: PackThread) {
  const { log, lines } = keptLog();
  let done = 0;
  const packer = new BlockPacker({ thread, log, onDone: () => done++ });
  return { packer, lines, done: () => done };
}

Deno.test("block packer: a block that may wait is packed by the thread, and asked for again", async () => {
  const thread = new HeldThread();
  const { packer, done, lines } = makePacker(thread);
  const block = makeBlock(1);
  assert.equal(packer.pack(block, SMALL), undefined);
  assert.equal(packer.pack(block, SMALL), undefined);
  assert.deepEqual([thread.waiting, done()], [1, 0]);
  await thread.release();
  assert.equal(done(), 1);
  assert.deepEqual(packer.pack(block, SMALL), compressSmall(block));
  assert.deepEqual(lines, []);
});

Deno.test("block packer: what may not wait is packed at once, also when the thread is at it", async () => {
  const thread = new HeldThread();
  const { packer } = makePacker(thread);
  const [block, next] = [makeBlock(1), makeBlock(2)];
  assert.deepEqual(packer.pack(block, FAST), compress(block, "zstd"));
  assert.equal(packer.pack(block, SMALL), undefined);
  assert.deepEqual(packer.pack(block, FAST), compress(block, "zstd"));
  assert.deepEqual(packer.pack(next, SMALL), compress(next, "zstd"), "the thread has another block");
  await thread.release();
  assert.equal(packer.pack(next, SMALL), undefined, "nobody asked for the other block");
  await thread.release();
  assert.deepEqual(packer.pack(next, SMALL), compressSmall(next));
});

Deno.test("block packer: a thread that fails costs size alone, and is told once", async () => {
  const thread = new HeldThread();
  const { packer, done, lines } = makePacker(thread);
  const block = makeBlock(1);
  assert.equal(packer.pack(block, SMALL), undefined);
  await thread.release(new Error("no memory"));
  assert.equal(done(), 1);
  for (let i = 0; i < 3; i++) assert.deepEqual(packer.pack(block, SMALL), compress(block, "zstd"));
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /no memory/);
});

Deno.test(
  "block packer: real workers, one after the other, pack smaller than the event loop",
  needs({ permissions: ["read"] }),
  async () => {
    const thread = new PackWorker();
    try {
      for (let seed = 1; seed <= 20; seed++) {
        const block = makeBlock(seed);
        const packed = await thread.pack(block);
        assert.ok(packed.length < compress(block, "zstd").length);
        assert.deepEqual(packed, compressSmall(block));
        assert.deepEqual(decompress(packed, { compression: "zstd", blockBytes: block.length }), block);
        assert.equal(block.length, 16_380, "the block is still the caller's");
      }
    } finally {
      thread.close();
    }
  },
);

Deno.test("block packer: closing ends a worker that is at it", needs({ permissions: ["read"] }), async () => {
  const thread = new PackWorker();
  void thread.pack(makeBlock(1));
  await pause();
  thread.close();
});
