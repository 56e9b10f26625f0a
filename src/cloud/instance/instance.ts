import { errorText, JsonFile } from "../../base/mod.ts";
import { type Message, newStoredFrame } from "../../frame/mod.ts";
import { JournalIndex } from "../../journal/mod.ts";
import { type HandshakeRequest, type HandshakeResponse, type LiveFrame, RpcError } from "../../replication/mod.ts";
import type { BackfillFiles } from "../files/backfill_files.ts";
import { DiagnosticEvents, type Note } from "../state/diagnostic_events.ts";
import { InstanceHandshakes } from "./handshake.ts";
import { InstanceFormer } from "./former.ts";
import type { InstanceJournal } from "./journal.ts";
import { InstanceMachines } from "./machines.ts";
import { addLive, readLive, unavailable } from "./live.ts";
import { InstanceRecord, type InstanceSummary } from "./record.ts";
import { handshakeFirst, type InstanceSession, InstanceSessions, type SessionKind } from "./sessions.ts";
import { InstanceStores, type InstanceStoresOptions } from "./stores.ts";
import { LiveRateMeter } from "../service/live_rate.ts";
import type { Received } from "../state/received.ts";
import type { Replica } from "../replica/replica.ts";
import { type InstanceState, keptState, loadState, stateFile } from "../state/state_file.ts";
import type { StoredFiles } from "../files/stored_files.ts";

/** While a boat is heard of, what is known of it is written down so often. */
const STATE_EVERY_MS = 5000;
/** While files are open, it is looked so often whether one is gone. */
const FILES_EVERY_MS = 60_000;

/**
 * One boat in the cloud. While nobody uses it, only what is known of its numbers is in memory; its files are opened by a
 * handshake, or by who wants to read, and closed when they are idle.
 */
export class Instance {
  readonly id: string;
  readonly directory: string;
  /** What happened lately. */
  readonly events: DiagnosticEvents;
  readonly record: InstanceRecord;
  readonly former: InstanceFormer;
  readonly #options: InstanceStoresOptions;
  readonly #kept: JsonFile;
  readonly #frame: Message = { ...newStoredFrame(), monoMs: 0 };
  readonly #stores: InstanceStores;
  readonly #machines: InstanceMachines;
  readonly #handshakes: InstanceHandshakes;
  #rate: LiveRateMeter | undefined;
  readonly #sessions: InstanceSessions;
  #isStopped = false;
  /** Opening and closing, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #usedMs: number;
  #savedMs = -Infinity;
  #lookedMs = -Infinity;
  #isNews = false;
  /** Whether the files may have more than is known: the cloud was ended while they were open. */
  #mayHaveMore: boolean;

  private constructor(options: InstanceStoresOptions, state: InstanceState) {
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
    this.#machines = new InstanceMachines({ ...options, record: this.record, note: this.note });
    this.former = new InstanceFormer({ record: this.record, note: this.note });
    this.#usedMs = clock.monoMs();
    this.#sessions = new InstanceSessions(this.#usedMs);
    this.#handshakes = new InstanceHandshakes({
      ...{ ...options, record: this.record, stores: this.#stores, sessions: this.#sessions },
      ...{ machines: this.#machines, former: this.former, note: this.note },
      heard: () => this.heard(),
      changed: () => this.#save(),
    });
    this.#kept = new JsonFile(stateFile(directory), {
      what: `notes on what is here of "${id}"`,
      content: () => {
        this.#stores.account();
        return keptState(id, { ...this.record.state, isOpen: this.isOpen || this.#mayHaveMore });
      },
      log,
    });
  }

  /** Reads what is known of the boat from before. */
  static async load(options: InstanceStoresOptions): Promise<Instance> {
    const { id, directory, log } = options;
    const journal = () => JournalIndex.open(directory, { log });
    return new Instance(options, await loadState(stateFile(directory), { id, journal, log }));
  }

  /** Whether the boat streams live frames now. */
  get connected(): boolean {
    return this.#sessions.isOpen("live");
  }

  /** Whether its files are open. */
  get isOpen(): boolean {
    return this.#stores.journal !== undefined;
  }

  /** Its numbers in the current run. */
  get received(): Received {
    return this.record.received;
  }

  /** The replica, where it runs. */
  get runningReplica(): Replica | undefined {
    return this.#stores.replica;
  }

  /** Why another machine that is this boat was refused within the last hour; undefined: none was. */
  get refusedMachine(): string | undefined {
    return this.#machines.refused;
  }

  /** A stream brought other frames under numbers that are here: nothing more is taken of its machine. */
  contest(reason: string): void {
    const error = this.#machines.contest(reason);
    if (!error) return;
    this.#sessions.forgetGreetings();
    this.#sessions.end(error);
  }

