import { errorText, JsonFile, Turns } from "../../base/mod.ts";
import type { HandshakeRequest, HandshakeResponse, RpcError } from "../../replication/mod.ts";
import type { BackfillFiles } from "../files/backfill_files.ts";
import { DiagnosticEvents, type Note } from "../state/diagnostic_events.ts";
import { InstanceHandshakes } from "./handshake.ts";
import { FormerHandshake } from "./former_handshake.ts";
import type { InstanceJournal } from "./journal.ts";
import { CopyDetector } from "./copy_detector.ts";
import { InstanceRecord, type InstanceSummary } from "./record.ts";
import {
  handshakeRequired,
  type InstanceSession,
  InstanceSessions,
  notListed,
  type SessionKind,
  unavailable,
} from "./sessions.ts";
import { InstanceStores, type InstanceStoresOptions, type ListedObjects } from "./stores.ts";
import { LiveFrames } from "./live_frames.ts";
import type { Received } from "../state/received.ts";
import type { Replica } from "../replica/replica.ts";
import { encodeState, type InstanceState, stateFile } from "../state/state_file.ts";
import type { ObjectChanges } from "../store/boat_objects.ts";
import { loadBoatState } from "../store/restore.ts";
import type { StoredFiles } from "../files/stored_files.ts";

/** While a boat sends messages, its state is saved at this interval. After a crash its files have what is newer. */
const STATE_EVERY_MS = 60_000;
/** Longest time for storing what another node needs, milliseconds; the rest is stored later. */
const RELEASE_MS = 5000;
/** A boat that has made a handshake opens its streams within this time. */
const PRESENT_MS = 5000;
/** Open files are checked for existence at this interval. */
const FILES_EVERY_MS = 60_000;

/**
 * One boat in the cloud. While it is unused, only its record is in memory. A handshake or a reader opens its files; they
 * are closed when idle.
 */
export class Instance {
  readonly id: string;
  readonly directory: string;
  readonly events: DiagnosticEvents;
  readonly record: InstanceRecord;
  readonly former: FormerHandshake;
  readonly live: LiveFrames;
  readonly #options: InstanceStoresOptions;
  readonly #stateFile: JsonFile;
  readonly #stores: InstanceStores;
  readonly #copyDetector: CopyDetector;
  readonly #handshakes: InstanceHandshakes;
  readonly #sessions: InstanceSessions;
  #isStopped = false;
  /** Operations on files. */
  readonly #turns = new Turns();
  #usedMs: number;
  #receivedMs = -Infinity;
  #isOutdated = false;
  readonly #shipping = new Turns();
  #savedMs = -Infinity;
  #filesCheckedMs = -Infinity;
  #isChanged = false;
  /** The files may have frames that the record does not know, because the cloud crashed while they were open. */
  #mayHaveMore: boolean;

