import type { Clock, Logger } from "../base/mod.ts";
import {
  Compactor,
  DEFAULT_SIDECAR_BYTES,
  FrameShipper,
  type FrameStore,
  inReadTime,
  type Instances,
  ObjectCache,
  SidecarCache,
  type StoreRetention,
} from "../cloud/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { checkStore, isStoreError, type ObjectStore, openStore } from "../object_store/mod.ts";

/** Where the frames of all boats are kept besides the data directory. */
export interface CloudStoreOptions {
  /** `s3://BUCKET/PREFIX` or `file:///FOLDER`. */
  url: string;
  /** URL of an S3-compatible store; default: AWS. */
  endpoint?: string;
  /** Time from one storing of a boat's new frames to the next, milliseconds; default 30 s. */
  intervalMs?: number;
  /** Most bytes of sidecars of objects on the local disk; default 1 GiB. */
  maxSidecarBytes?: number;
}

/** Default of {@linkcode CloudStoreOptions.intervalMs}. */
export const DEFAULT_STORE_INTERVAL_MS = 30_000;

/** Longest time in which the end of a cloud stores the remaining frames, milliseconds. */
export const LAST_STORING_MS = 20_000;

/** Key that is looked up to find out whether a store answers. */
const PROBE_KEY = "store-check/probe";

/** The object store of a cloud: what its answers have confirmed survives the loss of this machine. */
export class Storing {
  frameStore: FrameStore;
  readonly #store: ObjectStore;
  readonly #options: { intervalMs: number; clock: Clock; log: Logger };
  /** Since when the store has to be checked, milliseconds since 1970; undefined: it has been. */
  #uncheckedMs: number | undefined;
  #shipper: FrameShipper | undefined;
  #compactor: Compactor | undefined;

  private constructor(
    store: ObjectStore,
    { isChecked, sidecars, ...options }: {
      intervalMs: number;
      isChecked: boolean;
      sidecars: SidecarCache;
      clock: Clock;
      log: Logger;
    },
  ) {
    this.#store = store;
    this.#options = options;
    this.#uncheckedMs = isChecked ? undefined : Math.floor(options.clock.wallUs() / 1000);
    const isAway = () => this.failingSinceMs !== undefined;
    this.frameStore = { store, cache: new ObjectCache({ store }), isAway, sidecars };
  }

  /**
   * Opens the store, and checks that it keeps its promises. One that does not answer is checked later: until then frames
   * stay in the data directory.
   *
   * @param options.directory for sidecars of objects
   * @throws {TypeError} the URL cannot be read
   * @throws {StoreError} the store refuses the credentials, does not exist, or lacks something
   */
  static async open(
    { url, endpoint, intervalMs = DEFAULT_STORE_INTERVAL_MS, maxSidecarBytes = DEFAULT_SIDECAR_BYTES }:
      CloudStoreOptions,
    { signal, directory, ...parts }: {
      directory: string;
      clock: Clock;
      log: Logger;
      signal?: AbortSignal | undefined;
    },
  ): Promise<Storing> {
    const sidecars = await SidecarCache.open({ directory, maxBytes: maxSidecarBytes });
    const store = await openStore({ url, endpoint });
    let isChecked = false;
    try {
      await check(store, signal);
      isChecked = true;
    } catch (error) {
      if (!isStoreError(error, "away")) {
        store[Symbol.dispose]();
        throw error;
      }
      parts.log.error("object store does not answer; frames stay in the data directory", { error: error.message });
    }
    return new Storing(store, { intervalMs, isChecked, sidecars, ...parts });
  }

  /** This is one of several nodes with the store. */
  nameNode(node: string): void {
    this.frameStore = { ...this.frameStore, node };
  }

  /**
   * Begins to store the frames of these boats, and to compact their objects.
   *
   * @param options.isInCharge false for boats whose objects another node compacts; default true
   */
  begin(
    boats: Instances,
    { retention, isInCharge }: { retention: StoreRetention; isInCharge?: ((id: string) => boolean) | undefined },
  ): void {
    const prepare = async (signal: AbortSignal) => {
      if (this.#uncheckedMs !== undefined) await check(this.#store, signal);
      this.#uncheckedMs = undefined;
      await boats.restore();
    };
    this.#shipper = new FrameShipper({ ...this.#options, boats, prepare });
    this.#compactor = new Compactor({ ...this.#options, boats, isInCharge, store: this.#store, retention });
  }

  /** Must be called about once a second. */
  runHousekeeping(): void {
    this.#shipper?.runHousekeeping();
    if (this.#shipper?.state.kind === "ok") this.#compactor?.runHousekeeping();
  }

  /** Time of the first failure since the store has last answered, milliseconds since 1970; undefined: it answers. */
  get failingSinceMs(): number | undefined {
    const state = this.#shipper?.state;
    return this.#uncheckedMs ?? (state?.kind === "failing" ? state.sinceMs : undefined);
  }

  /** Health names no boat and no key: the endpoint needs no token. */
  health(): ComponentHealth {
    const sinceMs = this.failingSinceMs;
    const faults = this.#compactor?.faultyBoats ?? 0;
    if (sinceMs !== undefined) {
      const since = new Date(sinceMs).toISOString();
      return { status: "degraded", message: `frames are not stored since ${since}; they stay in the data directory` };
    }
    if (faults === 0) return { status: "ok" };
    return { status: "degraded", message: `objects of ${faults} boats are damaged or contradict each other` };
  }

  /** Stores what can be stored within {@linkcode LAST_STORING_MS}; no frames are stored after that. */
  async stop(): Promise<void> {
    await this.#compactor?.stop();
    await this.#shipper?.shipAll(AbortSignal.timeout(LAST_STORING_MS));
    await this.#shipper?.stop();
  }

  /** Closes connections to the store, after the boats' files are closed. */
  [Symbol.dispose](): void {
    this.#store[Symbol.dispose]();
  }
}

/** Checks a store if it answers at all: the check of a silent one would take minutes. @throws {StoreError} as `checkStore` */
async function check(store: ObjectStore, signal: AbortSignal | undefined): Promise<void> {
  await inReadTime((over) => store.head(PROBE_KEY, { signal: over }), { signal });
  await checkStore(store, { signal });
}