  /** Whether live frames of it are recorded now. */
  get recording(): InstanceSummary["recording"] {
    return this.#stores.recording;
  }

  /** What is known of it. */
  summary(): InstanceSummary {
    const { id, recording, connected } = this;
    return { id, ...this.record.summary({ connected }), recording };
  }

  /** Resolves when what is known of it is right: after a crash its files have to be looked at. */
  async settled(): Promise<void> {
    if (!this.#mayHaveMore || this.#isStopped) return;
    // Why they cannot be opened is in the log; what is known is all there is to tell.
    await this.#inTurn(() => this.#open()).catch(() => {});
  }

  /** Checks its files, which are opened. @throws {RpcError} `UNAVAILABLE`: they cannot be used */
  withFiles<T>(work: (files: StoredFiles) => T | Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#open().then(() => work(this.#stores.files)));
  }

  /** A file of its directory is about to be deleted on purpose: the boat is not asked for what it holds. */
  prune(name: string): Promise<void> {
    return this.#inTurn(() => this.#stores.prune(name));
  }

  /**
   * The replica, started when it is not running.
   *
   * @throws {RpcError} `UNAVAILABLE`: the boat's files cannot be used; `FAILED_PRECONDITION`: the boat was never here
   */
  replica(): Promise<Replica> {
    return this.#inTurn(async () => {
      await this.#open();
      return await this.#stores.startReplica();
    });
  }

  /**
   * Takes the boat's word on what it has, and answers what is wanted of it. Streams that are open go on.
   *
   * @param connection the one it came by: streams are taken of no other
   * @throws {RpcError} `FAILED_PRECONDITION`: another machine may be this boat; `UNAVAILABLE`: nothing can be written
   */
  handshake(request: HandshakeRequest, connection = ""): Promise<HandshakeResponse> {
    return this.#inTurn(async () => {
      const wasOpen = this.isOpen;
      const journal = await this.#open();
      if (wasOpen) await this.#stores.files.findMissing();
      const { failure } = this.#stores;
      if (failure !== undefined) throw unavailable(`nothing can be recorded: ${failure}`);
      const response = await this.#handshakes.answer(request, { connection, journal });
      // A crash from now on leaves more in the files than is written down.
      if (!wasOpen) {
        this.#save();
        await this.#kept.flush();
      }
      return response;
    });
  }

  /**
   * A live stream begins; one that is open has to go.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: its connection has made no handshake, or numbers have begun again since
   */
  enterLive(session: InstanceSession): Promise<void> {
    return this.#inTurn(async () => {
      await this.#enter("live", session);
      this.rate.reconnected(this.#options.clock.monoMs());
      this.record.counters.liveStreams++;
      // Without it the boat's frames are safe all the same.
      if (!this.#options.openReplica) return;
      await this.#stores.startReplica().catch((error: unknown) => {
        this.#options.log.error("replica cannot be started", { id: this.id, error: errorText(error) });
      });
    });
  }

  /** A backfill begins; one that is open has to go. Gives where its blocks go. @throws as {@linkcode enterLive} */
  enterBackfill(session: InstanceSession): Promise<BackfillFiles> {
    return this.#inTurn(async () => {
      const journal = await this.#enter("backfill", session);
      return journal.beginBackfill();
    });
  }

  /** A stream has ended. */
  leave(session: InstanceSession): void {
    this.#usedMs = this.#options.clock.monoMs();
    this.#sessions.leave(session, this.#usedMs);
    this.#save();
  }

  /** A backfill has ended, and its files with it. */
  async leaveBackfill(session: InstanceSession, files: BackfillFiles): Promise<void> {
    await (this.#stores.journal?.endBackfill(files) ?? files.end());
    this.leave(session);
  }

  /** The boat was heard of. */
  heard(): void {
    this.#isNews = true;
    this.record.seen(Math.floor(this.#options.clock.wallUs() / 1000));
    this.#usedMs = this.#options.clock.monoMs();
    this.rate.heard(this.#usedMs);
  }

  /** Notes what happened. */
  readonly note: Note = (type, detail) => this.events.add(type, detail);

  /**
   * Takes a live frame: into the journal, and to who listens. A number 0 only tells of a device.
   *
   * @throws {RpcError} it cannot be kept; the boat has to send it again
   */
  take(live: LiveFrame): void {
    const { seq } = live;
    const frame = this.#frame;
    readLive(live, frame);
    if (frame.bus >= this.#stores.buses.length) {
      throw new RpcError("INVALID_ARGUMENT", `frame ${seq} is of bus ${frame.bus}, which the boat has not named`);
    }
    if (seq === 0) this.#stores.replica?.introduce(frame);
    else if (this.#keep(seq, frame)) this.#stores.replica?.take(seq, frame);
  }

  /** The rate of the boat's live frames. All its streams share it: another one brings no more. */
  get rate(): LiveRateMeter {
    const { rateLimit, rateBurst } = this.#options.settings();
    if (!this.#rate?.isFor({ rateLimit, rateBurst })) this.#rate = new LiveRateMeter({ rateLimit, rateBurst });
    return this.#rate;
  }

  /** Blocks of the boat are on disk. */
  stored(): void {
    this.#stores.replica?.source.changed();
  }

  /** What is known to be durable now may be acknowledged. Gives up to where. */
  acknowledge(): number {
    this.#stores.settle();
    return this.received.ack;
  }

  /** For how long nobody has used what is open, milliseconds; 0: somebody does, or nothing is open. */
  idleMs(nowMs: number): number {
    if (!this.isOpen || this.#sessions.isOpen()) return 0;
    return Math.min(nowMs - this.#usedMs, this.#stores.replica?.idleMs(nowMs) ?? Infinity);
  }

  /** Closes what is idle for so long, and writes down what is known. Once a second. */
  runHousekeeping(timeoutMs: number): void {
    if (!this.isOpen) return;
    const { clock } = this.#options;
    const nowMs = clock.monoMs();
    this.#stores.settle();
    this.#stores.replica?.runHousekeeping();
    if (this.#isNews && nowMs - this.#savedMs >= STATE_EVERY_MS) this.#save();
    if (nowMs - this.#lookedMs >= FILES_EVERY_MS) {
      this.#lookedMs = nowMs;
      void this.#inTurn(async () => this.isOpen && await this.#stores.files.findMissing());
    }
    if (this.idleMs(nowMs) < timeoutMs) return;
    void this.#inTurn(async () => {
      if (this.idleMs(clock.monoMs()) >= timeoutMs) await this.#close();
    });
  }

  /** Whether a file of its directory, by its name, is being written; true before it is there. */
  isFileOpen(name: string): boolean {
    return this.#stores.isFileOpen(name);
  }

  /** A file of its directory was deleted. */
  noteRemoved(name: string): void {
    this.#stores.journal?.index.noteRemoved(`${this.directory}/${name}`);
  }

  /** Pauses recording, or goes on; a boat that comes meanwhile is told to come again. */
  pause(isPaused: boolean): void {
    this.#stores.pause(isPaused);
  }

  /** Ends its streams, writes everything, and closes its files. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#sessions.end(unavailable("the server is stopping"));
    await this.#inTurn(() => this.#close());
    await this.#kept.close();
    await this.events.close();
  }

  /** Journals a live frame. False when it is too late for that. */
  #keep(seq: number, frame: Message): boolean {
    const { received, record: { counters } } = this;
    const { journal } = this.#stores;
    if (!journal) throw unavailable("the boat's files are closed");
    counters.liveFrames++;
    if (seq <= journal.lastLive) {
      counters[received.has(seq) ? "duplicateFrames" : "refusedFrames"]++;
      return false;
    }
    if (!addLive(received, seq)) {
      counters.duplicateFrames++;
      return true;
    }
    if (journal.append(seq, frame)) return true;
    received.forget({ start: seq, end: seq + 1 });
    counters.refusedFrames++;
    throw unavailable(`frame ${seq} cannot be kept: ${this.#stores.failure ?? "the disk is too slow"}`);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  #save(): void {
    this.#isNews = false;
    this.#savedMs = this.#options.clock.monoMs();
    this.#kept.changed();
  }

  /** A stream begins. Gives the files, which its handshake has opened. */
  async #enter(kind: SessionKind, session: InstanceSession): Promise<InstanceJournal> {
    const { journal } = this.#stores;
    if (this.#isStopped) throw unavailable("the server is stopping");
    if (!journal) throw handshakeFirst();
    const { connection = "" } = session;
    const request = this.#machines.askedOf(connection);
    if (request) this.#machines.requireAlone({ isStreaming: this.#sessions.isOpenElsewhere(connection) });
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
    const journal = await this.#stores.open();
    this.#mayHaveMore = false;
    return journal;
  }

  /** What was acknowledged is gone: a boat that is here makes another handshake, which asks for it. */
  #noteVanished(frames: number, reason: string): void {
    this.#options.log.error("frames of a boat are gone from the disk", { id: this.id, frames, reason });
    this.note("checkpoint", `${frames} frames are gone from the disk, and missing again: ${reason}`);
    this.#sessions.startOver(unavailable("frames that were here are gone from the disk: a handshake tells which"));
    this.#isNews = true;
  }

  async #close(): Promise<void> {
    if (!this.isOpen) return;
    this.#sessions.forgetGreetings();
    await this.#stores.close();
    this.#save();
  }
}
