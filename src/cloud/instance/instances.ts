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
import { isStoreError, StoreError } from "../../object_store/mod.ts";
import { RpcError } from "../../replication/mod.ts";
import { Instance } from "./instance.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { InstanceSettings } from "./settings.ts";
import type { OpenReplica } from "../replica/replica.ts";
import type { FrameStore } from "../store/frame_store.ts";
import { storedBoats } from "../store/restore.ts";

/** Options of {@linkcode Instances}. */
export interface InstancesOptions {
  /** Contains a directory for each boat; names that begin with a dot are ignored. Created if missing. */
  dataDirectory: string;
  /** Settings that may change while running. */
  settings: () => InstanceSettings;
  /** Left out: boats have no replicas. */
  openReplica?: OpenReplica | undefined;
  /** Where the frames of all boats go; left out: they stay in the data directory. */
  frameStore?: FrameStore | undefined;
  /** Other nodes with the same store; left out: there are none. */
  nodes?: Pick<Nodes, "isLiveElsewhere" | "hasSeen" | "arrivals"> | undefined;
  /** Called when a file of a boat is complete and may be archived. */
  onFileEnded?: ((id: string) => void) | undefined;
  clock: Clock;
  log: Logger;
}

/** States read concurrently at start. */
const READ_AT_ONCE = 32;
/** Boats whose files are read concurrently after a crash. */
const RECOVERED_AT_ONCE = 4;
/** Boats that are released concurrently: each may need to store frames first. */
const RELEASED_AT_ONCE = 8;
/** Interval of looking for boats that only the store has, if there are other nodes. */
const RESTORE_EVERY_MS = 60_000;
/** Minimum idle time before a surplus boat is closed: its boat may be between two calls. */
const SURPLUS_AFTER_MS = 2000;

/** All boats of a cloud, sorted by id. */
export class Instances implements Iterable<Instance> {
  readonly #options: InstancesOptions;
  readonly #lock: DirectoryLock;
  readonly #byId = new Map<string, Instance>();
  readonly #creating = new Map<string, Promise<Instance>>();
  /** Boats that are being released. */
  readonly #releasing = new Map<string, Promise<void>>();
  #arrivals = 0;
  #restoredMs = -Infinity;
  /** Undefined after a boat was added. */
  #inOrder: readonly Instance[] | undefined;
  #isStopped = false;

  private constructor(options: InstancesOptions, lock: DirectoryLock) {
    this.#options = options;
    this.#lock = lock;
  }

  /**
   * Locks the data directory, and reads the state of each boat.
   *
   * @throws {FileError} another process uses the directory, or it cannot be written
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
        for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
          // A boat without a saved state, while the store is away: its next handshake tries again.
          await instances.#load(id).catch((error: unknown) => {
            if (!isStoreError(error, "away")) throw error;
            log.error("boat not loaded", { id, error: errorText(error) });
          });
        }
      };
      await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
      await instances.restore().catch((error: unknown) => {
        if (!isStoreError(error, "away")) throw error;
        log.error("boats of the object store not listed", { error: errorText(error) });
      });
      return instances;
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Number of boats. */
  get size(): number {
    return this.#byId.size;
  }

  /** The boat with this id; undefined if it was never connected. */
  get(id: string): Instance | undefined {
    return this.#byId.get(id);
  }

  /**
   * The boat with this id, also if it was only connected to other nodes; undefined if it was never connected.
   *
   * @throws {StoreError} what the store has of the boat is unknown
   */
  async find(id: string): Promise<Instance | undefined> {
    const known = this.#byId.get(id);
    return known || this.#isStopped || !this.#options.nodes?.hasSeen(id) ? known : await this.#create(id);
  }

  [Symbol.iterator](): Iterator<Instance> {
    this.#inOrder ??= [...this.#byId.values()].sort((a, b) => a.id < b.id ? -1 : 1);
    return this.#inOrder[Symbol.iterator]();
  }

