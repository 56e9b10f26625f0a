import { type Clock, type DurableFile, KeptFile, type Logger, pause, readKept } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { FallenBehindError, FrameCursor, type MissingFrames } from "./cursor.ts";
import { archiveFilter, type CompileFilter, followDevices, type LiveFilter } from "./filters.ts";
import type { FrameSource } from "./frame_source.ts";
import { keptSessions, parseSessions, type StoredSession } from "./session_file.ts";
import { SessionStream, type StreamEnd } from "./session_stream.ts";
import { SessionError, type SessionLimits, type SessionView, type Slot } from "./session_words.ts";

/** How sessions are kept. */
export interface SessionsOptions {
  source: FrameSource;
  compile: CompileFilter;
  clock: Clock;
  log: Logger;
  limits: () => SessionLimits;
  slots?: readonly Slot[] | undefined;
  /** Number that slots begin with; default the next one. */
  slotsFrom?: number | undefined;
  /** Names the run of sequence numbers. */
  epoch?: string | undefined;
  /** Where they survive a restart; none: they do not. */
  file?: DurableFile | undefined;
  /** Acknowledgements wait for it. */
  journal?: { sync(): Promise<void> } | undefined;
}

/** How a stream is opened. */
export interface SessionStreamOptions {
  /** Called once when the stream has ended. */
  ended: (how: StreamEnd) => void;
  /** Told of frames that were lost on their way into the journal. */
  missing?: (frames: MissingFrames) => void;
}

interface Session {
  readonly id: string;
  readonly slot: Slot | undefined;
  filter: Filter;
  timeoutMs: number;
  cursor: number;
  /** Newest number that its streams that have ended came to. */
  readThrough: number;
  /** Which epoch the client counts in: an older one, until it is told, and once it was told until it comes back. */
  epoch: "current" | "older" | "told";
  live: LiveFilter;
  state: { kind: "idle"; sinceMs: number } | { kind: "streaming"; stream: SessionStream };
}

/** What the file holds, for the log. */
const SESSIONS = "sessions";
/** An acknowledgement is answered after so long even when the disk does not take anything: health says so. */
const SYNC_PATIENCE_MS = 5000;

