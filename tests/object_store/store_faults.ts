import assert from "node:assert/strict";
import {
  isStoreError,
  type ObjectStore,
  openStore,
  type OpenStoreOptions,
  StoreError,
  type StoreErrorKind,
} from "../../src/object_store/mod.ts";
import { eventually } from "../support/eventually.ts";
import { type Fault, HttpProxy } from "../support/http_proxy.ts";
import { Random } from "../support/random.ts";
import { keysOf, text } from "./contract.ts";

/** A store behind a proxy that lies. */
export interface FaultBench {
  proxy: HttpProxy;
  /** Through the proxy, with short pauses. */
  store: ObjectStore;
  /** The same objects, past the proxy. */
  direct: ObjectStore;
  /** Through the proxy, with other limits. */
  open: (options: Partial<OpenStoreOptions>) => Promise<ObjectStore>;
}

/** A kind of S3 store to put the proxy in front of. */
export interface S3Kind {
  name: string;
  options: { ignore: boolean };
  /** Runs a test with an empty store that no other test uses. */
  withS3: (test: (options: OpenStoreOptions & { endpoint: string }) => Promise<void>) => Promise<void>;
}

const ATTEMPTS = 3;
const SHORT_PAUSES = { attempts: ATTEMPTS, retry: { firstMs: 1, capMs: 4 } };
/** Less than a request that is never answered takes. */
const STALLED_MS = 200;
const BODY = new Random(5).bytes(20_000);
const OTHER = text("of another writer");

/** Results of `putIfAbsent`: with one fault, and with one at each attempt. */
const WRITES: readonly [Fault, once: "stored" | StoreErrorKind, always: StoreErrorKind][] = [
  ["drop", "stored", "away"],
  ["lose answer", "stored", "away"],
  ["fail", "stored", "away"],
  ["slow down", "stored", "away"],
  ["cut upload", "stored", "away"],
  ["login page", "damaged", "damaged"],
  ["forget", "damaged", "damaged"],
  ["forget with a tag", "damaged", "damaged"],
];

/** Results of `get`. */
const READS: readonly [Fault, once: "read" | StoreErrorKind, always: StoreErrorKind][] = [
  ["drop", "read", "away"],
  ["lose answer", "read", "away"],
  ["fail", "read", "away"],
  ["slow down", "read", "away"],
  ["cut", "read", "away"],
  ["login page", "damaged", "damaged"],
  ["shorten", "damaged", "damaged"],
  ["lengthen", "damaged", "damaged"],
  ["flip", "damaged", "damaged"],
];

/** What becomes of calls when the network or the store lies, as tests of one kind of store. */
export function testFaults({ name, options, withS3 }: S3Kind): void {
  const test = (claim: string, fn: (bench: FaultBench) => Promise<void>) =>
    Deno.test(`${name}: ${claim}`, options, () =>
      withS3(async (s3) => {
        await using proxy = await HttpProxy.start(s3.endpoint);
        const open = (options: Partial<OpenStoreOptions>) =>
          openStore({ ...s3, endpoint: proxy.endpoint, ...SHORT_PAUSES, ...options });
        using direct = await openStore(s3);
        using store = await open({});
        await fn({ proxy, store, direct, open });
      }));
  testWrites(test);
  testReads(test);
  testLists(test);
  testEnds(test);
}

type Test = (claim: string, fn: (bench: FaultBench) => Promise<void>) => void;

/** The result of a call, or the kind of its error. */
async function outcome<T>(call: Promise<T>): Promise<T | StoreErrorKind> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof StoreError) return error.kind;
    throw error;
  }
}

function testWrites(test: Test): void {
  for (const [fault, once, always] of WRITES) {
    test(`nothing is reported as stored that is not there when PUTs meet "${fault}"`, async ({ proxy, store, direct }) => {
      const meet = async (key: string, times: number) => {
        proxy.next("PUT", fault, times);
        const result = await outcome(store.putIfAbsent(key, BODY));
        proxy.heal();
        const found = await outcome(direct.get(key));
        // Whole or not there, whatever was answered.
        if (result === "stored" || found !== "missing") assert.deepEqual(found, BODY);
        return result;
      };
      assert.equal(await meet("once", 1), once);
      assert.equal(await meet("always", Infinity), always);
      assert.equal(await outcome(store.putIfAbsent("later", BODY)), "stored");
    });

    test(`an object of another writer stays when PUTs meet "${fault}"`, async ({ proxy, store, direct }) => {
      await direct.putIfAbsent("a", OTHER);
      proxy.next("PUT", fault, 1);
      assert.equal(await outcome(store.putIfAbsent("a", BODY)), "exists");
      // With the same bytes, too: one of the two writers is the winner.
      proxy.next("PUT", fault, 1);
      assert.equal(await outcome(store.putIfAbsent("a", OTHER)), "exists");
      assert.deepEqual(await direct.get("a"), OTHER);
    });
  }

  test("an own object whose answers were lost is found, and its price is one request", async ({ proxy, store }) => {
    proxy.next("PUT", "lose answer", ATTEMPTS - 1);
    proxy.next("HEAD", "fail", ATTEMPTS - 1);
    assert.equal(await store.putIfAbsent("a", BODY), "stored");
    assert.deepEqual(proxy.requests, [..."PPP"].map(() => "PUT").concat("HEAD", "HEAD", "HEAD"));
    proxy.requests.length = 0;
    assert.equal(await store.putIfAbsent("b", BODY), "stored");
    assert.deepEqual(proxy.requests, ["PUT"]);
  });

  test("a replaced object is never reported that is not there", async ({ proxy, store, direct }) => {
    for (const [fault] of WRITES) {
      proxy.next("PUT", fault, 1);
      const result = await outcome(store.put("live/a", text(fault)));
      proxy.heal();
      if (result === undefined) assert.deepEqual(await direct.get("live/a"), text(fault));
      else assert.match(fault, /page|forget/);
    }
  });
}

