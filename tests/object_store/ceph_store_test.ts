import assert from "node:assert/strict";
import { checkStore, isStoreError, openStore, type OpenStoreOptions } from "../../src/object_store/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_READER, CEPH_WRITER } from "../support/ceph.ts";
import { needs, SLOW } from "../support/needs.ts";
import { keysOf, testContract, text } from "./contract.ts";
import { testFaults } from "./store_faults.ts";

const CEPH = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: CEPH_PROGRAMS,
  extras: SLOW,
});
const BUCKET = "boats";

let ceph: Ceph | undefined;
let prefixes = 0;

if (!CEPH.ignore) {
  Deno.test.beforeAll(async () => {
    ceph = await Ceph.start();
    await ceph.createBucket(BUCKET);
  });
  Deno.test.afterAll(async () => await ceph?.[Symbol.asyncDispose]());
}

/** Options of a store that no other test uses. */
function freshStore(): OpenStoreOptions & { endpoint: string } {
  return { url: `s3://${BUCKET}/test/${++prefixes}`, endpoint: ceph!.endpoint, credentials: CEPH_WRITER };
}

testContract({
  name: "Ceph",
  options: CEPH,
  withStore: async (test) => {
    using store = await openStore(freshStore());
    await test(store);
  },
});

testFaults({ name: "Ceph", options: CEPH, withS3: (test) => test(freshStore()) });

for (
  const [what, credentials] of [
    ["a wrong secret", { ...CEPH_WRITER, secretAccessKey: "WRONGSECRET" }],
    ["an unknown key", { ...CEPH_WRITER, accessKeyId: "UNKNOWNKEY" }],
  ] as const
) {
  Deno.test(
    `Ceph: with ${what} every call is denied, at the first attempt and without showing the secret`,
    CEPH,
    async () => {
      const options = freshStore();
      using writer = await openStore(options);
      await writer.putIfAbsent("a", text("x"));
      using store = await openStore({ ...options, credentials });
      const calls = [
        () => store.putIfAbsent("a", text("y")),
        () => store.put("a", text("y")),
        () => store.get("a"),
        () => store.head("a"),
        () => store.delete(["a"]),
        () => keysOf(store),
        () => checkStore(store),
      ];
      for (const call of calls) {
        await assert.rejects(
          call,
          (error) => isStoreError(error, "denied") && !error.message.includes(credentials.secretAccessKey),
          String(call),
        );
      }
      assert.equal(new TextDecoder().decode(await writer.get("a")), "x");
    },
  );
}

Deno.test("Ceph: who may only read reads, and is denied the rest", CEPH, async () => {
  const options = freshStore();
  using writer = await openStore(options);
  await writer.putIfAbsent("a", text("x"));
  using store = await openStore({ ...options, credentials: CEPH_READER });
  assert.equal(new TextDecoder().decode(await store.get("a")), "x");
  assert.equal((await store.head("a"))?.size, 1);
  assert.equal(await store.head("b"), undefined);
  assert.deepEqual(await keysOf(store), ["a"]);
  const calls = [
    () => store.putIfAbsent("b", text("y")),
    () => store.put("a", text("y")),
    () => store.delete(["a"]),
    () => checkStore(store),
  ];
  for (const call of calls) await assert.rejects(call, (error) => isStoreError(error, "denied"), String(call));
  assert.deepEqual(await keysOf(writer), ["a"]);
});

Deno.test("Ceph: a bucket that does not exist is missing, whatever is asked for", CEPH, async () => {
  using store = await openStore({ ...freshStore(), url: "s3://elsewhere" });
  const calls = [
    () => store.putIfAbsent("a", text("x")),
    () => store.get("a"),
    () => store.head("a"),
    () => store.delete(["a"]),
    () => keysOf(store),
    () => checkStore(store),
  ];
  for (const call of calls) await assert.rejects(call, (error) => isStoreError(error, "missing"), String(call));
});
