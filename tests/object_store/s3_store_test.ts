import assert from "node:assert/strict";
import { checkStore, isStoreError, openStore, parseStoreUrl } from "../../src/object_store/mod.ts";
import { type Lacks, MemoryS3 } from "../support/memory_s3.ts";
import { needs } from "../support/needs.ts";
import { keysOf, testContract, text } from "./contract.ts";
import { testFaults } from "./store_faults.ts";

/** The package reads the files and variables of the AWS tools. */
const S3 = needs({ permissions: ["env", "net", "read", "sys"] });
const CREDENTIALS = { accessKeyId: "TESTACCESSKEY", secretAccessKey: "TESTSECRETKEY" };

const openMemory = ({ endpoint }: MemoryS3, bucket = "boats") =>
  openStore({ url: `s3://${bucket}/test`, endpoint, credentials: CREDENTIALS });

testContract({
  name: "S3 in memory",
  options: S3,
  withStore: async (test) => {
    await using s3 = new MemoryS3();
    using store = await openMemory(s3);
    await test(store);
  },
});

testFaults({
  name: "S3 in memory",
  options: S3,
  withS3: async (test) => {
    await using s3 = new MemoryS3();
    await test({ url: "s3://boats/test", endpoint: s3.endpoint, credentials: CREDENTIALS });
  },
});

Deno.test("S3 store: keys are below the prefix, and others are not seen", S3, async () => {
  await using s3 = new MemoryS3();
  using store = await openMemory(s3);
  using all = await openStore({ url: "s3://boats", endpoint: s3.endpoint, credentials: CREDENTIALS });
  await all.putIfAbsent("test-2/a", text("other"));
  await all.putIfAbsent("tesu", text("other"));
  await store.putIfAbsent("a", text("x"));
  assert.deepEqual(Object.keys(s3.content).sort(), ["tesu", "test-2/a", "test/a"].sort());
  assert.deepEqual(await keysOf(store), ["a"]);
  assert.deepEqual(await keysOf(all), ["test-2/a", "test/a", "tesu"]);
});

Deno.test("S3 store: where the ETag is no MD5, one more request shows what is stored", S3, async () => {
  await using s3 = new MemoryS3({ tags: true });
  using store = await openMemory(s3);
  assert.equal(await store.putIfAbsent("a", text("x")), "stored");
  assert.equal(await store.putIfAbsent("a", text("x")), "exists");
  await store.put("b", text("y"));
  assert.deepEqual(s3.requests, ["PUT", "HEAD", "PUT", "HEAD", "PUT", "HEAD"]);
  assert.equal(new TextDecoder().decode(await store.get("a")), "x");
});

const LACKING: readonly [Lacks, RegExp][] = [
  [{ conditions: true }, /^Cannot use the object store s3:.*: 20 of 20 writers .* does not honour If-None-Match$/],
  [{ digests: true }, /^Cannot use the object store s3:.*: it accepts a body that does not match its checksum/],
  [{ lists: true }, /^Cannot use the object store s3:.*: a list does not show what was just stored/],
];

for (const [lacks, message] of LACKING) {
  Deno.test(`checkStore says what a store lacks, and leaves nothing: ${Object.keys(lacks)}`, S3, async () => {
    await using s3 = new MemoryS3(lacks);
    using store = await openMemory(s3);
    await assert.rejects(
      checkStore(store),
      (error) => isStoreError(error, "unsuitable") && message.test(error.message),
    );
    assert.deepEqual(s3.content, {});
  });
}

Deno.test("S3 store: a list in another order is refused", S3, async () => {
  await using s3 = new MemoryS3({ order: true });
  using store = await openMemory(s3);
  for (const key of ["～", "🛥"]) await store.putIfAbsent(key, text(key));
  await assert.rejects(keysOf(store), (error) => isStoreError(error, "unsuitable"));
});

Deno.test("S3 store: a bucket that does not exist is missing, whatever is asked for", S3, async () => {
  await using s3 = new MemoryS3();
  using store = await openMemory(s3, "elsewhere");
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

Deno.test("S3 store: a store that nobody listens for is away", S3, async () => {
  const { endpoint } = await (async () => {
    await using s3 = new MemoryS3();
    return { endpoint: s3.endpoint };
  })();
  using store = await openStore({ url: "s3://boats", endpoint, credentials: CREDENTIALS, attempts: 1 });
  await assert.rejects(store.get("a"), (error) => isStoreError(error, "away"));
});

Deno.test("addresses of stores are read, and others refused without quoting them", () => {
  assert.deepEqual(parseStoreUrl("s3://boats"), { kind: "s3", bucket: "boats", prefix: "" });
  assert.deepEqual(parseStoreUrl("s3://boats/"), { kind: "s3", bucket: "boats", prefix: "" });
  assert.deepEqual(parseStoreUrl("s3://my.boats/fleet/a b/"), { kind: "s3", bucket: "my.boats", prefix: "fleet/a b" });
  assert.deepEqual(parseStoreUrl("file:///var/lib/a%20b"), { kind: "directory", path: "/var/lib/a b" });
  const bad = ["", "boats", "s3:boats", "s3://", "s3://a", "s3://b//c", "s3://boats/../x", "file://host/a", "file:a"];
  for (const url of [...bad, "s3://key:secret@boats/x", "https://secret/boats", "file:///a?b", "s3://boats//"]) {
    assert.throws(
      () => parseStoreUrl(url),
      (error) => error instanceof TypeError && !/secret/.test(error.message),
      url,
    );
  }
});
