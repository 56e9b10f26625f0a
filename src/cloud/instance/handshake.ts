import type { Clock, Logger } from "../../base/mod.ts";
import { MAX_BUSES } from "../../journal/mod.ts";
import { type HandshakeRequest, type HandshakeResponse, RpcError } from "../../replication/mod.ts";
import type { Note } from "../state/diagnostic_events.ts";
import type { InstanceFormer } from "./former.ts";
import type { InstanceJournal } from "./journal.ts";
import type { InstanceMachines } from "./machines.ts";
import type { InstanceRecord } from "./record.ts";
import type { InstanceSessions } from "./sessions.ts";
import type { InstanceSettings } from "./settings.ts";
import type { InstanceStores } from "./stores.ts";
import type { EpochVerdict } from "../state/received_epochs.ts";

/** What handshakes of one boat are made with. */
export interface InstanceHandshakesOptions {
  id: string;
  record: InstanceRecord;
  stores: InstanceStores;
  sessions: InstanceSessions;
  machines: InstanceMachines;
  former: InstanceFormer;
  settings: () => InstanceSettings;
  /** Notes what happened. */
  note: Note;
  /** The boat was heard of. */
  heard: () => void;
  /** What is known of it has changed. */
  changed: () => void;
  clock: Clock;
  log: Logger;
}

/** Handshakes of one boat: whether it is the boat, what it has, and what is wanted of it. */
export class InstanceHandshakes {
  readonly #options: InstanceHandshakesOptions;

  constructor(options: InstanceHandshakesOptions) {
    this.#options = options;
  }

  /**
   * Answers a handshake.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: another machine may be this boat
   */
  async answer(
    request: HandshakeRequest,
    { connection, journal }: { connection: string; journal: InstanceJournal },
  ): Promise<HandshakeResponse> {
    const { record, machines, sessions, note } = this.#options;
    const known = record.epoch !== undefined;
    const verdict = record.decide(request);
    if (verdict.kind === "clone") {
      note("checkpoint", `refused: ${verdict.reason}`);
      machines.noteRefused(verdict.reason);
      throw new RpcError("FAILED_PRECONDITION", verdict.reason);
    }
    const isStreaming = sessions.isOpenElsewhere(connection);
    const isOwn = sessions.isOpenBy(connection);
    const isSame = verdict.kind === "same";
    const isMet = await machines.meet(request, { connection, index: journal.index, isSame, isStreaming, isOwn });
    return isMet
      ? await this.accept(request, { connection, known, verdict })
      : await this.#draft(request, { connection, known });
  }

  /** Takes the boat's word. */
  async accept(
    request: HandshakeRequest,
    { connection, known, verdict }: { connection: string; known: boolean; verdict: EpochVerdict },
  ): Promise<HandshakeResponse> {
    const { id, record, stores, sessions, machines, settings, heard, changed, clock, log } = this.#options;
    machines.accept(connection);
    const busesBefore = stores.buses;
    record.nameBuses(request.busNames.slice(0, MAX_BUSES));
    if (verdict.kind === "new") await this.#beginEpoch(request, { reason: verdict.reason, busesBefore });
    else if (busesBefore.join("\n") !== stores.buses.join("\n")) await stores.useBuses();
    const leftOut = record.declare(request);
    if (leftOut > 0) log.warn("a boat tells of too many gaps", { id, leftOut });
    heard();
    sessions.greet(connection, clock.monoMs());
    stores.replica?.source.changed();
    changed();
    stores.settle();
    const lastLive = stores.journal?.lastLive ?? 0;
    const response = record.answer(request, { known, lastLive, settings: settings() });
    return await this.#withFormer(response, { request, connection });
  }

  /** Answers a machine that has not shown yet that it has what is here: nothing of its word is taken. */
  #draft(
    request: HandshakeRequest,
    { connection, known }: { connection: string; known: boolean },
  ): Promise<HandshakeResponse> {
    const { record, stores, sessions, settings, clock } = this.#options;
    sessions.greet(connection, clock.monoMs());
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
    sessions.startOver(new RpcError("ABORTED", "the boat's numbers have begun again"));
    const { epoch: former } = record;
    const left = record.beginEpoch(request, (count) => crypto.getRandomValues(new Uint8Array(count)));
    log.info("a boat's numbers begin", { id, epoch: record.epoch, reason });
    const isToCome = request.features.includes("former");
    if (left > 0 && !isToCome) {
      log.warn("frames of a boat's former numbers never came", { id, epoch: former, frames: left });
    }
    const what = isToCome ? "are still to come" : "never came, and stay on the boat";
    const rest = left > 0 ? `; ${left} frames of epoch ${former} ${what}` : "";
    note("checkpoint", `epoch ${record.epoch} begins: ${reason}${rest}`);
    await stores.beginEpoch(busesBefore);
  }
}
