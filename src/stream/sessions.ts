import { pause } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { FallenBehindError, FrameCursor } from "./cursor.ts";
import { followDevices, type LiveFilter } from "./filters.ts";
import { RecordedFilter } from "./recorded_filter.ts";
import type { StoredSession } from "./session_file.ts";
import type { SessionsOptions, SessionStreamOptions } from "./session_options.ts";
import { type SessionFigures, SessionOwners } from "./session_owners.ts";
import {
  largestLagOf,
  type NewSession,
  readThroughOf,
  type Session,
  slotStateOf,
  storedOf,
  viewOf,
} from "./session_state.ts";
import { type SessionKey, SessionStore } from "./session_store.ts";
import { SessionStream, type StreamEnd } from "./session_stream.ts";
import { syncThrough } from "./session_sync.ts";
import { SlotLog } from "./slot_log.ts";
import {
  noSession,
  type SessionClient,
  SessionError,
  type SessionView,
  type SessionWish,
  type Slot,
} from "./session_types.ts";

/** Who uses sessions where nobody says. */
const NOBODY: SessionClient = { token: undefined, isAdmin: true, network: "" };

/** Named cursors: each client reads on where it stopped, and what it has not acknowledged is sent again. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #owners = new SessionOwners();
  readonly #store: SessionStore | undefined;
  readonly #slotLog: SlotLog;
  #epoch: string;
  #isStopped = false;

  private constructor(options: SessionsOptions) {
    const { directory, log, epoch = "" } = options;
    this.#options = options;
    this.#epoch = epoch;
    this.#slotLog = new SlotLog(options);
    const content = {
      epoch: () => this.#epoch,
      all: () => this.#sessions.values().map(storedOf),
      find: (key: SessionKey) => this.#stored(key),
    };
    this.#store = directory === undefined ? undefined : new SessionStore(directory, { content, log });
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
    return this.#sessions.values().reduce((sum, { state }) => sum + (state.kind === "streaming" ? 1 : 0), 0);
  }

  /** Frames that the connected client furthest behind has not read yet, wanted or not. */
  get largestLag(): number {
    return largestLagOf(this.#sessions.values(), this.#options.source.head);
  }

  /** Sessions that had to go, or could not be made, so far. */
  get figures(): Readonly<SessionFigures> {
    return this.#owners.figures;
  }

  /** Name of the token that a session belongs to; undefined: of none, or there is no such session. */
  ownerOf(id: string): string | undefined {
    this.#expire(this.#sessions.get(id));
    return this.#sessions.get(id)?.owner;
  }

  /**
   * Makes a session that begins with the next frame, or gives the one there is another filter and timeout. One that
   * belongs to nobody belongs to the client's token from then on.
   *
   * @throws {SessionError} `full`, `owner-full`
   */
  put(id: string, { client = NOBODY, ...wish }: SessionWish & { client?: SessionClient }): SessionView {
    const timeoutMs = Math.min(wish.timeoutMs, this.#options.limits().maxTimeoutMs);
    this.#expire(this.#sessions.get(id));
    const known = this.#sessions.get(id);
    if (known) this.#claim(known, client);
    else this.#makeRoom(client);
    const session = known ?? this.#add({ ...wish, id, timeoutMs, owner: client.token, network: client.network });
    if (known) this.#change(known, { filter: wish.filter, timeoutMs });
    if (session.epoch !== "current") this.#store?.moved(session);
    session.epoch = "current";
    this.#touch(session);
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
   * Moves the cursor to the number after `seq` once the frames up to there are safe from a power cut. A number below the
   * cursor has no effect.
   *
   * @throws {SessionError} `missing`, `ahead`; `not_durable`: the frames could not be synced, and the cursor is as before
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
    const epoch = this.#epoch;
    await syncThrough(seq, this.#options.journal);
    // Meanwhile it may have gone, or numbers may have begun again.
    if (epoch !== this.#epoch || this.#sessions.get(id) !== session) return;
    if (seq < session.cursor && session.wasRead) return;
    session.cursor = Math.max(session.cursor, seq + 1);
    session.wasRead = true;
    this.#store?.moved(session);
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
  stream(id: string, { ended, missing, reader }: SessionStreamOptions): SessionStream {
    const session = this.#find(id);
    this.#endStream(session, { code: "superseded" });
    const { source, log } = this.#options;
    const archived = new RecordedFilter(session.filter);
    const { uncleanRange: range } = source.archive ?? {};
    // Its client may have had frames of these numbers, which are gone, whatever it has acknowledged of them since.
    const isInside = range !== undefined && range.from <= session.cursor && session.cursor <= range.to;
    const cursor = new FrameCursor({
      source,
      fromSeq: isInside ? range.to + 1 : session.cursor,
      // Who has an address now need not be who had it then.
      archiveOnly: archived.usesDevices && source.archive?.isComplete === true,
      // A filter that is replaced counts from the next frame on.
      accept: (bus, src, pgn) => session.live.accept(bus, src, pgn),
      archived,
      ...(missing && { missing, unclean: missing }),
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
    session.state = { kind: "streaming", stream, reader };
    if (!session.wasRead || session.epoch === "older") this.#store?.moved(session);
    session.wasRead = true;
    if (this.#isStopped) stream.end({ code: "stopped" });
    else if (session.epoch === "older") {
      session.epoch = "told";
      stream.end({ code: "new_epoch" });
    } else {
      session.epoch = "current";
      if (isInside) missing?.({ fromSeq: range.from, toSeq: range.to, reason: "restart" });
    }
    return stream;
  }

  /** Removes sessions whose client has been away for too long. To be called now and then. */
  runHousekeeping(): void {
    const { head } = this.#options.source;
    for (const session of [...this.#sessions.values()]) {
      if (session.slot) this.#slotLog.look(slotStateOf(session), head);
      this.#expire(session);
    }
  }

  /** Numbers begin again at 1: every session begins with the first of them, and its client is told. */
  newEpoch(epoch: string): void {
    this.#epoch = epoch;
    for (const session of this.#sessions.values()) {
      session.cursor = 1;
      session.epoch = session.state.kind === "idle" ? "older" : "told";
      this.#endStream(session, { code: "new_epoch" });
      this.#store?.moved(session);
    }
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

  /** Resolves when what has changed so far is on disk, or could not be written. */
  async written(): Promise<void> {
    await this.#store?.written();
  }

  /** Ends every stream, and writes down what there is. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const session of this.#sessions.values()) {
      this.#endStream(session, { code: "stopped" });
      session.live.close();
    }
    await this.#store?.close();
  }

  async #restore(): Promise<void> {
    const { source, slots = [] } = this.#options;
    const stored = new Map((await this.#store?.read() ?? []).map((session) => [session.id, session]));
    for (const slot of slots) this.#add({ ...slot, number: stored.get(slot.id)?.number }, slot);
    for (const { id, cursor, wasRead, ...kept } of stored.values()) {
      const session = this.#sessions.get(id) ?? this.#add({ id, ...kept });
      session.wasRead = wasRead;
      if (cursor === undefined) session.epoch = "older";
      session.cursor = cursor === undefined ? 1 : Math.min(cursor, source.head + 1);
    }
  }

  #add({ id, number, owner, network, filter, timeoutMs }: NewSession, slot?: Slot): Session {
    const { source, clock, limits, slotsFrom } = this.#options;
    const session: Session = {
      id,
      number: number ?? this.#store?.newNumber() ?? 0,
      slot,
      owner: slot ? undefined : owner,
      network,
      filter,
      timeoutMs: Math.min(timeoutMs, limits().maxTimeoutMs),
      cursor: (slot && slotsFrom) ?? source.head + 1,
      wasRead: false,
      readThrough: 0,
      epoch: "current",
      live: this.#follow(filter),
      state: { kind: "idle", sinceMs: clock.monoMs() },
    };
    this.#sessions.set(id, session);
    if (!slot) this.#owners.add(session);
    if (number === undefined) this.#store?.defined(session);
    return session;
  }

  /** Ends a session that gives way to a new one, where there is no room. */
  #makeRoom(client: SessionClient): void {
    this.runHousekeeping();
    this.#replace(this.#owners.giveWay(client, this.#options.limits()));
  }

  /** A session of nobody belongs to the token that puts it; who else reads it is told. */
  #claim(session: Session, client: SessionClient): void {
    const { slot, owner, state } = session;
    if (slot || owner !== undefined || client.token === undefined) return;
    this.#replace(this.#owners.oldestOwn(client, this.#options.limits()));
    this.#owners.delete(session);
    session.owner = client.token;
    this.#owners.add(session);
    if (state.kind === "streaming" && state.reader !== client.token) state.stream.end({ code: "superseded" });
    this.#store?.defined(session);
  }

  #replace(session: Session | undefined): void {
    if (!session) return;
    const { id, owner, network } = session;
    this.#options.log.info("session replaced before it was read", { client: id, owner, network });
    this.#owners.figures.replaced++;
    this.#remove(session);
  }

  #change(session: Session, { filter, timeoutMs }: SessionWish): void {
    const isSame = JSON.stringify([filter, timeoutMs]) === JSON.stringify([session.filter, session.timeoutMs]);
    if (isSame) return;
    session.live.close();
    session.live = this.#follow(filter);
    session.filter = filter;
    session.timeoutMs = timeoutMs;
    this.#store?.defined(session);
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
    if (!session) throw new SessionError("missing", noSession(id));
    return session;
  }

  #expire(session: Session | undefined): void {
    if (session?.state.kind !== "idle") return;
    const { clock, log, source } = this.#options;
    if (clock.monoMs() - session.state.sinceMs < session.timeoutMs) return;
    if (session.slot) this.#slotLog.expired(slotStateOf(session), source.head);
    else log.info("session has expired", { client: session.id, cursor: session.cursor });
    this.#remove(session);
  }

  #remove(session: Session): void {
    session.live.close();
    this.#sessions.delete(session.id);
    this.#owners.delete(session);
    this.#store?.defined(session);
    if (session.slot) this.#add(session.slot, session.slot);
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

  #stored({ id, number }: SessionKey): StoredSession | undefined {
    const session = this.#sessions.get(id);
    return session?.number === number ? storedOf(session) : undefined;
  }
}
