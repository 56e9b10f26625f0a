import assert from "node:assert/strict";
import {
  checkStore,
  compareKeys,
  digestBoth,
  isStoreError,
  type ListOptions,
  type ObjectInfo,
  type ObjectStore,
} from "../../src/object_store/mod.ts";
import { Random } from "../support/random.ts";
import { rounds } from "../support/needs.ts";

/** A kind of store to test. */
export interface StoreKind {
  name: string;
  options: { ignore: boolean };
  /** Runs a test with an empty store that no other test uses. */
  withStore: (test: (store: ObjectStore) => Promise<void>) => Promise<void>;
}

const WRITERS = 20;
/** More than fit into one page. */
const MANY = 1005;
/** In the order of their UTF-8 bytes, which is neither that of folders nor that of JavaScript's strings. */
const KEYS_IN_ORDER = [
  "a b+c'(é)!&<>%20.lpj",
  "a-b/1",
  "a/0",
  "a/b-c/1",
  "a/b/1",
  "a/b0",
  "a0",
  'b=~$;:@,*?#[]{}|^`"',
  "ä/1",
  "～",
  "🛥/1",
];

export const text = (words: string): Uint8Array => new TextEncoder().encode(words);
const words = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const zeroMd5 = new Uint8Array(16);

/** All objects of a list, whose pages are checked. */
export async function listAll(store: ObjectStore, options: ListOptions = {}): Promise<ObjectInfo[]> {
  const found: ObjectInfo[] = [];
  for await (const page of store.list(options)) {
    assert.ok(page.length > 0 && page.length <= 1000);
    found.push(...page);
  }
  return found;
}

export const keysOf = async (store: ObjectStore, options?: ListOptions): Promise<string[]> =>
  (await listAll(store, options)).map(({ key }) => key);

/** The promises of `ObjectStore`, as tests of one kind of store. */
export function testContract({ name, options, withStore }: StoreKind): void {
  const test = (claim: string, fn: (store: ObjectStore) => Promise<void>) =>
    Deno.test(`${name}: ${claim}`, options, () => withStore(fn));
  testWriting(test);
  testReading(test);
  testLists(test);
  testLimits(test);
}

type Test = (claim: string, fn: (store: ObjectStore) => Promise<void>) => void;

function testWriting(test: Test): void {
  test("a new object is stored, and never changed by the next writer", async (store) => {
    assert.equal(await store.putIfAbsent("a/1", text("first")), "stored");
    assert.equal(await store.putIfAbsent("a/1", text("second")), "exists");
    assert.equal(await store.putIfAbsent("a/1", text("first")), "exists");
    assert.equal(words(await store.get("a/1")), "first");
  });

  test(`of ${WRITERS} writers at once one wins, and the object is its own`, async (store) => {
    for (let round = 0; round < rounds(20, 3); round++) {
      const bodies = Array.from({ length: WRITERS }, (_, i) => text(`writer ${i}`.repeat(1 + i * 100)));
      const results = await Promise.all(bodies.map((body) => store.putIfAbsent(`race/${round}`, body)));
      const winners = bodies.filter((_, i) => results[i] === "stored");
      assert.equal(winners.length, 1);
      assert.deepEqual(await store.get(`race/${round}`), winners[0]);
    }
  });

  test(`of ${WRITERS} writers at once with one body one wins`, async (store) => {
    const results = await Promise.all(
      Array.from({ length: WRITERS }, () => store.putIfAbsent("epochs/1", text("the same"))),
    );
    assert.deepEqual(results.filter((result) => result === "stored"), ["stored"]);
  });

  test("put replaces an object", async (store) => {
    await store.put("live/a.json", text("old and longer"));
    await store.put("live/a.json", text("new"));
    assert.equal(words(await store.get("live/a.json")), "new");
  });

  test("a body that does not match its MD5 is refused and not kept", async (store) => {
    const isDamaged = (error: unknown) => isStoreError(error, "damaged");
    const digests = { ...await digestBoth(text("body")), md5: zeroMd5 };
    await assert.rejects(store.putIfAbsent("a", text("body"), { digests }), isDamaged);
    await assert.rejects(store.put("a", text("body"), { digests }), isDamaged);
    assert.equal(await store.head("a"), undefined);
    assert.deepEqual(await keysOf(store), []);
  });

  test("deleting removes objects, and those that do not exist are no error", async (store) => {
    for (const key of ["a/1", "a/2", "b"]) await store.putIfAbsent(key, text(key));
    await store.delete(["a/1", "b", "never/there", "a/2/x"]);
    await store.delete([]);
    assert.deepEqual(await keysOf(store), ["a/2"]);
    assert.equal(await store.putIfAbsent("a/1", text("again")), "stored");
  });

  test("checkStore finds that the store keeps its promises, and leaves nothing behind", async (store) => {
    await checkStore(store);
    assert.deepEqual(await keysOf(store), []);
  });
}

