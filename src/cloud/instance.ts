import { errorText, KeptFile } from "../base/mod.ts";
import { type Message, newStoredFrame } from "../frame/mod.ts";
import { JournalIndex, MAX_BUSES } from "../journal/mod.ts";
import { type HandshakeRequest, type HandshakeResponse, type LiveFrame, RpcError } from "../replication/mod.ts";
import type { BackfillFiles } from "./backfill_files.ts";
import type { CheckedBlock } from "./block_check.ts";
import { DiagnosticEvents, type DiagnosticEventType } from "./diagnostic_events.ts";
import type { InstanceJournal } from "./instance_journal.ts";
import { addLive, readLive, unavailable } from "./instance_live.ts";
import { InstanceRecord, type InstanceSummary } from "./instance_record.ts";
import { handshakeFirst, type InstanceSession, InstanceSessions, type SessionKind } from "./instance_sessions.ts";
import { InstanceStores, type InstanceStoresOptions } from "./instance_stores.ts";
import { LiveRateMeter } from "./live_rate.ts";
import type { Received } from "./received.ts";
import type { Replica } from "./replica.ts";
import { type InstanceState, keptState, loadState, stateFile } from "./state_file.ts";
import type { StoredFiles } from "./stored_files.ts";

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
  readonly events: DiagnosticEvents = new DiagnosticEvents();
  readonly record: InstanceRecord;
  readonly #options: InstanceStoresOptions;
  readonly #kept: KeptFile;
  readonly #frame: Message = { ...newStoredFrame(), monoMs: 0 };
  readonly #stores: InstanceStores;
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
    this.#usedMs = clock.monoMs();
    this.#sessions = new InstanceSessions(this.#usedMs);
    this.#kept = new KeptFile(stateFile(directory), {
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
      const known = this.record.epoch !== undefined;
      const verdict = this.record.judge(request);
      if (verdict.kind === "clone") {
        this.note("live_stop", `refused: ${verdict.reason}`);
        throw new RpcError("FAILED_PRECONDITION", verdict.reason);
      }
      const busesBefore = this.#stores.buses;
      this.record.nameBuses(request.busNames.slice(0, MAX_BUSES));
      if (verdict.kind === "new") await this.#beginEpoch(request, { reason: verdict.reason, busesBefore });
      else if (busesBefore.join("\n") !== this.#stores.buses.join("\n")) await this.#stores.useBuses();
      const leftOut = this.record.declare(request);
      if (leftOut > 0) this.#options.log.warn("a boat tells of too many gaps", { id: this.id, leftOut });
      this.heard();
      this.#sessions.greet(connection, this.#usedMs);
      this.#stores.replica?.source.changed();
      this.#save();
      // A crash from now on leaves more in the files than is written down.
      if (!wasOpen) await this.#kept.flush();
      this.#stores.settle();
      return this.record.answer(request, { known, lastLive: journal.lastLive, settings: this.#options.settings() });
    });
  }

  /**
   * A live stream begins; one that is open has to go.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: its connection has made no handshake, or numbers have begun again since
   */
  enterLive(session: InstanceSession): Promise<void> {
    return this.#inTurn(async () => {
      this.#enter("live", session);
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
    return this.#inTurn(() => {
      const journal = this.#enter("backfill", session);
      return Promise.resolve(journal.beginBackfill());
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
  note(type: DiagnosticEventType, detail: string): void {
    this.events.add({ timeMs: Math.floor(this.#options.clock.wallUs() / 1000), type, detail });
  }

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

  /** A block is on disk. Gives how many of its frames are new. */
  stored({ seqs }: CheckedBlock): number {
    const { received, record: { counters } } = this;
    let frames = 0;
    for (const { start, end } of received.addBlock(seqs)) frames += end - start;
    received.markDurable(seqs);
    counters.backfillBlocks++;
    counters.backfillFrames += frames;
    this.#stores.replica?.source.changed();
    return frames;
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
  keepHouse(timeoutMs: number): void {
    if (!this.isOpen) return;
    const { clock } = this.#options;
    const nowMs = clock.monoMs();
    this.#stores.settle();
    this.#stores.replica?.keepHouse();
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
  #enter(kind: SessionKind, session: InstanceSession): InstanceJournal {
    const { journal } = this.#stores;
    if (this.#isStopped) throw unavailable("the server is stopping");
    if (!journal) throw handshakeFirst();
    this.#sessions.enter(kind, session);
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

  async #beginEpoch(
    request: HandshakeRequest,
    { reason, busesBefore }: { reason: string; busesBefore: readonly string[] },
  ): Promise<void> {
    this.#sessions.startOver(new RpcError("ABORTED", "the boat's numbers have begun again"));
    const { epoch: former } = this.record;
    const left = this.record.beginEpoch(request, (count) => crypto.getRandomValues(new Uint8Array(count)));
    const { log } = this.#options;
    log.info("a boat's numbers begin", { id: this.id, epoch: this.record.epoch, reason });
    if (left > 0) {
      log.warn("frames of a boat's former numbers never came", { id: this.id, epoch: former, frames: left });
      this.note("live_stop", `numbers begin again: ${left} frames of epoch ${former} never came, and stay on the boat`);
    }
    await this.#stores.beginEpoch(busesBefore);
  }

  async #close(): Promise<void> {
    if (!this.isOpen) return;
    this.#sessions.forgetGreetings();
    await this.#stores.close();
    this.#save();
  }
}
