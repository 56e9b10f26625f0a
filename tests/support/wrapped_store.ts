import { type ObjectInfo, type ObjectStore, StoreError } from "../../src/object_store/mod.ts";

/** A store whose calls pass a test first, which may wait or throw. */
export class WrappedStore implements ObjectStore {
  readonly url: string;
  readonly #store: ObjectStore;
  /** Called before each call takes effect, with its name and key or prefix. */
  before: (call: string, key: string) => Promise<void> | void = () => {};
  /** The clock of the store, milliseconds since 1970; undefined: that of the disk. */
  nowMs: (() => number) | undefined;
  readonly #storedMs = new Map<string, number>();
  /** When an object was stored as callers see it, milliseconds since 1970; default as the store says. */
  dateOf: (info: ObjectInfo) => number = ({ lastModifiedMs }) => lastModifiedMs;
  /** Called after it took effect, before it is answered. */
  after: (call: string, key: string) => Promise<void> | void = () => {};

  constructor(store: ObjectStore) {
    this.#store = store;
    this.url = store.url;
  }

  /** All calls fail as those of a store that does not answer, or no longer. */
  set isAway(isAway: boolean) {
    this.before = () => {
      if (isAway) throw new StoreError("Cannot reach the store of the test", { kind: "away" });
    };
  }

  #dated(info: ObjectInfo): ObjectInfo {
    return { ...info, lastModifiedMs: this.#storedMs.get(info.key) ?? this.dateOf(info) };
  }

  async #call<T>(call: string, key: string, work: () => Promise<T>): Promise<T> {
    await this.before(call, key);
    const answer = await work();
    if (call.startsWith("put") && answer !== "exists" && this.nowMs) this.#storedMs.set(key, this.nowMs());
    await this.after(call, key);
    return answer;
  }

  putIfAbsent(...args: Parameters<ObjectStore["putIfAbsent"]>): ReturnType<ObjectStore["putIfAbsent"]> {
    return this.#call("putIfAbsent", args[0], () => this.#store.putIfAbsent(...args));
  }

  put(...args: Parameters<ObjectStore["put"]>): ReturnType<ObjectStore["put"]> {
    return this.#call("put", args[0], () => this.#store.put(...args));
  }

  get(...args: Parameters<ObjectStore["get"]>): ReturnType<ObjectStore["get"]> {
    return this.#call("get", args[0], () => this.#store.get(...args));
  }

  getRange(...args: Parameters<ObjectStore["getRange"]>): ReturnType<ObjectStore["getRange"]> {
    return this.#call("getRange", args[0], () => this.#store.getRange(...args));
  }

  async *list(...args: Parameters<ObjectStore["list"]>): AsyncGenerator<ObjectInfo[]> {
    const [{ prefix = "" } = {}] = args;
    await this.before("list", prefix);
    for await (const page of this.#store.list(...args)) {
      yield page.map((info) => this.#dated(info));
      await this.before("list", prefix);
    }
  }

  head(...args: Parameters<ObjectStore["head"]>): ReturnType<ObjectStore["head"]> {
    return this.#call("head", args[0], () => this.#store.head(...args)).then((info) => info && this.#dated(info));
  }

  delete(...args: Parameters<ObjectStore["delete"]>): ReturnType<ObjectStore["delete"]> {
    return this.#call("delete", args[0][0] ?? "", () => this.#store.delete(...args));
  }

  [Symbol.dispose](): void {}
}