function testReading(test: Test): void {
  test("objects of any size are read as they were stored", async (store) => {
    const random = new Random(1);
    for (const size of [0, 1, 65_536, 1024 * 1024 + 1, 6_000_000]) {
      const body = random.bytes(size);
      assert.equal(await store.putIfAbsent(`size/${size}`, body), "stored");
      const found = await store.get(`size/${size}`);
      assert.ok(found.length === size && found.every((byte, at) => byte === body[at]));
      assert.equal((await store.head(`size/${size}`))?.size, size);
    }
  });

  test("a range ends with the object, and is empty after its end", async (store) => {
    await store.putIfAbsent("a", text("0123456789"));
    await store.putIfAbsent("empty", text(""));
    const range = async (offset: number, length: number) => words(await store.getRange("a", { offset, length }));
    assert.deepEqual([await range(0, 1), await range(3, 4), await range(0, 10)], ["0", "3456", "0123456789"]);
    assert.deepEqual([await range(8, 5), await range(10, 1), await range(99, 1)], ["89", "", ""]);
    assert.equal((await store.getRange("empty", { offset: 0, length: 5 })).length, 0);
  });

  test("what does not exist is missing", async (store) => {
    await store.putIfAbsent("a/b", text("x"));
    for (const key of ["c", "a", "a/b/c", "a/bb"]) {
      await assert.rejects(store.get(key), (error) => isStoreError(error, "missing"));
      await assert.rejects(
        store.getRange(key, { offset: 0, length: 1 }),
        (error) => isStoreError(error, "missing"),
      );
      assert.equal(await store.head(key), undefined);
    }
  });

  test("head tells what a list tells", async (store) => {
    await store.putIfAbsent("a/1", text("12345"));
    const [listed] = await listAll(store);
    const looked = await store.head("a/1");
    assert.ok(listed && looked && listed.lastModifiedMs > 0);
    const seconds = ({ lastModifiedMs, ...rest }: ObjectInfo) => ({ ...rest, s: Math.floor(lastModifiedMs / 1000) });
    assert.deepEqual(seconds(listed), { key: "a/1", size: 5, s: seconds(looked).s });
    assert.deepEqual(seconds(looked), seconds(listed));
  });
}

