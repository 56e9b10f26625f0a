import assert from "node:assert/strict";
import { isStoreError, openStore } from "../../src/object_store/mod.ts";
import { syncsAndRenames } from "../support/disk_order.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { keysOf, testContract, text } from "./contract.ts";

const FILES = needs({ permissions: ["read", "write"] });
const DAY_MS = 24 * 3600 * 1000;

const open = (folder: string) => openStore({ url: `file://${folder}/store` });

testContract({
  name: "directory store",
  options: FILES,
  withStore: (test) =>
    inFolder(async (folder) => {
      using store = await open(folder);
      await test(store);
    }),
});

Deno.test(
  "directory store: another process that opens the folder finds the same objects",
  FILES,
  () =>
    inFolder(async (folder) => {
      await (await open(folder)).putIfAbsent("a/1", text("x"));
      const other = await open(folder);
      assert.equal(await other.putIfAbsent("a/1", text("y")), "exists");
      assert.deepEqual(await keysOf(other), ["a/1"]);
    }),
);

Deno.test(
  "directory store: what a crash left is no object, and goes after a day",
  FILES,
  () =>
    inFolder(async (folder) => {
      await open(folder);
      const temporary = `${folder}/store/.tmp`;
      for (const [name, ageMs] of [["young", 0], ["old", DAY_MS + 60_000]] as const) {
        await Deno.writeTextFile(`${temporary}/${name}`, "half");
        const then = new Date(Date.now() - ageMs);
        await Deno.utime(`${temporary}/${name}`, then, then);
      }
      assert.deepEqual(await keysOf(await open(folder)), []);
      assert.deepEqual(Array.from(Deno.readDirSync(temporary), ({ name }) => name), ["young"]);
    }),
);

Deno.test(
  "directory store: a call that fails or is done leaves no temporary file",
  FILES,
  () =>
    inFolder(async (folder) => {
      const store = await open(folder);
      await store.putIfAbsent("a", text("x"));
      await store.putIfAbsent("a", text("y"));
      await store.put("a", text("z"));
      await assert.rejects(
        store.putIfAbsent("a/b", text("below an object")),
        (error) => isStoreError(error, "unsuitable"),
      );
      await store.putIfAbsent("c/d", text("x"));
      await assert.rejects(store.putIfAbsent("c", text("above")), (error) => isStoreError(error, "unsuitable"));
      assert.deepEqual([...Deno.readDirSync(`${folder}/store/.tmp`)], []);
      assert.deepEqual(await keysOf(store), ["a", "c/d"]);
    }),
);

Deno.test("directory store: a folder that is a file, or is gone, is told", FILES, () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await assert.rejects(
      openStore({ url: `file://${folder}/file/store` }),
      (error) =>
        isStoreError(error, "unsuitable") && error.message.startsWith(`Cannot open file://${folder}/file/store: `),
    );
    const store = await open(folder);
    await Deno.remove(`${folder}/store`, { recursive: true });
    await assert.rejects(keysOf(store), (error) => isStoreError(error, "missing"));
    await assert.rejects(store.putIfAbsent("a", text("x")), (error) => isStoreError(error, "missing"));
  }));

Deno.test(
  "directory store: what is answered is on the disk, the folders above it too",
  FILES,
  () =>
    inFolder(async (folder) => {
      const store = await open(folder);
      const root = `${folder}/store`;
      const order = async (work: () => Promise<unknown>) => {
        const done = await syncsAndRenames(async () => void await work());
        return done.map((step) => step.replace(/\.tmp\/.*/, "NEW").replace(root, "ROOT"));
      };
      const folders = ["sync ROOT/a/b", "sync ROOT/a", "sync ROOT"];
      const first = ["sync ROOT/NEW", "link ROOT/NEW", ...folders];
      assert.deepEqual(await order(() => store.putIfAbsent("a/b/1", text("x"))), first);
      // Another process may have stored it a moment ago.
      assert.deepEqual(await order(() => store.putIfAbsent("a/b/1", text("y"))), ["sync ROOT/NEW", ...folders]);
      assert.deepEqual(await order(() => store.put("a/b/1", text("z"))), [
        "sync ROOT/NEW",
        "rename ROOT/NEW",
        ...folders,
      ]);
      assert.deepEqual(await order(() => store.delete(["a/b/1"])), ["sync ROOT/a/b"]);
    }),
);