  /**
   * The boat with this id, created with a directory if it was never connected.
   *
   * @throws {RpcError} `INVALID_ARGUMENT`: invalid id; `RESOURCE_EXHAUSTED`: too many boats; `UNAVAILABLE`: the directory
   * cannot be created
   */
  async ensure(id: string): Promise<Instance> {
    const known = this.#byId.get(id);
    if (known) return known;
    if (!isInstanceId(id)) throw new RpcError("INVALID_ARGUMENT", `"${id}" is not an instance id`);
    const { maxInstances } = this.#options.settings();
    const count = this.#byId.size + this.#creating.size;
    if (this.#isStopped) throw new RpcError("UNAVAILABLE", "the server is stopping");
    if (count >= maxInstances && !this.#creating.has(id)) {
      throw new RpcError("RESOURCE_EXHAUSTED", `the cloud has ${count} boats already, the maximum (-max-instances)`);
    }
    try {
      return await this.#create(id, { isComing: true });
    } catch (error) {
      this.#options.log.error("boat not created", { id, error: errorText(error) });
      const what = error instanceof StoreError
        ? "what the store has of the boat is unknown"
        : "the boat's directory cannot be created";
      throw new RpcError("UNAVAILABLE", `${what}: ${errorText(error)}`);
    }
  }

  /** Loads the boats that only the store has. @throws {StoreError} the store does not answer: some may be missing */
  async restore(): Promise<void> {
    const { frameStore, nodes, clock } = this.#options;
    if (!frameStore) return;
    this.#restoredMs = clock.monoMs();
    const stored = [...await storedBoats(frameStore.store)];
    const ids = stored.filter((id) => isInstanceId(id) && !nodes?.isLiveElsewhere(id));
    const restore = async () => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) if (!this.#byId.has(id)) await this.#create(id);
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, restore));
  }

  /** Reads the files of boats that were open when the cloud crashed, a few at a time. */
  recover(): void {
    const waiting = [...this.#byId.values()];
    const work = async () => {
      for (let each = waiting.pop(); each; each = waiting.pop()) await each.recovered();
    };
    for (let i = 0; i < RECOVERED_AT_ONCE; i++) void work();
  }

  /** Closes idle and surplus boats, and saves changed states. Must be called once a second. */
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
    this.#followNodes(nowMs);
  }

  /** Releases boats that are live at other nodes, and finds those that only the store has. */
  #followNodes(nowMs: number): void {
    const { nodes, log } = this.#options;
    if (!nodes || this.#isStopped) return;
    const hasArrived = nodes.arrivals !== this.#arrivals;
    this.#arrivals = nodes.arrivals;
    for (const instance of this.#byId.values()) {
      const { id } = instance;
      const isElsewhere = nodes.isLiveElsewhere(id);
      if (hasArrived || isElsewhere) instance.outdate();
      const isDue = isElsewhere && instance.isOpen && !this.#releasing.has(id) &&
        this.#releasing.size < RELEASED_AT_ONCE;
      if (!isDue) continue;
      const released = instance.release().catch((error: unknown) => {
        log.warn("boat of another node not released", { id, error: errorText(error) });
      }).finally(() => this.#releasing.delete(id));
      this.#releasing.set(id, released);
    }
    if (nowMs - this.#restoredMs < RESTORE_EVERY_MS) return;
    this.restore().catch((error: unknown) =>
      log.error("boats of the object store not listed", { error: errorText(error) })
    );
  }

  /** Ends all streams, writes everything, and unlocks the directory. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.allSettled([...this.#creating.values(), ...this.#releasing.values()]);
    const all = [...this.#byId.values()];
    for (const stopped of await Promise.allSettled(all.map((instance) => instance.stop()))) {
      if (stopped.status === "fulfilled") continue;
      this.#options.log.error("boat files not closed cleanly", { error: errorText(stopped.reason) });
    }
    this.#lock.close();
  }

  /** Creates the directory of a boat, unless that is under way, and loads it. */
  #create(id: string, { isComing = false }: { isComing?: boolean } = {}): Promise<Instance> {
    const make = async () => {
      const { dataDirectory } = this.#options;
      await Deno.mkdir(`${dataDirectory}/${id}`, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
      await syncDirectory(dataDirectory);
      return await this.#load(id, { isComing });
    };
    const creating = this.#creating.get(id) ?? make().finally(() => this.#creating.delete(id));
    this.#creating.set(id, creating);
    return creating;
  }

  async #load(id: string, { isComing = false }: { isComing?: boolean } = {}): Promise<Instance> {
    const { dataDirectory, ...common } = this.#options;
    const instance = await Instance.load({ ...common, id, directory: `${dataDirectory}/${id}`, isComing });
    this.#byId.set(id, instance);
    this.#inOrder = undefined;
    return instance;
  }
}
