import { digestBoth } from "./digest.ts";
import type { CallOptions, ObjectStore } from "./store.ts";
import { isStoreError, StoreError } from "./store_error.ts";

/** Writers of one key at the same time: a store that checks first and writes later is caught by some of them. */
const WRITERS = 20;
/** Objects of the check are below this key. */
const CHECK_FOLDER = "store-check";

/**
 * Proves at start-up that a store honours `If-None-Match: *`, refuses a body that does not match its checksum, and
 * reads, lists and deletes what it stored. Uses and removes objects below the key `store-check`.
 *
 * @throws {StoreError} `unsuitable`: the store lacks something, the message says what; other kinds: as of any call
 */
export async function checkStore(store: ObjectStore, { signal }: CallOptions = {}): Promise<void> {
  const folder = `${CHECK_FOLDER}/${crypto.randomUUID()}`;
  const keys = { race: `${folder}/race`, damaged: `${folder}/damaged` };
  let failure: { error: unknown } | undefined;
  try {
    await checkRace(store, { key: keys.race, signal });
    await checkDigests(store, { key: keys.damaged, signal });
    await checkList(store, { folder, key: keys.race, signal });
  } catch (error) {
    failure = { error };
  }
  // Also after an abort, but then without waiting longer than a call does.
  const cleaned = await store.delete(Object.values(keys)).then(() => undefined, (error: unknown) => ({ error }));
  if (failure) throw failure.error;
  if (cleaned) throw cleaned.error;
  if (await store.head(keys.race, { signal })) throw lacks(store, `"${keys.race}" is there after it was deleted`);
}

interface CheckOptions extends CallOptions {
  key: string;
}

async function checkRace(store: ObjectStore, { key, signal }: CheckOptions): Promise<void> {
  const bodies = Array.from({ length: WRITERS }, (_, writer) => new TextEncoder().encode(`${key} by writer ${writer}`));
  const results = await Promise.allSettled(bodies.map((body) => store.putIfAbsent(key, body, { signal })));
  for (const result of results) if (result.status === "rejected") throw result.reason;
  const winners = bodies.filter((_, writer) => {
    const result = results[writer];
    return result?.status === "fulfilled" && result.value === "stored";
  });
  const [winner] = winners;
  if (!winner || winners.length > 1) {
    throw lacks(
      store,
      `${winners.length} of ${WRITERS} writers of one new key were answered that they created it, expected 1; ` +
        "it does not honour If-None-Match",
    );
  }
  const found = await store.get(key, { signal });
  if (found.toHex() !== winner.toHex()) throw lacks(store, "an object does not hold what the writer who won sent");
  const part = await store.getRange(key, { offset: 1, length: 4, signal });
  if (part.toHex() !== winner.subarray(1, 5).toHex()) {
    throw lacks(store, "a part of an object is not what was asked for");
  }
}

async function checkDigests(store: ObjectStore, { key, signal }: CheckOptions): Promise<void> {
  const body = new TextEncoder().encode("a body that does not match its MD5");
  const digests = { ...await digestBoth(body), md5: new Uint8Array(16) };
  try {
    await store.putIfAbsent(key, body, { digests, signal });
  } catch (error) {
    if (!isStoreError(error, "damaged")) throw error;
    if (await store.head(key, { signal })) throw lacks(store, "it keeps a body that it refused");
    return;
  }
  throw lacks(store, "it accepts a body that does not match its checksum (Content-MD5)");
}

async function checkList(
  store: ObjectStore,
  { folder, key, signal }: CheckOptions & { folder: string },
): Promise<void> {
  const listed: string[] = [];
  for await (const page of store.list({ prefix: `${folder}/`, signal })) listed.push(...page.map((info) => info.key));
  if (listed.length === 1 && listed[0] === key) return;
  throw lacks(store, `a list does not show what was just stored: expected "${key}", found ${JSON.stringify(listed)}`);
}

function lacks(store: ObjectStore, what: string): StoreError {
  return new StoreError(`Cannot use the object store ${store.url}: ${what}`, { kind: "unsuitable" });
}
