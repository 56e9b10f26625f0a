import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import { epochWordOf, openLocal } from "../../journal/mod.ts";
import { Ranges, RpcError } from "../../replication/mod.ts";
import { FileLedger } from "../files/file_ledger.ts";
import { blockDevice, InstanceJournal } from "./journal.ts";
import type { InstanceRecord, InstanceSummary } from "./record.ts";
import { notListed } from "./sessions.ts";
import type { InstanceSettings } from "./settings.ts";
import type { OpenReplica, Replica } from "../replica/replica.ts";
import { isFrameKey } from "../store/object_names.ts";
import { withNewerFrames } from "../state/state_file_rebuild.ts";
import { StoredFiles } from "../files/stored_files.ts";
import type { BoatObjects, ObjectChanges } from "../store/boat_objects.ts";
import { BoatStore, type Spool } from "../store/boat_store.ts";
import { epochStates } from "../store/restore.ts";
import { inReadTime } from "../store/read_time.ts";
import { StoredSessions } from "../store/stored_sessions.ts";
import type { FrameStore } from "../store/frame_store.ts";

/** Dependencies of a boat's journal and replica. */
export interface InstanceStoresOptions {
  id: string;
  /** The boat's directory, which exists. */
  directory: string;
  settings: () => InstanceSettings;
  /** Left out: boats have no replicas. */
  openReplica?: OpenReplica | undefined;
  /** Where frames go from the boat's directory; left out: they stay there. */
  frameStore?: FrameStore | undefined;
  /** Called when a file of the boat is complete and may be archived. */
  onFileEnded?: ((id: string) => void) | undefined;
  clock: Clock;
  log: Logger;
}

/** What the store was found to have, or that it did not answer, when the boat's state was loaded. */
export interface ListedObjects {
  listed: BoatObjects | "away" | undefined;
  /** Monotonic. */
  listedMs: number;
}

interface StoresOptions extends InstanceStoresOptions, ListedObjects {
  /** Readers wait for missing frames below this number. */
  awaitedBelow: () => number;
  /** Called when frames have disappeared from the disk. */
  onVanished: (frames: number, reason: string) => void;
}

/** A list of objects is used again for this time: a boat's handshake opens what it has just loaded. Milliseconds. */
const LIST_HOLDS_MS = 5000;
/** Longest time for storing the sessions of readers, who wait for it, milliseconds. */
const SESSIONS_MS = 2000;
/** Buses of a boat that names none. */
const DEFAULT_BUSES: readonly string[] = ["can0"];

/** A boat's open files and its replica. Callers must not run two methods at the same time. */
export class InstanceStores {
  readonly #options: StoresOptions;
  readonly #record: InstanceRecord;
  #journal: InstanceJournal | undefined;
  #ledger: FileLedger | undefined;
  #store: BoatStore | undefined;
  readonly #sessions: StoredSessions | undefined;
  #replica: Replica | undefined;
  /** Local files have frames that may not be stored. */
  #hasUnstored: boolean;
  #listed: ListedObjects["listed"];
  #snapshotMs = -Infinity;
  /** When the files were last closed. */
  #lastStoredThrough = 0;
  #isPaused = false;
  #isOpening = false;

  constructor(options: StoresOptions, record: InstanceRecord) {
    this.#options = options;
    this.#record = record;
    const { frameStore } = options;
    this.#listed = options.listed;
    this.#hasUnstored = typeof options.listed !== "object";
    this.#sessions = frameStore && new StoredSessions({ ...options, ...frameStore });
    record.storedThrough = () => this.#storedThrough();
    record.knowsHoles = () => this.#store?.isListed ?? true;
    record.storedOf = (epoch) => this.#store?.storedOf(epoch);
  }

  /** The boat's files; undefined while they are closed. */
  get journal(): InstanceJournal | undefined {
    return this.#journal;
  }

  /** The replica; undefined while it is stopped. */
  get replica(): Replica | undefined {
    return this.#replica;
  }

  /** Why nothing can be recorded; undefined: recording is possible. */
  get failure(): string | undefined {
    const state = this.#journal?.state;
    if (state?.kind === "failing") return state.reason;
    return this.#isPaused ? "recording is paused: there is no room" : undefined;
  }

