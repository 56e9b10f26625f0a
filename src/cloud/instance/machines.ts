import type { Clock, Logger } from "../../base/mod.ts";
import type { JournalIndex } from "../../journal/mod.ts";
import { type HandshakeRequest, Ranges, RpcError } from "../../replication/mod.ts";
import { ContentCheck } from "../files/content_check.ts";
import type { Note } from "../state/diagnostic_events.ts";
import type { InstanceRecord } from "./record.ts";
import type { InstanceSettings } from "./settings.ts";
import type { Received } from "../state/received.ts";

/** Health reports a refused machine for so long, milliseconds. */
const REFUSED_SHOWN_MS = 3_600_000;
/** A stream that nothing came of for so long may be of a connection that is gone: boats send a status every 5 s. */
export const ACTIVE_MS = 10_000;

/** What it is checked with which machine a boat is. */
export interface InstanceMachinesOptions {
  id: string;
  record: InstanceRecord;
  /** Notes what happened. */
  note: Note;
  settings: () => Pick<InstanceSettings, "copyRefuseMs">;
  clock: Clock;
  log: Logger;
}

/** What a handshake is compared with. */
interface Found {
  index: Pick<JournalIndex, "places">;
  isStreaming: boolean;
  isOwn: boolean;
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
    if (!this.#refused || this.#options.clock.monoMs() - this.#refused.atMs > REFUSED_SHOWN_MS) return undefined;
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
   * @param options.isOwn whether this connection streams now: its word was taken before
   * @returns whether its word may be taken; false: it is asked to show that the newest frame that is here is its own
   * @throws {RpcError} it differs; `FAILED_PRECONDITION`: the original is here, or was within `copyRefuseMs`;
   * `ALREADY_EXISTS`: the boat is to begin a new epoch
   */
  async meet(
    request: HandshakeRequest,
    { connection, isSame, ...found }: Found & { connection: string; isSame: boolean },
  ): Promise<boolean> {
    const tells = request.features.includes("digest");
    const { lastSeenMs: heardBeforeMs } = this.#options.record;
    if (connection === this.#newest.connection) this.#newest.tells = tells;
    else this.#newest = { connection, heardBeforeMs, tells, standing: { kind: "unknown" } };
    if (!isSame || await this.#requireSame(request, found) || !tells) return true;
    const { standing } = this.#newest;
    if (standing.kind === "unknown") this.#newest.standing = { kind: "asked", request };
    else if (standing.kind === "asked") this.#requireProof(request, found);
    return standing.kind !== "unknown";
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

  /**
   * A connection that has not shown the newest frame that is here may not end the streams of another one.
   *
   * @throws {RpcError} another connection streams
   */
  requireAlone({ isStreaming }: Pick<Found, "isStreaming">): void {
    if (!isStreaming || this.#agoMs >= ACTIVE_MS) return;
    throw this.#refusal(`frame ${this.#options.record.received.last} is here and was not shown`, { isStreaming });
  }

  /** Whether it has shown the newest frame that is here, of those that it says it has; true where there is none. */
  async #requireSame(request: HandshakeRequest, { index, isStreaming, isOwn }: Found): Promise<boolean> {
    const { record: { epoch, received, blockEpoch } } = this.#options;
    // Boats of other software may count from 1 again without telling.
    if (epoch === undefined || blockEpoch === undefined) return true;
    const { digests = [], headSeq } = request;
    const newest = received.last;
    const verdict = await this.#content.compare(digests, { index, epoch, holds: (seqs) => received.hasAll(seqs) });
    if (verdict.kind === "different") {
      const { firstSeq, lastSeq } = verdict;
      throw this.#refusal(`frames ${firstSeq} to ${lastSeq} are here with other content`, { isStreaming });
    }
    // Its own stream may have brought more since it sent this.
    if (!isOwn && headSeq < newest && (this.#newest.tells || this.#isKept(isStreaming))) {
      throw this.#refusal(`the boat is at ${headSeq}, and frames up to ${newest} are here`, { isStreaming });
    }
    const isShown = verdict.throughSeq >= newest;
    if (isShown || this.#contested?.epoch !== epoch) this.#contested = undefined;
    if (this.#contested) throw this.#refusal(this.#contested.reason, { isStreaming });
    if (isShown || isOwn) return true;
    const claimed = newestClaimed(received, request);
    if (claimed === 0 || verdict.throughSeq < claimed) return false;
    // A power cut took the rest, or it never had it: an image of a running machine looks the same.
    this.requireAlone({ isStreaming });
    return true;
  }

  /** A machine that was asked has shown less than the newest frame. That is all it can read, so it has to show something. */
  #requireProof({ digests = [], ...request }: HandshakeRequest, { isStreaming }: Found): void {
    const { oldestSeq } = request;
    const claimed = newestClaimed(this.#options.record.received, request);
    // What it has deleted it cannot show.
    const hasAny = oldestSeq > 0 && oldestSeq <= claimed;
    if (hasAny && digests.length === 0) {
      throw this.#refusal(`frames up to ${claimed} are here, and the boat can show none of them`, { isStreaming });
    }
    this.requireAlone({ isStreaming });
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
    if (!this.#isKept(isStreaming)) return new RpcError("ALREADY_EXISTS", `${reason}: begin a new epoch`);
    const last = isStreaming ? "streams now" : `was here ${Math.max(0, Math.round(this.#agoMs / 60_000))} minutes ago`;
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

  /** Whether the identity is kept for the original: it streams, or was heard of lately. */
  #isKept(isStreaming: boolean): boolean {
    return isStreaming || this.#agoMs <= this.#options.settings().copyRefuseMs;
  }

  /** When the boat was last heard of before the newest connection came. */
  get #agoMs(): number {
    const { heardBeforeMs } = this.#newest;
    return heardBeforeMs === undefined ? Infinity : Math.floor(this.#options.clock.wallUs() / 1000) - heardBeforeMs;
  }
}

/** The highest number whose frame is here, of those that the boat does not say it has none of; 0: none. */
function newestClaimed(
  received: Pick<Received, "lastWithout">,
  { void: never, lost }: Pick<HandshakeRequest, "void" | "lost">,
): number {
  return received.lastWithout(new Ranges([...never, ...lost]));
}
