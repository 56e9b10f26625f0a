import type { Clock, Logger } from "../base/mod.ts";
import type { JournalIndex } from "../journal/mod.ts";
import { type HandshakeRequest, RpcError } from "../replication/mod.ts";
import { ContentCheck } from "./content_check.ts";
import type { DiagnosticEventType } from "./diagnostic_events.ts";
import type { InstanceRecord } from "./instance_record.ts";

/** So long after a machine was last heard of, another one may not take its place, milliseconds. */
export const ORIGINAL_KEPT_MS = 3_600_000;

/** What it is checked with which machine a boat is. */
export interface InstanceMachinesOptions {
  id: string;
  record: InstanceRecord;
  /** Notes what happened. */
  note: (type: DiagnosticEventType, detail: string) => void;
  clock: Clock;
  log: Logger;
}

/** The connection that made a handshake last. */
interface Newest {
  connection: string | undefined;
  /** When the boat had been heard of before it came, milliseconds since 1970. */
  heardBeforeMs: number | undefined;
  /** Whether it knows digests. */
  tells: boolean;
  standing: Standing;
}

/** Whether a connection's word is taken: when it has shown that it has what is here, or cannot show it and streams. */
type Standing = { kind: "unknown" } | { kind: "asked"; request: HandshakeRequest } | { kind: "accepted" };

/**
 * Tells a copy of a boat from the boat: a copied disk or a restored image has the epoch of the original, and other frames
 * under the same numbers. Who connects shows by digests that it has the frames that are here.
 */
export class InstanceMachines {
  readonly #options: InstanceMachinesOptions;
  readonly #content = new ContentCheck();
  #newest: Newest = { connection: undefined, heardBeforeMs: undefined, tells: false, standing: { kind: "unknown" } };
  /** A stream has brought other frames under numbers that are here. */
  #contested: { epoch: string; reason: string } | undefined;
  #refused: { reason: string; atMs: number } | undefined;

  constructor(options: InstanceMachinesOptions) {
    this.#options = options;
  }

  /** Why another machine was refused within the last hour; undefined: none was. */
  get refused(): string | undefined {
    if (!this.#refused || this.#options.clock.monoMs() - this.#refused.atMs > ORIGINAL_KEPT_MS) return undefined;
    return this.#refused.reason;
  }

  /** Somebody is refused for a reason that was found elsewhere. */
  noteRefused(reason: string): void {
    this.#refused = { reason, atMs: this.#options.clock.monoMs() };
  }

  /**
   * Compares what the boat says it has recorded with what is here.
   *
   * @param options.isSame whether its epoch is the one of what is here
   * @param options.isStreaming whether another connection of the boat streams now
   * @returns whether its word may be taken; false: it is asked to show that the newest frame that is here is its own
   * @throws {RpcError} it differs; `FAILED_PRECONDITION`: the original is here, or was within an hour; `ALREADY_EXISTS`:
   * the boat is to begin a new epoch
   */
  async meet(
    request: HandshakeRequest,
    { connection, index, isSame, isStreaming }: {
      connection: string;
      index: Pick<JournalIndex, "places">;
      isSame: boolean;
      isStreaming: boolean;
    },
  ): Promise<boolean> {
    const tells = request.features.includes("digest");
    const { lastSeenMs: heardBeforeMs } = this.#options.record;
    if (connection === this.#newest.connection) this.#newest.tells = tells;
    else this.#newest = { connection, heardBeforeMs, tells, standing: { kind: "unknown" } };
    const isShown = !isSame || await this.#requireSame(request, { index, isStreaming });
    if (isShown || !tells || this.#newest.standing.kind !== "unknown") return true;
    this.#newest.standing = { kind: "asked", request };
    return false;
  }

  /** The word of a connection is taken. */
  accept(connection: string): void {
    if (connection === this.#newest.connection) this.#newest.standing = { kind: "accepted" };
  }

  /** What a connection has said that was asked to show what it has, and streams now. */
  askedOf(connection: string): HandshakeRequest | undefined {
    const { standing } = this.#newest;
    return connection === this.#newest.connection && standing.kind === "asked" ? standing.request : undefined;
  }

  /** Whether it has shown the newest frame that is here; true where there is none. */
  async #requireSame(
    { digests = [] }: HandshakeRequest,
    { index, isStreaming }: { index: Pick<JournalIndex, "places">; isStreaming: boolean },
  ): Promise<boolean> {
    const { record: { epoch, received, blockEpoch } } = this.#options;
    // Boats of other software may count from 1 again without telling.
    if (epoch === undefined || blockEpoch === undefined) return true;
    const newest = received.last;
    const verdict = await this.#content.compare(digests, { index, epoch, holds: (seqs) => received.hasAll(seqs) });
    if (verdict.kind === "different") {
      const { firstSeq, lastSeq } = verdict;
      throw this.#refusal(`frames ${firstSeq} to ${lastSeq} are here with other content`, { isStreaming });
    }
    const isShown = verdict.throughSeq >= newest;
    if (isShown || this.#contested?.epoch !== epoch) this.#contested = undefined;
    if (this.#contested) throw this.#refusal(this.#contested.reason, { isStreaming });
    return isShown;
  }

  /**
   * A stream brought other frames under numbers that are here. Who sent them is refused from now on, until it shows that it
   * has what is here, or begins a new epoch.
   *
   * @returns what its streams are to end with; undefined: the boat knows no digests, and could not show anything
   */
  contest(reason: string): RpcError | undefined {
    const { epoch } = this.#options.record;
    if (epoch === undefined || !this.#newest.tells) return undefined;
    this.#contested = { epoch, reason };
    this.#refuse(reason);
    return new RpcError("FAILED_PRECONDITION", reason);
  }

  #refusal(reason: string, { isStreaming }: { isStreaming: boolean }): RpcError {
    this.#refuse(reason);
    const { heardBeforeMs } = this.#newest;
    const agoMs = heardBeforeMs === undefined ? Infinity : this.#wallMs() - heardBeforeMs;
    if (!isStreaming && agoMs > ORIGINAL_KEPT_MS) return new RpcError("ALREADY_EXISTS", `${reason}: begin a new epoch`);
    const last = isStreaming ? "streams now" : `was here ${Math.max(0, Math.round(agoMs / 60_000))} minutes ago`;
    return new RpcError("FAILED_PRECONDITION", `${reason}: two machines may be this boat, and the other one ${last}`);
  }

  /** What came of a machine that is refused does not make the original look alive. */
  #refuse(reason: string): void {
    const { id, record, note, log } = this.#options;
    if (this.#newest.heardBeforeMs !== undefined) record.seen(this.#newest.heardBeforeMs);
    this.noteRefused(reason);
    note("checkpoint", `refused: ${reason}`);
    log.warn("a boat is refused", { id, reason });
  }

  #wallMs(): number {
    return Math.floor(this.#options.clock.wallUs() / 1000);
  }
}