function testReads(test: Test): void {
  for (const [fault, once, always] of READS) {
    test(`no wrong byte is read when GETs meet "${fault}"`, async ({ proxy, store, direct }) => {
      await direct.putIfAbsent("a", BODY);
      const meet = async (times: number) => {
        proxy.next("GET", fault, times);
        const result = await outcome(store.get("a"));
        proxy.heal();
        if (typeof result === "string") return result;
        assert.deepEqual(result, BODY);
        return "read";
      };
      assert.equal(await meet(1), once);
      assert.equal(await meet(Infinity), always);
      assert.equal(await meet(0), "read");
    });
  }

  test("a part of an object has the length that was asked for, or is an error", async ({ proxy, store, direct }) => {
    await direct.putIfAbsent("a", BODY);
    for (const [fault, once] of READS.filter(([fault]) => fault !== "flip")) {
      proxy.next("GET", fault, 1);
      const result = await outcome(store.getRange("a", { offset: 100, length: 1000 }));
      if (once === "read") assert.deepEqual(result, BODY.subarray(100, 1100), fault);
      else assert.equal(result, once, fault);
    }
  });

  test("a failing HEAD is no missing object", async ({ proxy, store, direct }) => {
    await direct.putIfAbsent("a", BODY);
    for (const fault of ["drop", "lose answer", "fail", "login page"] as const) {
      proxy.next("HEAD", fault);
      assert.match(String(await outcome(store.head("a"))), /^(away|damaged)$/, fault);
      proxy.heal();
    }
    assert.equal((await store.head("a"))?.size, BODY.length);
  });
}

function testLists(test: Test): void {
  test("a list is whole or an error", async ({ proxy, store, direct }) => {
    const keys = ["a", "b/1", "b/2", "c"];
    for (const key of keys) await direct.putIfAbsent(key, text(key));
    for (const [fault, once] of READS.filter(([fault]) => fault !== "flip")) {
      proxy.next("GET", fault, 1);
      const result = await outcome(keysOf(store));
      if (once === "read") assert.deepEqual(result, keys, fault);
      else if (typeof result !== "string") assert.deepEqual(result, keys, fault);
      proxy.heal();
      proxy.next("GET", fault);
      const always = await outcome(keysOf(store));
      if (typeof always !== "string") assert.deepEqual(always, keys, fault);
      proxy.heal();
    }
    assert.deepEqual(await keysOf(store), keys);
  });

  test("deleting is repeated while the store is away", async ({ proxy, store, direct }) => {
    for (const fault of ["drop", "lose answer", "fail", "slow down"] as const) {
      await direct.putIfAbsent("a", BODY);
      proxy.next("POST", fault, 1);
      await store.delete(["a"]);
      assert.equal(await direct.head("a"), undefined);
      proxy.next("POST", fault);
      assert.equal(await outcome(store.delete(["a"])), "away", fault);
      proxy.heal();
    }
  });
}

function testEnds(test: Test): void {
  const calls: Record<string, (store: ObjectStore, signal?: AbortSignal) => Promise<unknown>> = {
    PUT: (store, signal) => store.putIfAbsent("b", BODY, { signal }),
    GET: (store, signal) => store.get("a", { signal }),
    HEAD: (store, signal) => store.head("a", { signal }),
    POST: (store, signal) => store.delete(["b"], { signal }),
  };

  test("a call that is not answered ends after its time-out", async ({ proxy, open, direct }) => {
    await direct.putIfAbsent("a", BODY);
    for (const [method, call] of Object.entries(calls)) {
      using store = await open({ requestTimeoutMs: STALLED_MS, attempts: 2 });
      proxy.next(method, "stall");
      const message = /^Cannot .* in s3:\/\/boats\/\S* at 127\.0\.0\.1:\d+: it took longer than 0\.2 s$/;
      await assert.rejects(call(store), (error) => isStoreError(error, "away") && message.test(error.message), method);
    }
  });

  test("a call that is not answered ends when it is aborted, with the reason", async ({ proxy, store, direct }) => {
    await direct.putIfAbsent("a", BODY);
    for (const [method, call] of Object.entries(calls)) {
      proxy.next(method, "stall");
      proxy.requests.length = 0;
      const [ending, reason] = [new AbortController(), new Error("the server stops")];
      const result = assert.rejects(call(store, ending.signal), (error) => error === reason);
      await eventually("the request", () => proxy.requests.includes(method));
      ending.abort(reason);
      await result;
      assert.equal(proxy.requests.length, 1);
    }
  });

  test("messages name the action, the object, the store and the reason", async ({ proxy, store }) => {
    const message = (call: Promise<unknown>) =>
      call.then(() => "none", (error) => String(error.message).replace(/\/boats\S* at \S+:/, "…"));
    proxy.next("PUT", "slow down");
    assert.equal(
      await message(store.putIfAbsent("a/b", BODY)),
      'Cannot store "a/b" in s3:/… the store answered 503, SlowDown: Reduce your rate',
    );
    proxy.heal();
    proxy.next("PUT", "fail");
    assert.match(
      await message(store.putIfAbsent("a/b", BODY)),
      /^Cannot store "a\/b" in s3:\/… the store answered 500/,
    );
    proxy.heal();
    proxy.next("PUT", "forget");
    assert.equal(
      await message(store.putIfAbsent("a/b", BODY)),
      'Cannot store "a/b" in s3:/… the store answered that it has it, but does not have these bytes',
    );
    assert.match(await message(store.get("a/b")), /^Cannot read "a\/b" in s3:\/… the store answered 404, NoSuchKey/);
  });
}
