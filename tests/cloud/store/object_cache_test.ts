import assert from "node:assert/strict";
import { ObjectCache } from "../../../src/cloud/mod.ts";
import { openStore } from "../../../src/object_store/mod.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";

const DISK = needs({ permissions: ["read", "write"] });
const MEGABYTE = 1024 * 1024;
const SIZE = 20 * MEGABYTE + 5;

interface Here {
  bytes: Uint8Array<ArrayBuffer>;
  store: WrappedStore;
  /** Requests for parts so far, and most of them at the same time. */
  requests: { count: number; most: number };
}

async function withObject(work: (here: Here) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    using disk = await openStore({ url: `file://${folder}/store` });
    const store = new WrappedStore(disk);
    const bytes = new Random(3).bytes(SIZE);
    await store.putIfAbsent("a", bytes);
    const requests = { count: 0, most: 0 };
    let open = 0;
    store.before = () => {
      requests.count++;
      requests.most = Math.max(requests.most, ++open);
    };
    store.after = () => void open--;
    await work({ bytes, store, requests });
  });
}

Deno.test(
  "who reads an object from beginning to end waits for several parts at once, and each is requested once",
  DISK,
  () =>
    withObject(async ({ bytes, store, requests }) => {
      const cache = new ObjectCache({ store });
      for (let offset = 0; offset < SIZE; offset += 300_000) {
        const found = await cache.read("a", { offset, length: 300_000, size: SIZE });
        assert.deepEqual(found, bytes.slice(offset, offset + 300_000));
      }
      assert.equal(requests.count, 21);
      assert.ok(requests.most > 4 && requests.most <= 8, `${requests.most} at once`);
    }),
);

Deno.test(
  "who reads here and there requests no more than that, and again only what did not fit into memory",
  DISK,
  () =>
    withObject(async ({ bytes, store, requests }) => {
      const cache = new ObjectCache({ store, maxBytes: 3 * MEGABYTE });
      const look = async (part: number) => {
        const offset = part * MEGABYTE + 7;
        assert.deepEqual(
          await cache.read("a", { offset, length: 100, size: SIZE }),
          bytes.slice(offset, offset + 100),
        );
      };
      for (const part of [9, 2, 15]) await look(part);
      assert.equal(requests.count, 3);
      for (const part of [9, 15, 2, 9]) await look(part);
      assert.equal(requests.count, 3);
      await look(5);
      assert.equal(requests.count, 4);
      await look(9);
      assert.equal(requests.count, 4, "the least recently used part was dropped");
      await look(15);
      assert.equal(requests.count, 5);
    }),
);