  /** State of recording live frames. */
  get recording(): InstanceSummary["recording"] {
    const { failure } = this;
    if (failure !== undefined) return { kind: "failing", reason: failure };
    return { kind: this.#journal?.isRecording ? "recording" : "idle" };
  }

  /** Names of the boat's buses, by index. */
  get buses(): readonly string[] {
    const { buses } = this.#record;
    return buses.length > 0 ? buses : DEFAULT_BUSES;
  }

  /**
   * Opens the boat's files and updates the record from them.
   *
   * @throws {RpcError} `UNAVAILABLE`: they cannot be used
   */
  async open(): Promise<InstanceJournal> {
    if (this.#journal) return this.#journal;
    const { id, directory, settings, frameStore, clock, log, onFileEnded } = this.#options;
    this.#isOpening = true;
    try {
      const ledger = await FileLedger.read(directory, { id, isSavedAtClose: frameStore !== undefined, log });
      const listed = clock.monoMs() - this.#options.listedMs < LIST_HOLDS_MS ? this.#listed : undefined;
      const store = frameStore && new BoatStore({ id, frameStore, log, listed });
      if (store && !listed && await store.list() && this.#mayLack) await this.#adopt(store);
      const journal = await InstanceJournal.open({
        ...{ directory, settings, clock, log },
        openSource: store && ((path) => isFrameKey(path) ? store.objects.open(path) : openLocal(path)),
        relist: store && (() => store.listForReading()),
        devices: () => Array.from(this.#replica?.broker.registry ?? [], blockDevice).filter(({ name }) => name !== 0n),
        productOf: (bus, src) => this.#replica?.broker.registry.get(bus, src)?.product,
        place: store && ((block, packed) => store.place(block, { packed, spool: this.#spool({ journal, ledger }) })),
        onLiveEnded: () => this.#writeSnapshot(),
        onEnded: () => {
          ledger.endFiles((name) => journal.isOpen(name));
          onFileEnded?.(id);
        },
        onWritten: (block) => {
          if (block.header.epochWord === this.#epochWord) ledger.noteWritten(block);
        },
      });
      journal.pause(this.#isPaused);
      if (store) await journal.index.add(store.files);
      this.#store = store;
      this.#listed = undefined;
      await this.#reconcile({ journal, ledger });
      this.#ledger = ledger;
      return this.#journal = journal;
    } catch (error) {
      log.error("boat files not usable", { id, error: errorText(error) });
      throw new RpcError("UNAVAILABLE", `the boat's files cannot be used: ${errorText(error)}`);
    } finally {
      this.#isOpening = false;
    }
  }

  /** True if the store may have epochs and sessions that are not here. */
  get #mayLack(): boolean {
    return this.#record.isUnlisted || this.#options.frameStore?.node !== undefined;
  }

  /** Takes over what other nodes have stored: sessions, and epochs that began at them. */
  async #adopt({ objects }: BoatStore): Promise<void> {
    const record = this.#record;
    record.adoptEpochs(epochStates(objects));
    const { epoch, isUnlisted: isNew } = record;
    if (epoch !== undefined) {
      await inReadTime(async (signal) => await this.#sessions?.restore({ epoch, isNew, signal }));
    }
    record.isUnlisted = false;
  }

  /** Stores the sessions as they are now. What the store does not take soon is stored later: another node may repeat frames. */
  async storeSessions(): Promise<void> {
    await this.#replica?.sessions.written();
    await this.#sessions?.put(AbortSignal.timeout(SESSIONS_MS)).catch((error: unknown) => {
      this.#options.log.warn("sessions not stored yet", { id: this.#options.id, error: errorText(error) });
    });
  }

  /** The checker of the boat's files. @throws {RpcError} `UNAVAILABLE`: they are closed */
  get files(): StoredFiles {
    const [journal, ledger] = [this.#journal, this.#ledger];
    if (!journal || !ledger) throw new RpcError("UNAVAILABLE", "the boat's files are closed");
    return this.#filesOf({ journal, ledger });
  }

  /** Marks the frames of a file as deleted intentionally: the boat is not asked for them again. */
  async prune(name: string): Promise<void> {
    if (this.#ledger) {
      this.#ledger.prune(name);
      return await this.#ledger.flush();
    }
    const ledger = await FileLedger.read(this.#options.directory, this.#options);
    if (ledger.rangesOf(name)) ledger.prune(name);
    await ledger.close();
  }

  /** True while a file, given by its name, is being written or repaired, and before it exists. */
  isFileOpen(name: string): boolean {
    return this.#isOpening || (this.#journal?.isOpen(name) ?? false);
  }

  /** Switches to the record's new epoch, and updates the record from the files. */
  async beginEpoch(busesBefore: readonly string[]): Promise<void> {
    if (this.#journal && this.#ledger) await this.#reconcile({ journal: this.#journal, ledger: this.#ledger });
    const { epoch } = this.#record;
    if (busesBefore.join("\n") !== this.buses.join("\n")) await this.stopReplica();
    else if (epoch !== undefined) this.#replica?.newEpoch(epoch, this.buses);
  }

  /** Switches to the record's new buses. */
  async useBuses(): Promise<void> {
    await this.stopReplica();
    const { epoch } = this.#record;
    if (epoch !== undefined) this.#journal?.use({ epoch: Uint8Array.fromHex(epoch), buses: this.buses });
  }

  /**
   * Returns the replica, and starts it if necessary. The files must be open.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: the boat was never connected, or boats have no replicas; `UNAVAILABLE`: the
   * store may have sessions of readers
   */
  async startReplica(): Promise<Replica> {
    if (this.#replica) return this.#replica;
    const { openReplica, id, directory } = this.#options;
    const { epoch, received, isUnlisted } = this.#record;
    if (isUnlisted) throw notListed();
    const journal = this.#journal;
    if (!openReplica || !journal || epoch === undefined) {
      throw new RpcError("FAILED_PRECONDITION", `no frame of "${id}" has been received yet`);
    }
    const numbers = {
      received: () => this.#record.received,
      awaitedBelow: this.#options.awaitedBelow,
      firstNotInFiles: () => journal.firstNotInFiles,
    };
    const { buses } = this;
    const { index } = journal;
    return this.#replica = await openReplica({ id, directory, epoch, buses, head: received.last, index, numbers });
  }

  /** Stops the replica and its readers. */
  async stopReplica(): Promise<void> {
    const replica = this.#replica;
    this.#replica = undefined;
    await replica?.stop();
  }

  /** Pauses or resumes recording. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#journal?.pause(isPaused);
  }

  /** Marks newly synced live frames as durable, so that they may be acknowledged. */
  markDurable(): void {
    const range = this.#journal?.newlyDurable();
    if (range) this.#record.received.markDurable(range);
  }

  /** Updates the record before it is saved. */
  account(): void {
    this.markDurable();
    if (this.#journal && this.#record.epoch !== undefined) this.#record.accounted = this.#journal.accounted;
  }

  /** Looks for files that have disappeared. @param options.isListing also learns what other nodes have stored, if the store answers */
  async update({ isListing }: { isListing: boolean }): Promise<void> {
    if (isListing && this.#mayLack && !this.#record.isUnlisted) await this.#relist();
    await this.files.findMissing();
  }

  async #relist(): Promise<void> {
    const [journal, ledger, store] = [this.#journal, this.#ledger, this.#store];
    if (!journal || !ledger || !store || !await store.list()) return;
    await journal.index.add(store.files);
    const { epoch } = this.#record;
    if (epoch === undefined) return;
    const stored = store.storedOf(epoch);
    ledger.setStored(stored);
    this.files.markReceived(stored);
    this.files.findUnheld();
  }

  /** True if frames are in local files, or may be, and not in the store; without a store always. */
  get hasUnstored(): boolean {
    return this.#journal !== undefined || this.#hasUnstored;
  }

  /**
   * Completes the open files, so that {@linkcode InstanceStores.ship} takes their frames. True if the store answers and did
   * not when they were opened: they must be opened again, and the boat has not been asked for anything.
   */
  async beginShipping({ mayList, signal }: { mayList: boolean; signal?: AbortSignal | undefined }): Promise<boolean> {
    const store = this.#store;
    await this.#journal?.rotate();
    return mayList && store !== undefined && !store.isListed && await store.list(signal);
  }

  /**
   * Stores the frames of all complete files; see {@linkcode BoatStore.ship}. May run beside other methods, not twice.
   *
   * @throws {StoreError} some are not stored: try again later
   */
  async ship(signal?: AbortSignal): Promise<boolean> {
    const [journal, ledger, store] = [this.#journal, this.#ledger, this.#store];
    if (!journal || !ledger || !store) return false;
    await journal.placed();
    const hasStored = await store.ship(this.#spool({ journal, ledger }), signal);
    await this.#sessions?.putIfUsed({ sessions: this.#replica?.sessions, corrections: journal.corrections, signal });
    return hasStored;
  }

  /** Stores what is known of its objects. @throws {StoreError} */
  async saveTimes(signal: AbortSignal): Promise<void> {
    await this.#store?.objects.saveTimes(signal);
  }

  /** Objects of the boat were stored or deleted by compaction. */
  async noteObjects(changes: ObjectChanges): Promise<void> {
    if (this.#journal) await this.#store?.replace(changes, this.#journal);
  }

  /** Files that go to the store end every few seconds; a snapshot is only needed as often as files end without one. */
  #writeSnapshot(): void {
    const { clock, frameStore, settings } = this.#options;
    const nowMs = clock.monoMs();
    if (frameStore && nowMs - this.#snapshotMs < settings().rotateDurationMs) return;
    this.#snapshotMs = nowMs;
    void this.#replica?.writeSnapshot();
  }

  #storedThrough(): number | undefined {
    if (!this.#options.frameStore) return undefined;
    const { epoch, received } = this.#record;
    if (epoch === undefined || !this.#store) return this.#lastStoredThrough;
    return this.#store.storedThrough(epoch, { absent: [...received.void, ...received.lost] });
  }

  /** Stops the replica, and writes and closes all files. Frames that could not be written are missing again. */
  async close(): Promise<void> {
    const journal = this.#journal;
    await this.stopReplica();
    await journal?.close();
    this.account();
    this.#ledger?.endFiles(() => false);
    await this.#ledger?.close();
    if (journal && this.#store) {
      this.#hasUnstored = this.#store.hasUnstored(journal) || (await this.#sessions?.isChanged() ?? false);
    }
    this.#lastStoredThrough = this.#storedThrough() ?? 0;
    this.#ledger = undefined;
    this.#store = undefined;
    this.#journal = undefined;
    this.#record.forgetUnwritten();
  }

  get #epochWord(): number | undefined {
    const { epoch } = this.#record;
    return epoch === undefined ? undefined : epochWordOf(Uint8Array.fromHex(epoch));
  }

  /** Updates the record from the files: frames that it does not know, and frames that have disappeared. */
  async #reconcile({ journal, ledger }: { journal: InstanceJournal; ledger: FileLedger }): Promise<void> {
    const { epoch, received, accounted } = this.#record;
    if (epoch === undefined) return;
    journal.use({ epoch: Uint8Array.fromHex(epoch), buses: this.buses });
    ledger.beginEpoch(epoch, { isNew: received.count === 0 });
    const known = received.record();
    // Of a store that cannot be listed, the saved numbers are all that is known.
    const stored = this.#store?.isListed === false
      ? new Ranges(known.durable)
      : this.#store?.storedOf(epoch) ?? new Ranges();
    ledger.setStored(stored);
    const files = this.#filesOf({ journal, ledger });
    const { durable } = ledger.isComplete
      ? { durable: await files.catchUp(known.durable) }
      : await withNewerFrames(known, { journal: journal.index, epoch, accounted });
    const all = new Ranges([...durable, ...stored, ...journal.onlyInWal]);
    this.#record.load({ ...known, durable: [...all] }, { lastLive: journal.lastLive });
    await files.findMissing();
    files.findUnheld();
  }

  #spool({ journal, ledger }: { journal: InstanceJournal; ledger: FileLedger }): Spool {
    return { index: journal.index, ledger, isOpen: journal.isOpen, epochs: () => this.#record.epochs };
  }

  #filesOf(parts: { journal: InstanceJournal; ledger: FileLedger }): StoredFiles {
    const { id, directory, log, onVanished } = this.#options;
    return new StoredFiles({ id, directory, log, onVanished, record: this.#record, ...parts });
  }
}
