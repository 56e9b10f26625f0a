import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import type { DeviceRecord } from "../../broker/mod.ts";
import { type BlockDevice, epochWordOf, NO_PRODUCT } from "../../journal/mod.ts";
import { Ranges, RpcError } from "../../replication/mod.ts";
import { FileLedger } from "../files/file_ledger.ts";
import { InstanceJournal } from "./journal.ts";
import type { InstanceRecord, InstanceSummary } from "./record.ts";
import type { InstanceSettings } from "./settings.ts";
import type { OpenReplica, Replica } from "../replica/replica.ts";
import { withNewerFrames } from "../state/state_file_rebuild.ts";
import { StoredFiles } from "../files/stored_files.ts";

/** What a boat's stores are made of. */
export interface InstanceStoresOptions {
  id: string;
  /** The boat's directory, which is there. */
  directory: string;
  settings: () => InstanceSettings;
  /** Left out: there are no replicas. */
  openReplica?: OpenReplica | undefined;
  /** Told when a file of the boat is ended: it may be archived. */
  onFileEnded?: ((id: string) => void) | undefined;
  clock: Clock;
  log: Logger;
}

interface StoresOptions extends InstanceStoresOptions {
  /** Readers wait for what is missing below this number. */
  awaitedBelow: () => number;
  /** Told when frames that were on disk are gone: how many, and why. */
  onVanished: (frames: number, reason: string) => void;
}

/** What a boat's only bus is called where the boat does not say. */
const ONE_BUS: readonly string[] = ["can0"];

/** A boat's open files and its replica. Who opens and closes them does one thing after the other. */
export class InstanceStores {
  readonly #options: StoresOptions;
  readonly #record: InstanceRecord;
  #journal: InstanceJournal | undefined;
  #ledger: FileLedger | undefined;
  #replica: Replica | undefined;
  #isPaused = false;
  #isOpening = false;

  /** Opens nothing yet. */
  constructor(options: StoresOptions, record: InstanceRecord) {
    this.#options = options;
    this.#record = record;
  }

  /** The boat's files, where they are open. */
  get journal(): InstanceJournal | undefined {
    return this.#journal;
  }

  /** The replica, where it runs. */
  get replica(): Replica | undefined {
    return this.#replica;
  }

  /** Why nothing can be recorded now; undefined when it can. */
  get failure(): string | undefined {
    const state = this.#journal?.state;
    if (state?.kind === "failing") return state.reason;
    return this.#isPaused ? "recording is paused: there is no room" : undefined;
  }