  private constructor(options: InstanceStoresOptions & ListedObjects, state: InstanceState) {
    const { id, directory, clock, log } = options;
    this.id = id;
    this.directory = directory;
    this.#options = options;
    this.events = new DiagnosticEvents(options);
    this.record = new InstanceRecord(state);
    this.#mayHaveMore = state.isOpen !== false && state.epochs.current !== undefined;
    this.#stores = new InstanceStores({
      ...options,
      awaitedBelow: () => {
        const times = { nowMs: clock.monoMs(), graceMs: options.settings().holeGraceMs };
        return this.record.awaitedBelow(this.#sessions.awaited(this.record.blockEpoch === undefined, times));
      },
      onVanished: (frames, reason) => this.#noteVanished(frames, reason),
    }, this.record);
    this.live = new LiveFrames({ record: this.record, stores: this.#stores, settings: options.settings });
    const common = { ...options, record: this.record, note: this.note };
    this.#copyDetector = new CopyDetector(common);
    this.former = new FormerHandshake(common);
    this.#sessions = new InstanceSessions(this.#usedMs = clock.monoMs());
    this.#handshakes = new InstanceHandshakes({
      ...{ ...common, stores: this.#stores, sessions: this.#sessions },
      ...{ copyDetector: this.#copyDetector, former: this.former },
      accepted: () => {
        this.noteActivity();
        this.#save();
      },
    });
    this.#stateFile = new JsonFile(stateFile(directory), {
      what: `state of "${id}"`,
      content: () => {
        this.#stores.account();
        return encodeState(id, { ...this.record.state, isOpen: this.isOpen || this.#mayHaveMore });
      },
      log,
    });
  }

  /** Reads the saved state of the boat. */
  static async load(options: InstanceStoresOptions & { isComing?: boolean }): Promise<Instance> {
    const { state, listed } = await loadBoatState(options);
    return new Instance({ ...options, listed, listedMs: options.clock.monoMs() }, state);
  }

  /** True while the boat streams live frames. */
  get connected(): boolean {
    return this.#sessions.isOpen("live");
  }

  /** True while its files are open. */
  get isOpen(): boolean {
    return this.#stores.journal !== undefined;
  }

  /** Its numbers in the current epoch. */
  get received(): Received {
    return this.record.received;
  }

  /** The replica; undefined while it is stopped. */
  get runningReplica(): Replica | undefined {
    return this.#stores.replica;
  }

  /** Why another machine with this identity was refused within the last hour; undefined: none was. */
  get refusedMachine(): string | undefined {
    return this.#copyDetector.refused;
  }

  /** Ends the boat's streams, because one has sent frames that differ from stored ones with the same numbers. */
  contest(reason: string): void {
    const error = this.#copyDetector.contest(reason);
    if (error) this.#sessions.endAll(error);
  }

  get recording(): InstanceSummary["recording"] {
    return this.#stores.recording;
  }

  summary(): InstanceSummary {
    return { id: this.id, ...this.record.summary(this), recording: this.recording };
  }

  /** True if frames in its directory may not be in the store; without a store always. */
  get hasUnstored(): boolean {
    return this.#stores.hasUnstored;
  }

  /** True if the boat has a journal, which keeps frames until they are stored. */
  get keepsFrames(): boolean {
    return this.record.journalBytes > 0;
  }

  /** Time since the boat's last message or handshake, milliseconds; Infinity: none since the start. */
  get silentMs(): number {
    return this.#options.clock.monoMs() - this.#receivedMs;
  }

  /** True while the boat streams live frames, and shortly after its handshake. */
  get isPresent(): boolean {
    return this.connected || this.silentMs < PRESENT_MS;
  }

  /** Stores its frames, then saves the state: neither WAL nor files keep them. @throws {StoreError} try again later */
  ship(signal?: AbortSignal): Promise<void> {
    return this.#shipping.run(async () => {
      if (this.#isStopped) return;
      await this.#turns.run(async () => {
        await this.#open();
        if (!await this.#stores.beginShipping({ mayList: this.#handshakes.isSettled, signal })) return;
        this.#sessions.endAll(this.#handshakes.storeAnswers);
        await this.#close();
        await this.#open();
      });
      if (await this.#stores.ship(signal)) this.#save();
    });
  }

  /** Stores the sessions of its readers, then ends the boat's streams with `error`, and those of its readers. */
  async disconnect(error: RpcError): Promise<void> {
    await this.#stores.storeSessions();
    this.#sessions.endAll(error);
    await this.#turns.run(() => this.#stores.stopReplica());
  }

  /** Ends all streams, stores what can be stored, and closes the files, because the boat is live at another node. */
  async release(): Promise<void> {
    await this.disconnect(unavailable("the boat is live at another node"));
    if (this.hasUnstored) await this.ship(AbortSignal.timeout(RELEASE_MS)).catch(() => {});
    await this.#turns.run(async () => this.isPresent || await this.#close());
  }

  /** Other nodes may have stored more of the boat: its files are opened again at the next use. */
  outdate(): void {
    this.#isOutdated = true;
  }

  readonly storeSessions = (): Promise<void> => this.#stores.storeSessions();
  readonly saveTimes = (signal: AbortSignal): Promise<void> => this.#stores.saveTimes(signal);
  readonly noteObjects = (changes: ObjectChanges): Promise<void> => this.#stores.noteObjects(changes);

