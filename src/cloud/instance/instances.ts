import {
  type Clock,
  type DirectoryLock,
  errorText,
  lockDirectory,
  type Logger,
  syncDirectory,
} from "../../base/mod.ts";
import { JOURNAL_DIRECTORY_MODE } from "../../journal/mod.ts";
import { isInstanceId } from "../../pki/mod.ts";
import { RpcError } from "../../replication/mod.ts";
import { Instance } from "./instance.ts";
import type { InstanceSettings } from "./settings.ts";
import type { OpenReplica } from "../replica/replica.ts";

/** How the boats of a cloud are kept. */
export interface InstancesOptions {
  /** A directory for each boat is in it; what begins with a dot is none. Made when it is missing. */
  dataDirectory: string;
  /** Asked whenever they matter, so that they may change. */
  settings: () => InstanceSettings;
  /** Makes a boat's replica; left out: there are none. */
  openReplica?: OpenReplica | undefined;
  /** Told when a file of a boat is ended: it may be archived. */
  onFileEnded?: ((id: string) => void) | undefined;
  clock: Clock;
  log: Logger;
}

/** States that are read at a time when a cloud starts. */
const READ_AT_ONCE = 32;
/** Boats whose files are looked at at a time after a crash. */
const SETTLED_AT_ONCE = 4;
/** Where too many boats are open, one that nobody uses goes after so long: its boat may be between two calls. */
const SURPLUS_AFTER_MS = 2000;

/** All boats that a cloud knows, in the order of their ids. */
export class Instances implements Iterable<Instance> {
  readonly #options: InstancesOptions;
  readonly #lock: DirectoryLock;
  readonly #byId = new Map<string, Instance>();
  readonly #coming = new Map<string, Promise<Instance>>();
  /** Undefined after one has come. */
  #inOrder: readonly Instance[] | undefined;
  #isStopped = false;

  private constructor(options: InstancesOptions, lock: DirectoryLock) {
    this.#options = options;
    this.#lock = lock;
  }

  /**
   * Takes the data directory, and reads what is known of each boat. None is connected, and no file stays open.
   *
   * @throws {FileError} another process holds the directory, or it cannot be written
   */
  static async open(options: InstancesOptions): Promise<Instances> {
    const { dataDirectory, log } = options;
    const lock = await lockDirectory(dataDirectory, { what: "data directory", mode: JOURNAL_DIRECTORY_MODE });
    try {
      const instances = new Instances(options, lock);
      const ids: string[] = [];
      for await (const { name, isDirectory } of Deno.readDir(dataDirectory)) {
        if (isDirectory && isInstanceId(name)) ids.push(name);
        else if (!name.startsWith(".")) log.warn("not a boat's directory", { name });
      }
      const read = async () => {
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) await instances.#load(id);
      };
      await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
      return instances;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** How many there are. */
  get size(): number {
    return this.#byId.size;
  }

  /** How many of them stream live frames now. */
  get connected(): number {
    let count = 0;
    for (const { connected } of this.#byId.values()) if (connected) count++;
    return count;
  }

  /** The boat of an id; undefined when it was never here. */
  get(id: string): Instance | undefined {
    return this.#byId.get(id);
  }

  [Symbol.iterator](): Iterator<Instance> {
    this.#inOrder ??= [...this.#byId.values()].sort((a, b) => a.id < b.id ? -1 : 1);
    return this.#inOrder[Symbol.iterator]();
  }

  /**
   * The boat of an id. One that was never here gets its directory.
   *
   * @throws {RpcError} `INVALID_ARGUMENT`: no id; `RESOURCE_EXHAUSTED`: there are too many; `UNAVAILABLE`: the directory
   * cannot be made
   */
  async ensure(id: string): Promise<Instance> {
    const known = this.#byId.get(id);
    if (known) return known;
    if (!isInstanceId(id)) throw new RpcError("INVALID_ARGUMENT", `"${id}" is not an instance id`);
    const coming = this.#coming.get(id) ?? this.#make(id).finally(() => this.#coming.delete(id));
    this.#coming.set(id, coming);
    return await coming;
  }

  /** Looks at the files of boats that were open when the cloud was ended without notice, a few at a time. */
  settle(): void {
    const waiting = [...this.#byId.values()];
    const work = async () => {
      for (let each = waiting.pop(); each; each = waiting.pop()) await each.settled();
    };
    for (let i = 0; i < SETTLED_AT_ONCE; i++) void work();
  }

  /** Closes what is idle, or too much, and writes down what is known. Once a second. */
  runHousekeeping(): void {
    const { clock, settings } = this.#options;
    const { brokerIdleTimeoutMs, maxIdleBrokers } = settings();
    const nowMs = clock.monoMs();
    const idle: { instance: Instance; idleMs: number }[] = [];
    for (const instance of this.#byId.values()) {
      const idleMs = instance.idleMs(nowMs);
      if (idleMs >= SURPLUS_AFTER_MS) idle.push({ instance, idleMs });
    }
    idle.sort((a, b) => b.idleMs - a.idleMs);
    const surplus = new Set(idle.slice(0, Math.max(0, idle.length - maxIdleBrokers)).map(({ instance }) => instance));
    for (const instance of this.#byId.values()) {
      instance.runHousekeeping(surplus.has(instance) ? SURPLUS_AFTER_MS : brokerIdleTimeoutMs);
    }
  }

  /** Ends all streams, writes everything down, and lets the directory go. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled(this.#coming.values());
    const all = [...this.#byId.values()];
    for (const stopped of await Promise.allSettled(all.map((instance) => instance.stop()))) {
      if (stopped.status === "fulfilled") continue;
      this.#options.log.error("a boat's files were not closed well", { error: errorText(stopped.reason) });
    }
    this.#lock.close();
  }

  async #make(id: string): Promise<Instance> {
    const { maxInstances } = this.#options.settings();
    const count = this.#byId.size + this.#coming.size;
    if (this.#isStopped) throw new RpcError("UNAVAILABLE", "the server is stopping");
    if (count >= maxInstances) {
      throw new RpcError("RESOURCE_EXHAUSTED", `there are ${count} boats, and no more than ${maxInstances} are taken`);
    }
    const { dataDirectory, log } = this.#options;
    try {
      await Deno.mkdir(`${dataDirectory}/${id}`, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
      await syncDirectory(dataDirectory);
      return await this.#load(id);
    } catch (error) {
      log.error("directory of a boat cannot be made", { id, error: errorText(error) });
      throw new RpcError("UNAVAILABLE", `the boat's directory cannot be made: ${errorText(error)}`);
    }
  }

  async #load(id: string): Promise<Instance> {
    const { dataDirectory, ...common } = this.#options;
    const instance = await Instance.load({ ...common, id, directory: `${dataDirectory}/${id}` });
    this.#byId.set(id, instance);
    this.#inOrder = undefined;
    return instance;
  }
}