  /** Whether live frames are recorded now. */
  get recording(): InstanceSummary["recording"] {
    const { failure } = this;
    if (failure !== undefined) return { kind: "failing", reason: failure };
    return { kind: this.#journal?.isRecording ? "recording" : "idle" };
  }

  /** Names of the boat's buses, by their indexes. */
  get buses(): readonly string[] {
    const { buses } = this.#record;
    return buses.length > 0 ? buses : ONE_BUS;
  }

  /**
   * Opens the boat's files; the record learns what they have.
   *
   * @throws {RpcError} `UNAVAILABLE`: they cannot be used
   */
  async open(): Promise<InstanceJournal> {
    if (this.#journal) return this.#journal;
    const { id, directory, settings, clock, log, onFileEnded } = this.#options;
    this.#isOpening = true;
    try {
      const ledger = await FileLedger.read(directory, { id, log });
      const journal = await InstanceJournal.open({
        ...{ directory, settings, clock, log },
        devices: () => Array.from(this.#replica?.broker.registry ?? [], blockDevice).filter(({ name }) => name !== 0n),
        productOf: (bus, src) => this.#replica?.broker.registry.get(bus, src)?.product,
        onLiveEnded: () => void this.#replica?.writeSnapshot(),
        onEnded: () => {
          ledger.ended((name) => journal.isOpen(name));
          onFileEnded?.(id);
        },
        onWritten: ({ path, header, ...block }) => {
          if (header.epochWord === this.#epochWord) ledger.note(path.slice(path.lastIndexOf("/") + 1), block);
        },
      });
      journal.pause(this.#isPaused);
      await this.#lookInto({ journal, ledger });
      this.#ledger = ledger;
      return this.#journal = journal;
    } catch (error) {
      log.error("files of a boat cannot be used", { id, error: errorText(error) });
      throw new RpcError("UNAVAILABLE", `the boat's files cannot be used: ${errorText(error)}`);
    } finally {
      this.#isOpening = false;
    }
  }

  /** Its files, to be checked. @throws {RpcError} `UNAVAILABLE`: they are not open */
  get files(): StoredFiles {
    const [journal, ledger] = [this.#journal, this.#ledger];
    if (!journal || !ledger) throw new RpcError("UNAVAILABLE", "the boat's files are closed");
    return this.#filesOf({ journal, ledger });
  }

  /** A file is about to be deleted on purpose: what it holds is not missed. */
  async prune(name: string): Promise<void> {
    if (this.#ledger) {
      this.#ledger.prune(name);
      return await this.#ledger.flush();
    }
    const ledger = await FileLedger.read(this.#options.directory, this.#options);
    if (ledger.rangesOf(name)) ledger.prune(name);
    await ledger.close();
  }

  /** Whether a file, by its name, is being written, or mended; true before it is there. */
  isFileOpen(name: string): boolean {
    return this.#isOpening || (this.#journal?.isOpen(name) ?? false);
  }

  /** The record has begun a new run of numbers, perhaps with other buses; what the files have of it, it learns. */
  async beginEpoch(busesBefore: readonly string[]): Promise<void> {
    if (this.#journal && this.#ledger) await this.#lookInto({ journal: this.#journal, ledger: this.#ledger });
    const { epoch } = this.#record;
    if (busesBefore.join("\n") !== this.buses.join("\n")) await this.stopReplica();
    else if (epoch !== undefined) this.#replica?.newEpoch(epoch, this.buses);
  }

  /** The record has other buses. */
  async useBuses(): Promise<void> {
    await this.stopReplica();
    const { epoch } = this.#record;
    if (epoch !== undefined) this.#journal?.use({ epoch: Uint8Array.fromHex(epoch), buses: this.buses });
  }

  /**
   * The replica, started when it is not running. The files have to be open.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: the boat was never here, or there are no replicas
   */
  async startReplica(): Promise<Replica> {
    if (this.#replica) return this.#replica;
    const { openReplica, id, directory } = this.#options;
    const { epoch, received } = this.#record;
    const journal = this.#journal;
    if (!openReplica || !journal || epoch === undefined) {
      throw new RpcError("FAILED_PRECONDITION", `nothing has come of "${id}" so far`);
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

  /** Ends the replica, and all that reads from it. */
  async stopReplica(): Promise<void> {
    const replica = this.#replica;
    this.#replica = undefined;
    await replica?.stop();
  }

  /** Pauses recording, or goes on. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#journal?.pause(isPaused);
  }

  /** What has become durable may be acknowledged. */
  settle(): void {
    const range = this.#journal?.newlyDurable();
    if (range) this.#record.received.markDurable(range);
  }

  /** Brings the record in line with the files, for it to be written down. */
  account(): void {
    this.settle();
    if (this.#journal && this.#record.epoch !== undefined) this.#record.account(this.#journal.accounted);
  }

  /** Writes everything and closes it. What could not be written is missing again. */
  async close(): Promise<void> {
    const journal = this.#journal;
    await this.stopReplica();
    await journal?.close();
    this.account();
    this.#ledger?.ended(() => false);
    await this.#ledger?.close();
    this.#ledger = undefined;
    this.#journal = undefined;
    this.#record.forgetUnwritten();
  }

  get #epochWord(): number | undefined {
    const { epoch } = this.#record;
    return epoch === undefined ? undefined : epochWordOf(Uint8Array.fromHex(epoch));
  }

  /** The record learns what the files have of its run of numbers, and what they have no more. */
  async #lookInto({ journal, ledger }: { journal: InstanceJournal; ledger: FileLedger }): Promise<void> {
    const { epoch, received, accounted } = this.#record;
    if (epoch === undefined) return;
    journal.use({ epoch: Uint8Array.fromHex(epoch), buses: this.buses });
    ledger.begin(epoch, { isNew: received.count === 0 });
    const files = this.#filesOf({ journal, ledger });
    const known = received.record();
    const { durable } = ledger.isComplete
      ? { durable: await files.catchUp(known.durable) }
      : await withNewerFrames(known, { journal: journal.index, epoch, accounted });
    const all = new Ranges([...durable, ...journal.onlyInWal]);
    this.#record.found({ ...known, durable: [...all] }, { lastLive: journal.lastLive });
    await files.findMissing();
    files.decide();
  }

  #filesOf(parts: { journal: InstanceJournal; ledger: FileLedger }): StoredFiles {
    const { id, directory, log, onVanished } = this.#options;
    return new StoredFiles({ id, directory, log, onVanished, record: this.#record, ...parts });
  }
}

/** What a block says of a device. */
function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}