  /** Resolves when its record is complete: after a crash its files are read first. */
  async recovered(): Promise<void> {
    // The log has the error; then the saved record is the best there is.
    if (this.#mayHaveMore && !this.#isStopped) await this.#turns.run(() => this.#open()).catch(() => {});
  }

  /** Opens its files and runs `work` on them. @throws {RpcError} `UNAVAILABLE`: they cannot be used */
  withFiles<T>(work: (files: StoredFiles) => T | Promise<T>): Promise<T> {
    return this.#turns.run(() => this.#open().then(() => work(this.#stores.files)));
  }

  /** Marks the frames of a file as deleted intentionally: the boat is not asked for them again. */
  prune(name: string): Promise<void> {
    return this.#turns.run(() => this.#stores.prune(name));
  }

  /** Returns the replica, started if necessary. @throws {RpcError} `UNAVAILABLE`; `FAILED_PRECONDITION`: never connected */
  replica(): Promise<Replica> {
    return this.#turns.run(() => this.#open().then(() => this.#stores.startReplica()));
  }

  /**
   * Accepts the boat's declarations, and answers with the frames that the cloud requests. Open streams continue.
   *
   * @param connection may open streams after this
   * @throws {RpcError} `FAILED_PRECONDITION`: two machines may be this boat; `UNAVAILABLE`: nothing can be recorded
   */
  handshake(request: HandshakeRequest, connection = ""): Promise<HandshakeResponse> {
    return this.#turns.run(async () => {
      const wasOpen = this.isOpen;
      const mayList = this.#handshakes.mayList(connection);
      // Opening lists the store again.
      const isUnlisted = this.record.isUnlisted || this.#handshakes.awaitsStore(request);
      if (isUnlisted && mayList && !this.#sessions.isOpen()) await this.#close();
      const journal = await this.#open();
      if (wasOpen) await this.#stores.update({ isListing: mayList && this.record.mayBeElsewhere(request) });
      const { failure } = this.#stores;
      if (failure !== undefined) throw unavailable(`nothing can be recorded: ${failure}`);
      if (this.#handshakes.awaitsStore(request)) throw notListed();
      const response = await this.#handshakes.answer(request, { connection, journal });
      this.#receivedMs = this.#options.clock.monoMs();
      // After a crash the files may have more frames than the saved state: it must say so first.
      if (!wasOpen) {
        this.#save();
        await this.#stateFile.flush();
      }
      return response;
    });
  }

  /**
   * Begins a live stream, and ends the open one.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: its connection has made no handshake in the current epoch
   */
  enterLive(session: InstanceSession): Promise<void> {
    return this.#turns.run(async () => {
      await this.#enter("live", session);
      this.live.rate.reconnected(this.#options.clock.monoMs());
      this.record.counters.liveStreams++;
      // Frames are recorded without a replica, too.
      if (!this.#options.openReplica || this.record.isUnlisted) return;
      await this.#stores.startReplica().catch((error: unknown) => {
        this.#options.log.error("replica not started", { id: this.id, error: errorText(error) });
      });
    });
  }

  /** Begins a backfill, and ends the open one. Returns the files for its blocks. @throws as {@linkcode enterLive} */
  enterBackfill(session: InstanceSession): Promise<BackfillFiles> {
    return this.#turns.run(async () => (await this.#enter("backfill", session)).beginBackfill());
  }

  /** Removes a stream that has ended. */
  leave(session: InstanceSession): void {
    this.#usedMs = this.#options.clock.monoMs();
    this.#sessions.leave(session, this.#usedMs);
    this.#save();
  }

  /** Removes a backfill that has ended, and ends its files. */
  async leaveBackfill(session: InstanceSession, files: BackfillFiles): Promise<void> {
    await (this.#stores.journal?.endBackfill(files) ?? files.end());
    this.leave(session);
  }

  /** A message of the boat has arrived. */
  noteActivity(): void {
    this.#isChanged = true;
    this.record.lastSeenMs = Math.floor(this.#options.clock.wallUs() / 1000);
    this.#receivedMs = this.#usedMs = this.#options.clock.monoMs();
    this.live.rate.advance(this.#usedMs);
  }

  readonly note: Note = (type, detail) => this.events.add(type, detail);

  /** The number up to which the boat may be sent an acknowledgement. */
  acknowledge(): number {
    this.#stores.markDurable();
    return this.received.ack;
  }

  /** Time since the open files were last used, milliseconds; 0: they are in use, or closed. */
  idleMs(nowMs: number): number {
    if (!this.isOpen || this.#sessions.isOpen()) return 0;
    return Math.min(nowMs - this.#usedMs, this.#stores.replica?.idleMs(nowMs) ?? Infinity);
  }

  /** Closes files that are idle for `timeoutMs`, and saves a changed state. Must be called once a second. */
  runHousekeeping(timeoutMs: number): void {
    if (!this.isOpen) return;
    const { clock } = this.#options;
    const nowMs = clock.monoMs();
    this.#stores.markDurable();
    this.#stores.replica?.runHousekeeping();
    if (this.#isChanged && nowMs - this.#savedMs >= STATE_EVERY_MS) this.#save();
    if (nowMs - this.#filesCheckedMs >= FILES_EVERY_MS) {
      this.#filesCheckedMs = nowMs;
      void this.#turns.run(async () => this.isOpen && await this.#stores.files.findMissing());
    }
    if (this.idleMs(nowMs) < timeoutMs) return;
    void this.#turns.run(async () => this.idleMs(clock.monoMs()) >= timeoutMs && await this.#close());
  }

  /** True while a file, given by its name, is being written, and before it exists. */
  readonly isFileOpen = (name: string): boolean => this.#stores.isFileOpen(name);

  /** Removes a deleted file from the index. */
  readonly noteRemoved = (name: string): void => this.#stores.journal?.index.noteRemoved(`${this.directory}/${name}`);

  /** Pauses or resumes recording; meanwhile the boat's handshakes fail, and it tries again later. */
  readonly pause = (isPaused: boolean): void => this.#stores.pause(isPaused);

  /** Ends its streams, writes everything, and closes its files. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#sessions.end(unavailable("the server is stopping"));
    await this.#turns.run(() => this.#close());
    await this.#stateFile.close();
    await this.events.close();
  }

  #save(): void {
    this.#isChanged = false;
    this.#savedMs = this.#options.clock.monoMs();
    this.#stateFile.changed();
  }

  /** Begins a stream. Returns the files, which its handshake has opened. */
  async #enter(kind: SessionKind, session: InstanceSession): Promise<InstanceJournal> {
    const { journal } = this.#stores;
    if (this.#isStopped) throw unavailable("the server is stopping");
    if (!journal) throw handshakeRequired();
    const { connection = "" } = session;
    const request = this.#copyDetector.unprovenRequest(connection);
    if (request) this.#copyDetector.requireAlone({ isStreaming: this.#sessions.isOpenElsewhere(connection) });
    this.#sessions.enter(kind, session);
    try {
      if (request) await this.#handshakes.accept(request, { connection, known: true, verdict: { kind: "same" } });
    } catch (error) {
      this.leave(session);
      throw error;
    }
    session.started?.();
    return journal;
  }

  async #open(): Promise<InstanceJournal> {
    if (this.#isStopped) throw unavailable("the server is stopping");
    this.#usedMs = this.#options.clock.monoMs();
    const isRenewed = this.#isOutdated && !this.isPresent;
    if (isRenewed) await this.#close();
    this.#isOutdated &&= !isRenewed;
    const journal = await this.#stores.open();
    this.#mayHaveMore = false;
    return journal;
  }

  /** Acknowledged frames have disappeared: ends the streams, so that the boat's next handshake requests them. */
  #noteVanished(frames: number, reason: string): void {
    this.#options.log.error("boat frames missing from the disk", { id: this.id, frames, reason });
    this.note("checkpoint", `${frames} frames have disappeared from the disk and are requested again: ${reason}`);
    this.#sessions.endAll(unavailable("frames have disappeared from the disk: a new handshake requests them again"));
    this.#isChanged = true;
  }

  async #close(): Promise<void> {
    if (!this.isOpen) return;
    this.#sessions.forgetHandshakes();
    await this.#stores.close();
    this.#save();
  }
}
