import { pause } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { FallenBehindError, FrameCursor } from "./cursor.ts";
import { followDevices, type LiveFilter, RecordedFilter } from "./filters.ts";
import type { StoredSession } from "./session_file.ts";
import { type SessionFigures, SessionOwners } from "./session_owners.ts";
import {
  largestLagOf,
  type NewSession,
  noSessionMessage,
  readThroughOf,
  type Session,
  type SessionClient,
  SessionError,
  type SessionRequest,
  type SessionsOptions,
  type SessionStreamOptions,
  type SessionView,
  type Slot,
  slotStateOf,
  storedOf,
  syncThrough,
  viewOf,
} from "./session_types.ts";
import { type SessionKey, SessionStore } from "./session_store.ts";
import { SessionStream, type StreamEnd } from "./session_stream.ts";
import { SlotLog } from "./slot_log.ts";

/** Default client: may use every session. */
const ANY_CLIENT: SessionClient = { token: undefined, isAdmin: true, network: "" };

/** Named positions of clients: each client continues after the last frame that it has acknowledged. */
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

  /** Restores the stored sessions and creates the slots. Time while the server was down does not count as inactivity. */
  static async open(options: SessionsOptions): Promise<Sessions> {
    const sessions = new Sessions(options);
    await sessions.#restore();
    return sessions;
  }

  /** Number of sessions, slots included. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Epoch of the sequence numbers; empty where there is none. */
  get epoch(): string {
    return this.#epoch;
  }

  /** Number of sessions with a connected client. */
  get streaming(): number {
    return this.#sessions.values().reduce((sum, { state }) => sum + (state.kind === "streaming" ? 1 : 0), 0);
  }

  /** Largest number of unread frames of a connected client, whether or not its filter accepts them. */
  get largestLag(): number {
    return largestLagOf(this.#sessions.values(), this.#options.source.head);
  }

  /** Counts of replaced and refused sessions since the start. */
  get figures(): Readonly<SessionFigures> {
    return this.#owners.figures;
  }

  /** Name of the token that owns a session; undefined: no owner, or no such session. */
  ownerOf(id: string): string | undefined {
    this.#expire(this.#sessions.get(id));
    return this.#sessions.get(id)?.owner;
  }

  /**
   * Creates a session that begins with the next frame, or changes the filter and timeout of an existing one. A session
   * without an owner becomes that of the client's token.
   *
   * @throws {SessionError} `full`, `owner-full`
   */
  put(id: string, { client = ANY_CLIENT, ...request }: SessionRequest & { client?: SessionClient }): SessionView {
    const timeoutMs = Math.min(request.timeoutMs, this.#options.limits().maxTimeoutMs);
    this.#expire(this.#sessions.get(id));
    const known = this.#sessions.get(id);
    if (known) this.#takeOwnership(known, client);
    else this.#ensureCapacity(client);
    const session = known ?? this.#create({ ...request, id, timeoutMs, owner: client.token, network: client.network });
    if (known) this.#change(known, { filter: request.filter, timeoutMs });
    if (session.epoch !== "current") this.#store?.positionChanged(session);
    session.epoch = "current";
    this.#restartTimeout(session);
    return viewOf(session);
  }

  /** @throws {SessionError} `missing` */
  get(id: string): SessionView {
    return viewOf(this.#find(id));
  }

  /**
   * Deletes a session and ends its stream; a slot is reset.
   *
   * @throws {SessionError} `missing`
   */
  delete(id: string): void {
    const session = this.#find(id);
    this.#endStream(session, { code: "deleted" });
    this.#remove(session);
  }

  /**
   * Moves the cursor to the number after `seq` once the frames up to `seq` are synced to disk. A number below the
   * cursor has no effect.
   *
   * @throws {SessionError} `missing`, `ahead`; `not_durable`: the frames could not be synced, the cursor is unchanged
   */
  async ack(id: string, seq: number): Promise<void> {
    const session = this.#find(id);
    this.#restartTimeout(session);
    // The acknowledged number belongs to an older epoch.
    if (session.epoch !== "current") return;
    const { source } = this.#options;
    if (seq > source.head) {
      throw new SessionError("ahead", `No frame has number ${seq} yet: the newest is ${source.head}`);
    }
    const epoch = this.#epoch;
    await syncThrough(seq, this.#options.journal);
    // The session may have been deleted, or a new epoch begun, during the sync.
    if (epoch !== this.#epoch || this.#sessions.get(id) !== session) return;
    if (seq < session.cursor && session.wasRead) return;
    session.cursor = Math.max(session.cursor, seq + 1);
    session.wasRead = true;
    this.#store?.positionChanged(session);
  }

  /**
   * Checks that a stream can be opened, without opening it.
   *
   * @throws {SessionError} `missing`
   * @throws {FallenBehindError} frames from the cursor on have been deleted
   */
  checkReadable(id: string): void {
    const session = this.#find(id);
    const { source, log } = this.#options;
    const { cursor } = session;
    if (session.epoch === "older" || !source.hasFallenBehind(cursor)) return;
    const error = new FallenBehindError(source.oldestSeq);
    log.warn("session has fallen behind", { client: id, error: error.name, next: cursor, oldestSeq: error.oldestSeq });
    throw error;
  }

  /**
   * Opens a stream from the cursor on, and ends the stream that was open.
   *
   * @throws {SessionError} `missing`
   */
  stream(id: string, { ended, missing, reader }: SessionStreamOptions): SessionStream {
    const session = this.#find(id);
    this.#endStream(session, { code: "superseded" });
    const { source, log } = this.#options;
    const archived = new RecordedFilter(session.filter);
    const { uncleanRange: range } = source.archive ?? {};
    // The client may have received other frames with these numbers, lost in the unclean stop, whatever it has acknowledged.
    const isUnclean = range !== undefined && range.from <= session.cursor && session.cursor <= range.to;
    const cursor = new FrameCursor({
      source,
      fromSeq: isUnclean ? range.to + 1 : session.cursor,
      // An address may have belonged to another device when the frame was recorded.
      archiveOnly: archived.usesDevices && source.archive?.isComplete === true,
      // A new filter applies from the next frame on.
      accept: (bus, src, pgn) => session.live.accept(bus, src, pgn),
      archived,
      ...(missing && { missing, unclean: missing }),
    });
    const stream: SessionStream = new SessionStream(id, {
      cursor,
      log,
      ended: (how) => {
        session.readThrough = Math.max(session.readThrough, stream.readThrough);
        if (session.state.kind === "streaming" && session.state.stream === stream) this.#setIdle(session);
        ended(how);
      },
    });
    session.state = { kind: "streaming", stream, reader };
    if (!session.wasRead || session.epoch === "older") this.#store?.positionChanged(session);
    session.wasRead = true;
    if (this.#isStopped) stream.end({ code: "stopped" });
    else if (session.epoch === "older") {
      session.epoch = "reported";
      stream.end({ code: "new_epoch" });
    } else {
      session.epoch = "current";
      if (isUnclean) missing?.({ fromSeq: range.from, toSeq: range.to, reason: "restart" });
    }
    return stream;
  }

  /** Removes sessions that have timed out. To be called periodically. */
  runHousekeeping(): void {
    const { head } = this.#options.source;
    for (const session of [...this.#sessions.values()]) {
      if (session.slot) this.#slotLog.update(slotStateOf(session), head);
      this.#expire(session);
    }
  }

  /** Starts a new epoch: every session is reset to number 1, and its stream is ended with `new_epoch`. */
  newEpoch(epoch: string): void {
    this.#epoch = epoch;
    for (const session of this.#sessions.values()) {
      session.cursor = 1;
      session.epoch = session.state.kind === "idle" ? "older" : "reported";
      this.#endStream(session, { code: "new_epoch" });
      this.#store?.positionChanged(session);
    }
  }

  /**
   * Waits until every client has read all frames or its session has timed out. A connected client that reads nothing is
   * given up after `patienceMs`. Polls every `everyMs`.
   */
  async drained({ everyMs, patienceMs }: { everyMs: number; patienceMs: number }): Promise<void> {
    const { clock } = this.#options;
    const waiting = new Map(
      [...this.#sessions.values()].map((session) => [session, { through: 0, sinceMs: clock.monoMs() }]),
    );
    for (;;) {
      const nowMs = clock.monoMs();
      for (const [session, seen] of waiting) {
        const through = readThroughOf(session);
        if (through > seen.through || session.state.kind === "idle") waiting.set(session, { through, sinceMs: nowMs });
        if (!this.#isUnread(session) || nowMs - seen.sinceMs > patienceMs) waiting.delete(session);
      }
      if (waiting.size === 0 || this.#isStopped) return;
      await pause(everyMs);
    }
  }

  /** Resolves when all changes are on disk or writing has failed. */
  async written(): Promise<void> {
    await this.#store?.written();
  }

  /** Ends every stream and writes the sessions to disk. */
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
    for (const slot of slots) this.#create({ ...slot, number: stored.get(slot.id)?.number }, slot);
    for (const { id, cursor, wasRead, ...kept } of stored.values()) {
      const session = this.#sessions.get(id) ?? this.#create({ id, ...kept });
      session.wasRead = wasRead;
      if (cursor === undefined) session.epoch = "older";
      session.cursor = cursor === undefined ? 1 : Math.min(cursor, source.head + 1);
    }
  }

  #create({ id, number, owner, network, filter, timeoutMs }: NewSession, slot?: Slot): Session {
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
    if (number === undefined) this.#store?.definitionChanged(session);
    return session;
  }

  /** Replaces a session when a limit is reached. */
  #ensureCapacity(client: SessionClient): void {
    this.runHousekeeping();
    this.#replace(this.#owners.sessionToReplace(client, this.#options.limits()));
  }

  /** Makes the client the owner of a session without one, and ends a stream of another reader. */
  #takeOwnership(session: Session, client: SessionClient): void {
    const { slot, owner, state } = session;
    if (slot || owner !== undefined || client.token === undefined) return;
    this.#replace(this.#owners.ownSessionToReplace(client, this.#options.limits()));
    this.#owners.delete(session);
    session.owner = client.token;
    this.#owners.add(session);
    if (state.kind === "streaming" && state.reader !== client.token) state.stream.end({ code: "superseded" });
    this.#store?.definitionChanged(session);
  }

  #replace(session: Session | undefined): void {
    if (!session) return;
    const { id, owner, network } = session;
    this.#options.log.info("session replaced before it was read", { client: id, owner, network });
    this.#owners.figures.replaced++;
    this.#remove(session);
  }

  #change(session: Session, { filter, timeoutMs }: SessionRequest): void {
    const isSame = JSON.stringify([filter, timeoutMs]) === JSON.stringify([session.filter, session.timeoutMs]);
    if (isSame) return;
    session.live.close();
    session.live = this.#follow(filter);
    session.filter = filter;
    session.timeoutMs = timeoutMs;
    this.#store?.definitionChanged(session);
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
    if (!session) throw new SessionError("missing", noSessionMessage(id));
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
    this.#store?.definitionChanged(session);
    if (session.slot) this.#create(session.slot, session.slot);
  }

  #restartTimeout(session: Session): void {
    if (session.state.kind === "idle") this.#setIdle(session);
  }

  #setIdle(session: Session): void {
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
