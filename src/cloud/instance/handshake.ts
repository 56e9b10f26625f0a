import type { Clock, Logger } from "../../base/mod.ts";
import { MAX_BUSES } from "../../journal/mod.ts";
import { type HandshakeRequest, type HandshakeResponse, reconnectRequest, RpcError } from "../../replication/mod.ts";
import type { Note } from "../state/diagnostic_events.ts";
import type { FormerHandshake } from "./former_handshake.ts";
import type { InstanceJournal } from "./journal.ts";
import type { CopyDetector } from "./copy_detector.ts";
import type { InstanceRecord } from "./record.ts";
import type { InstanceSessions } from "./sessions.ts";
import type { InstanceSettings } from "./settings.ts";
import type { InstanceStores } from "./stores.ts";
import type { EpochVerdict } from "../state/received.ts";

/** Dependencies of {@linkcode InstanceHandshakes}. */
export interface InstanceHandshakesOptions {
  id: string;
  record: InstanceRecord;
  stores: InstanceStores;
  sessions: InstanceSessions;
  copyDetector: CopyDetector;
  former: FormerHandshake;
  settings: () => InstanceSettings;
  note: Note;
  /** Called when a handshake is accepted. */
  accepted: () => void;
  clock: Clock;
  log: Logger;
}

/**
 * A boat that was taken while the store was away is left alone for this time, milliseconds: the streams that it has just opened
 * must not end at once.
 */
const SETTLE_MS = 5000;

/** Handshakes of one boat: checks the boat's identity, accepts its declarations, and requests missing frames. */
export class InstanceHandshakes {
  readonly #options: InstanceHandshakesOptions;
  /** Ends the streams of a boat that was taken without what the store has of it. */
  readonly storeAnswers = reconnectRequest("store");
  /** Connection of the last handshake that was answered. */
  #connection = "";
  #answeredMs = -Infinity;

  constructor(options: InstanceHandshakesOptions) {
    this.#options = options;
  }

  /**
   * Answers a handshake.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: two machines may share the boat's identity
   */
  async answer(
    request: HandshakeRequest,
    { connection, journal }: { connection: string; journal: InstanceJournal },
  ): Promise<HandshakeResponse> {
    const { record, copyDetector, sessions, note } = this.#options;
    const known = record.epoch !== undefined;
    const verdict = record.evaluate(request);
    if (verdict.kind === "clone") {
      note("checkpoint", `refused: ${verdict.reason}`);
      copyDetector.noteRefused(verdict.reason);
      throw new RpcError("FAILED_PRECONDITION", verdict.reason);
    }
    const isStreaming = sessions.isOpenElsewhere(connection);
    const isOwn = sessions.isOpenBy(connection);
    const isSame = verdict.kind === "same";
    const { index } = journal;
    this.#connection = connection;
    this.#answeredMs = this.#options.clock.monoMs();
    const isProven = await copyDetector.check(request, { connection, index, isSame, isStreaming, isOwn });
    return isProven
      ? await this.accept(request, { connection, known, verdict })
      : await this.#draft(request, { connection, known });
  }

  /** True if the boat has had time to stream since its last handshake. */
  get isSettled(): boolean {
    return this.#options.clock.monoMs() - this.#answeredMs >= SETTLE_MS;
  }

  /**
   * True if the boat waits for the store. The second handshake of a connection, which proves the boat's frames, does not:
   * what the store has was found out, or the store was away, a moment ago.
   */
  mayList(connection: string): boolean {
    return connection === "" || connection !== this.#connection || this.#options.sessions.isOpen();
  }

  /**
   * True if the boat cannot be answered before the store was listed: it has no digests, takes what it is not asked for as
   * known here, and would begin a new epoch when it has not sent that.
   */
  awaitsStore({ epoch, features }: HandshakeRequest): boolean {
    const { record } = this.#options;
    if (epoch && features.includes("digest")) return false;
    const isSame = !epoch || record.epoch === epoch.toHex();
    return record.isUnlisted || !record.knowsHoles() && (!isSame || record.received.last === 0);
  }

  /** Accepts the boat's declarations, and answers with what the cloud requests. */
  async accept(
    request: HandshakeRequest,
    { connection, known, verdict }: { connection: string; known: boolean; verdict: EpochVerdict },
  ): Promise<HandshakeResponse> {
    const { id, record, stores, sessions, copyDetector, settings, accepted, clock, log } = this.#options;
    copyDetector.accept(connection);
    const busesBefore = stores.buses;
    record.buses = request.busNames.slice(0, MAX_BUSES);
    if (verdict.kind === "new") await this.#beginEpoch(request, { reason: verdict.reason, busesBefore });
    else if (busesBefore.join("\n") !== stores.buses.join("\n")) await stores.useBuses();
    const ignored = record.declare(request);
    if (ignored > 0) log.warn("boat declares too many gaps", { id, ignored });
    sessions.noteHandshake(connection, clock.monoMs());
    stores.replica?.source.changed();
    accepted();
    stores.markDurable();
    const lastLive = stores.journal?.lastLive ?? 0;
    const response = record.answer(request, { known, lastLive, settings: settings() });
    return await this.#withFormer(response, { request, connection });
  }

  /** Answers a machine that has not proven yet that it has the stored frames. None of its declarations is accepted. */
  #draft(
    request: HandshakeRequest,
    { connection, known }: { connection: string; known: boolean },
  ): Promise<HandshakeResponse> {
    const { record, stores, sessions, settings, clock } = this.#options;
    sessions.noteHandshake(connection, clock.monoMs());
    const lastLive = stores.journal?.lastLive ?? 0;
    const response = record.draft(request, { known, lastLive, settings: settings() });
    return this.#withFormer(response, { request, connection });
  }

  async #withFormer(
    response: HandshakeResponse,
    { request, connection }: { request: HandshakeRequest; connection: string },
  ): Promise<HandshakeResponse> {
    const { stores: { journal }, former } = this.#options;
    const formerHoles = journal && await former.answer(request, { index: journal.index, connection });
    return { ...response, ...(formerHoles && { formerHoles }) };
  }

  async #beginEpoch(
    request: HandshakeRequest,
    { reason, busesBefore }: { reason: string; busesBefore: readonly string[] },
  ): Promise<void> {
    const { id, record, stores, sessions, note, log } = this.#options;
    sessions.endAll(new RpcError("ABORTED", "the boat has begun a new epoch"));
    const { epoch: former } = record;
    const missing = record.beginEpoch(request, (count) => crypto.getRandomValues(new Uint8Array(count)));
    log.info("epoch begins", { id, epoch: record.epoch, reason });
    const isSupported = request.features.includes("former");
    if (missing > 0 && !isSupported) {
      log.warn("frames of a former epoch never received", { id, epoch: former, frames: missing });
    }
    const what = isSupported ? "are still to come" : "never came, and stay on the boat";
    const rest = missing > 0 ? `; ${missing} frames of epoch ${former} ${what}` : "";
    note("checkpoint", `epoch ${record.epoch} begins: ${reason}${rest}`);
    await stores.beginEpoch(busesBefore);
  }
}