function testLists(test: Test): void {
  test("a list has the order of UTF-8, whatever a key is made of", async (store) => {
    for (const key of new Random(2).shuffle(KEYS_IN_ORDER)) await store.putIfAbsent(key, text(key));
    assert.deepEqual(await keysOf(store), KEYS_IN_ORDER);
    assert.deepEqual([...KEYS_IN_ORDER].sort(compareKeys), KEYS_IN_ORDER);
    for (const key of KEYS_IN_ORDER) assert.equal(words(await store.get(key)), key);
  });

  test("a list begins after a key, with a prefix, and ends at its limit", async (store) => {
    for (const key of KEYS_IN_ORDER) await store.putIfAbsent(key, text(key));
    for (const prefix of ["", "a", "a/", "a/b", "a/b/", "ä", "z", "a/b/1", "a/b/1x"]) {
      for (const after of ["", ...KEYS_IN_ORDER, "a", "a/", "a/b", "a/b/", "a/a", "zz"]) {
        const expected = KEYS_IN_ORDER.filter((key) => key.startsWith(prefix) && compareKeys(key, after) > 0);
        assert.deepEqual(await keysOf(store, { prefix, after }), expected, JSON.stringify({ prefix, after }));
        assert.deepEqual(await keysOf(store, { prefix, after, limit: 2 }), expected.slice(0, 2));
      }
    }
    assert.deepEqual(await keysOf(store, { limit: 0 }), []);
  });

  test("a list of several pages has each object once, and all are deleted at once", async (store) => {
    const keys = Array.from({ length: MANY }, (_, i) => `many/${String(i).padStart(5, "0")}`);
    const left = [...keys];
    const write = async () => {
      for (let key = left.pop(); key !== undefined; key = left.pop()) await store.putIfAbsent(key, text(key));
    };
    await Promise.all(Array.from({ length: 16 }, write));
    assert.deepEqual(await keysOf(store), keys);
    assert.deepEqual(await keysOf(store, { limit: MANY - 1, after: "many" }), keys.slice(0, MANY - 1));
    await store.delete(keys);
    assert.deepEqual(await keysOf(store), []);
  });

  test("any sequence of calls has the results of a map", async (store) => {
    const random = new Random(3);
    const model = new Map<string, Uint8Array>();
    const keys = ["a", "b/1", "b/2", "b-1", "c/d/1", "c/d/2", "c/d0"];
    for (let step = 0; step < rounds(1000, 150); step++) {
      const key = random.pick(keys);
      const body = random.bytes(random.int(50));
      const action = random.int(5);
      if (action < 2) {
        assert.equal(await store.putIfAbsent(key, body), model.has(key) ? "exists" : "stored");
        if (!model.has(key)) model.set(key, body);
      } else if (action === 2) {
        const some = random.some(keys, 0.2);
        await store.delete(some);
        some.forEach((one) => model.delete(one));
      } else if (action === 3) {
        assert.equal((await store.head(key))?.size, model.get(key)?.length);
        if (model.has(key)) assert.deepEqual(await store.get(key), model.get(key));
      } else {
        assert.deepEqual(await keysOf(store), [...model.keys()].sort(compareKeys));
      }
    }
  });
}

function testLimits(test: Test): void {
  test("a key that could lead elsewhere is refused by every call", async (store) => {
    const long = "x".repeat(201);
    const bad = ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", ".a", "a\\b", "a\0", "a\nb", long];
    for (const key of [...bad, "\ud800", `${"y".repeat(199)}/`.repeat(5) + "a"]) {
      const calls = [
        () => store.putIfAbsent(key, text("")),
        () => store.put(key, text("")),
        () => store.get(key),
        () => store.getRange(key, { offset: 0, length: 1 }),
        () => store.head(key),
        () => store.delete(["a", key]),
      ];
      for (const call of calls) await assert.rejects(async () => void await call(), RangeError, JSON.stringify(key));
    }
    assert.deepEqual(await keysOf(store), []);
  });

  test("a range that is none is refused", async (store) => {
    await store.putIfAbsent("a", text("0123456789"));
    for (const [offset, length] of [[-1, 2], [0, 0], [0.5, 1], [0, 1.5], [NaN, 1], [0, Infinity]] as const) {
      await assert.rejects(store.getRange("a", { offset, length }), RangeError, `${offset} ${length}`);
    }
  });

  test("an aborted call throws the reason, and does nothing", async (store) => {
    await store.putIfAbsent("there", text("x"));
    const reason = new Error("the server stops");
    const signal = AbortSignal.abort(reason);
    const calls = [
      () => store.putIfAbsent("a", text(""), { signal }),
      () => store.put("a", text(""), { signal }),
      () => store.get("there", { signal }),
      () => store.getRange("there", { offset: 0, length: 1, signal }),
      () => store.head("there", { signal }),
      () => store.delete(["there"], { signal }),
      () => listAll(store, { signal }),
      () => checkStore(store, { signal }),
    ];
    for (const call of calls) await assert.rejects(async () => void await call(), (error) => error === reason);
    assert.deepEqual(await keysOf(store), ["there"]);
  });
}