/** Named cursors: each client reads on where it stopped, and what it has not acknowledged is sent again. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #file: KeptFile | undefined;
  #epoch: string;
  #isStopped = false;

  private constructor(options: SessionsOptions) {
    const { file, log, epoch = "" } = options;
    this.#options = options;
    this.#epoch = epoch;
    this.#file = file && new KeptFile(file, { what: SESSIONS, log, content: () => keptSessions(this.#stored()) });
  }

  /** Restores what there was, and makes the slots. Time that the server was down is no inactivity. */
  static async open(options: SessionsOptions): Promise<Sessions> {
    const sessions = new Sessions(options);
    await sessions.#restore();
    return sessions;
  }

  /** Sessions kept, slots included. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Names the run of sequence numbers; empty where it has no name. */
  get epoch(): string {
    return this.#epoch;
  }

  /** Sessions whose client is connected. */
  get streaming(): number {
    let count = 0;
    for (const { state } of this.#sessions.values()) if (state.kind === "streaming") count++;
    return count;
  }

  /**
   * Makes a session that begins with the next frame, or gives the one there is another filter and timeout.
   *
   * @throws {SessionError} `full`
   */
  put(id: string, { filter, timeoutMs: asked }: { filter: Filter; timeoutMs: number }): SessionView {
    const { maxSessions, maxTimeoutMs } = this.#options.limits();
    const timeoutMs = Math.min(asked, maxTimeoutMs);
    this.#expire(this.#sessions.get(id));
    const known = this.#sessions.get(id);
    if (!known && this.#countOwn() >= maxSessions) {
      throw new SessionError("full", `All ${maxSessions} sessions are in use: see -max-sessions`);
    }
    const session = known ?? this.#add({ id, filter, timeoutMs });
    if (known) this.#change(known, { filter, timeoutMs });
    session.epoch = "current";
    this.#touch(session);
    this.#file?.changed();
    return viewOf(session);
  }

  /** @throws {SessionError} `missing` */
  get(id: string): SessionView {
    return viewOf(this.#find(id));
  }

  /**
   * Ends a session with its stream; a slot begins anew.
   *
   * @throws {SessionError} `missing`
   */
  delete(id: string): void {
    const session = this.#find(id);
    this.#endStream(session, { code: "deleted" });
    this.#remove(session);
  }

  /**
   * Moves the cursor behind `seq`; when this is done a power cut does not take the frames up to there. A number below
   * the cursor has no effect.
   *
   * @throws {SessionError} `missing`, `ahead`
   */
  async ack(id: string, seq: number): Promise<void> {
    const session = this.#find(id);
    this.#touch(session);
    // It counts in numbers that begin again.
    if (session.epoch !== "current") return;
    const { source } = this.#options;
    if (seq > source.head) {
      throw new SessionError("ahead", `No frame has number ${seq} yet: the newest is ${source.head}`);
    }
    if (seq >= session.cursor) {
      session.cursor = seq + 1;
      this.#file?.changed();
    }
    await this.#sync();
  }

  /**
   * Looks whether a stream can be opened, and opens none.
   *
   * @throws {SessionError} `missing`
   * @throws {FallenBehindError} frames from the cursor on are gone
   */
  checkReadable(id: string): void {
    const session = this.#find(id);
    const { source, log } = this.#options;
    const { cursor } = session;
    if (session.epoch === "older" || !source.isGone(cursor)) return;
    const error = new FallenBehindError(source.oldestSeq);
    log.warn("session has fallen behind", { client: id, error: error.name, next: cursor, oldestSeq: error.oldestSeq });
    throw error;
  }

  /**
   * Streams from the cursor on. A stream that was open is ended.
   *
   * @throws {SessionError} `missing`
   */
  stream(id: string, { ended, missing }: SessionStreamOptions): SessionStream {
    const session = this.#find(id);
    this.#endStream(session, { code: "superseded" });
    const { source, compile, log } = this.#options;
    const compiled = compile(session.filter);
    const cursor = new FrameCursor({
      source,
      fromSeq: session.cursor,
      // Who has an address now need not be who had it then.
      archiveOnly: compiled.usesDevices && source.archive?.isComplete === true,
      // A filter that is replaced counts from the next frame on.
      accept: (bus, src, pgn) => session.live.accept(bus, src, pgn),
      archived: archiveFilter(compiled),
      ...(missing && { missing }),
    });
    const stream: SessionStream = new SessionStream(id, {
      cursor,
      log,
      ended: (how) => {
        session.readThrough = Math.max(session.readThrough, stream.readThrough);
        if (session.state.kind === "streaming" && session.state.stream === stream) this.#rest(session);
        ended(how);
      },
    });
    session.state = { kind: "streaming", stream };
    if (this.#isStopped) stream.end({ code: "stopped" });
    else if (session.epoch === "older") {
      session.epoch = "told";
      stream.end({ code: "new_epoch" });
    } else session.epoch = "current";
    return stream;
  }

  /** Removes sessions whose client has been away for too long. To be called now and then. */
  keepHouse(): void {
    for (const session of [...this.#sessions.values()]) this.#expire(session);
  }

  /** Numbers begin again at 1: every session begins with the first of them, and its client is told. */
  newEpoch(epoch: string): void {
    this.#epoch = epoch;
    for (const session of this.#sessions.values()) {
      session.cursor = 1;
      session.epoch = session.state.kind === "idle" ? "older" : "told";
      this.#endStream(session, { code: "new_epoch" });
    }
    this.#file?.changed();
  }

  /**
   * Waits until every client has read all there is, or has been away for longer than its session is kept; for one that is
   * connected and takes nothing only `patienceMs`. Looks at them every `everyMs`.
   */
  async drained({ everyMs, patienceMs }: { everyMs: number; patienceMs: number }): Promise<void> {
    const { clock } = this.#options;
    const unread = new Map(
      [...this.#sessions.values()].map((session) => [session, { through: 0, sinceMs: clock.monoMs() }]),
    );
    for (;;) {
      const nowMs = clock.monoMs();
      for (const [session, seen] of unread) {
        const through = readThroughOf(session);
        if (through > seen.through || session.state.kind === "idle") unread.set(session, { through, sinceMs: nowMs });
        if (!this.#isUnread(session) || nowMs - seen.sinceMs > patienceMs) unread.delete(session);
      }
      if (unread.size === 0 || this.#isStopped) return;
      await pause(everyMs);
    }
  }

  /** Ends every stream, and writes down what there is. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const session of this.#sessions.values()) {
      this.#endStream(session, { code: "stopped" });
      session.live.close();
    }
    await this.#file?.close();
  }

  async #restore(): Promise<void> {
    const { source, slots = [], file, log } = this.#options;
    for (const slot of slots) this.#add(slot, slot);
    const stored = file && await readKept(file, { what: SESSIONS, parse: parseSessions, log });
    for (const { id, filter, timeoutMs, epoch, cursor } of stored ?? []) {
      const session = this.#sessions.get(id) ?? this.#add({ id, filter, timeoutMs });
      if (epoch === this.#epoch) session.cursor = Math.min(cursor, source.head + 1);
      else session.epoch = "older";
    }
    if (this.size > 0) this.#file?.changed();
  }

  #add({ id, filter, timeoutMs }: Slot, slot?: Slot): Session {
    const { source, clock, limits, slotsFrom } = this.#options;
    const session: Session = {
      id,
      slot,
      filter,
      timeoutMs: Math.min(timeoutMs, limits().maxTimeoutMs),
      cursor: (slot && slotsFrom) ?? source.head + 1,
      readThrough: 0,
      epoch: "current",
      live: this.#follow(filter),
      state: { kind: "idle", sinceMs: clock.monoMs() },
    };
    this.#sessions.set(id, session);
    return session;
  }

  #change(session: Session, { filter, timeoutMs }: { filter: Filter; timeoutMs: number }): void {
    session.live.close();
    session.live = this.#follow(filter);
    session.filter = filter;
    session.timeoutMs = timeoutMs;
  }

  #follow(filter: Filter): LiveFilter {
    const { compile, source } = this.#options;
    return followDevices(compile(filter), source.broker.registry);
  }

  #isUnread(session: Session): boolean {
    const { head } = this.#options.source;
    this.#expire(session);
    if (this.#sessions.get(session.id) !== session || session.cursor > head) return false;
    return readThroughOf(session) < head;
  }

  #find(id: string): Session {
    this.#expire(this.#sessions.get(id));
    const session = this.#sessions.get(id);
    if (!session) throw new SessionError("missing", `There is no session "${id}": make it with PUT /clients/${id}`);
    return session;
  }

  #expire(session: Session | undefined): void {
    if (session?.state.kind !== "idle") return;
    const { clock, log } = this.#options;
    if (clock.monoMs() - session.state.sinceMs < session.timeoutMs) return;
    log.info("session has expired", { client: session.id, cursor: session.cursor });
    this.#remove(session);
  }

  #remove(session: Session): void {
    session.live.close();
    this.#sessions.delete(session.id);
    if (session.slot) this.#add(session.slot, session.slot);
    this.#file?.changed();
  }

  #touch(session: Session): void {
    if (session.state.kind === "idle") this.#rest(session);
  }

  #rest(session: Session): void {
    session.state = { kind: "idle", sinceMs: this.#options.clock.monoMs() };
  }

  #endStream({ state }: Session, how: StreamEnd): void {
    if (state.kind === "streaming") state.stream.end(how);
  }

  #countOwn(): number {
    let count = 0;
    for (const { slot } of this.#sessions.values()) if (!slot) count++;
    return count;
  }

  async #sync(): Promise<void> {
    const synced = this.#options.journal?.sync();
    if (!synced) return;
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, SYNC_PATIENCE_MS);
    await Promise.race([synced, patience.promise]).finally(() => clearTimeout(timer));
  }

  #stored(): StoredSession[] {
    return Array.from(this.#sessions.values(), ({ id, cursor, timeoutMs, filter, epoch }) => ({
      id,
      epoch: epoch === "older" ? "" : this.#epoch,
      cursor,
      timeoutMs,
      filter,
    }));
  }
}

function viewOf({ id, cursor, timeoutMs, filter, state, slot }: Session): SessionView {
  return { id, cursor, timeoutMs, filter, isStreaming: state.kind === "streaming", isSlot: slot !== undefined };
}

/** Newest number that any of its streams came to. */
function readThroughOf({ state, readThrough }: Session): number {
  return state.kind === "idle" ? readThrough : Math.max(readThrough, state.stream.readThrough);
}
