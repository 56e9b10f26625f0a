import type { Clock, Logger } from "../../base/mod.ts";
import type { JournalIndex } from "../../journal/mod.ts";
import { type HandshakeRequest, type Range, Ranges, RpcError } from "../../replication/mod.ts";
import { ContentCheck } from "../files/block_check.ts";
import type { Note } from "../state/diagnostic_events.ts";
import type { InstanceRecord } from "./record.ts";
import type { InstanceSettings } from "./settings.ts";
import type { Received } from "../state/received.ts";

/** Health reports a refused machine for this time, milliseconds. */
const REFUSED_SHOWN_MS = 3_600_000;
/** A stream without messages for this time may belong to a lost connection: boats send a status every 5 s. Milliseconds. */
export const ACTIVE_MS = 10_000;

/** Dependencies of a {@linkcode CopyDetector}. */
export interface CopyDetectorOptions {
  id: string;
  record: InstanceRecord;
  note: Note;
  settings: () => Pick<InstanceSettings, "copyRefuseMs">;
  clock: Clock;
  log: Logger;
}

/** What a handshake is compared with. */
interface Context {
  index: Pick<JournalIndex, "locations" | "reader">;
  isStreaming: boolean;
  isOwn: boolean;
}

/** The connection with the newest handshake. */
interface Newest {
  connection: string | undefined;
  /** Time of the boat's last message before this connection, milliseconds since 1970. */
  seenBeforeMs: number | undefined;
  /** True if it supports digests. */
  hasDigests: boolean;
  trust: Trust;
}

/**
 * Whether a connection's declarations are accepted: once it has proven that it has the stored frames, or when it cannot
 * prove it and opens a stream.
 */
type Trust = { kind: "unknown" } | { kind: "asked"; request: HandshakeRequest } | { kind: "accepted" };

/**
 * Distinguishes a boat from a copy of it: a copied disk or a restored image has the epoch of the original, but other frames
 * with the same numbers. A connection proves with digests that it has the stored frames.
 */
export class CopyDetector {
  readonly #options: CopyDetectorOptions;
  readonly #content = new ContentCheck();
  #newest: Newest = { connection: undefined, seenBeforeMs: undefined, hasDigests: false, trust: { kind: "unknown" } };
  /** A stream has sent frames that differ from stored ones with the same numbers. */
  #contested: { epoch: string; reason: string } | undefined;
  #refused: { reason: string; atMs: number } | undefined;

  constructor(options: CopyDetectorOptions) {
    this.#options = options;
  }

  /** Why a machine was refused within the last hour; undefined: none was. */
  get refused(): string | undefined {
    if (!this.#refused || this.#options.clock.monoMs() - this.#refused.atMs > REFUSED_SHOWN_MS) return undefined;
    return this.#refused.reason;
  }

  /** Records a refusal for health. */
  noteRefused(reason: string): void {
    this.#refused = { reason, atMs: this.#options.clock.monoMs() };
  }

  /**
   * Compares the boat's recorded frames with the stored ones.
   *
   * @param options.isSame true if the boat's epoch is the stored one
   * @param options.isStreaming true if another connection of the boat has an open stream
   * @param options.isOwn true if this connection has an open stream: its declarations were accepted before
   * @returns true if the declarations may be accepted; false: the boat must prove that it has the newest stored frame
   * @throws {RpcError} the frames differ; `FAILED_PRECONDITION`: the original is connected, or was within `copyRefuseMs`;
   * `ALREADY_EXISTS`: the boat must begin a new epoch
   */
  async check(
    request: HandshakeRequest,
    { connection, isSame, ...context }: Context & { connection: string; isSame: boolean },
  ): Promise<boolean> {
    const hasDigests = request.features.includes("digest");
    const { lastSeenMs: seenBeforeMs } = this.#options.record;
    if (connection === this.#newest.connection) this.#newest.hasDigests = hasDigests;
    else this.#newest = { connection, seenBeforeMs, hasDigests, trust: { kind: "unknown" } };
    if (!isSame || await this.#requireSame(request, context) || !hasDigests) return true;
    const { trust } = this.#newest;
    if (trust.kind === "unknown") this.#newest.trust = { kind: "asked", request };
    else if (trust.kind === "asked") this.#requireProof(request, context);
    return trust.kind !== "unknown";
  }

  /** The declarations of a connection are accepted. */
  accept(connection: string): void {
    if (connection === this.#newest.connection) this.#newest.trust = { kind: "accepted" };
  }

  /** The handshake of a connection that was asked for a proof; undefined for others. */
  unprovenRequest(connection: string): HandshakeRequest | undefined {
    const { trust } = this.#newest;
    return connection === this.#newest.connection && trust.kind === "asked" ? trust.request : undefined;
  }

  /**
   * Prevents a connection that has not proven the newest stored frame from ending the streams of another one.
   *
   * @throws {RpcError} another connection streams
   */
  requireAlone({ isStreaming }: Pick<Context, "isStreaming">): void {
    if (!isStreaming || this.#absentMs >= ACTIVE_MS) return;
    throw this.#refusal(`frame ${this.#options.record.received.last} is here and was not shown`, { isStreaming });
  }

  /** True if the boat has proven the newest stored frame that it claims to have, or if there is none. */
  async #requireSame(request: HandshakeRequest, { index, isStreaming, isOwn }: Context): Promise<boolean> {
    const { record } = this.#options;
    const { epoch, received, blockEpoch } = record;
    // Boats with other software may restart at 1 without declaring a new epoch.
    if (epoch === undefined || blockEpoch === undefined) return true;
    const { digests = [], headSeq } = request;
    const newest = received.last;
    // While the store does not answer, only frames on this machine are compared: the boat would wait for it again.
    const away = record.knowsHoles() ? undefined : record.storedOf(epoch);
    const holds = (seqs: Range) => received.hasAll(seqs) && !away?.intersect(new Ranges([seqs])).count;
    const verdict = await this.#content.compare(digests, { index, epoch, holds });
    if (verdict.kind === "different") {
      const { firstSeq, lastSeq } = verdict;
      throw this.#refusal(`frames ${firstSeq} to ${lastSeq} are here with other content`, { isStreaming });
    }
    // Its own stream may have delivered more frames since it sent this request.
    if (!isOwn && headSeq < newest && (this.#newest.hasDigests || this.#isReserved(isStreaming))) {
      throw this.#refusal(`the boat is at ${headSeq}, and frames up to ${newest} are here`, { isStreaming });
    }
    const isShown = verdict.throughSeq >= newest;
    if (isShown || this.#contested?.epoch !== epoch) this.#contested = undefined;
    if (this.#contested) throw this.#refusal(this.#contested.reason, { isStreaming });
    if (isShown || isOwn) return true;
    const claimed = newestClaimed(received, request);
    if (claimed === 0 || verdict.throughSeq < claimed) return false;
    // A power cut deleted the newer frames, or this machine never had them: an image of a running machine looks the same.
    this.requireAlone({ isStreaming });
    return true;
  }

  /** For a machine that has not proven the newest frame when asked: that is all it can read, but it must prove some frame. */
  #requireProof({ digests = [], ...request }: HandshakeRequest, { isStreaming }: Context): void {
    const { oldestSeq } = request;
    const claimed = newestClaimed(this.#options.record.received, request);
    // It has no digests of deleted frames.
    const hasAny = oldestSeq > 0 && oldestSeq <= claimed;
    if (hasAny && digests.length === 0) {
      throw this.#refusal(`frames up to ${claimed} are here, and the boat can show none of them`, { isStreaming });
    }
    this.requireAlone({ isStreaming });
  }

  /**
   * A stream has sent frames that differ from stored ones with the same numbers. The sender is refused until it proves that
   * it has the stored frames, or begins a new epoch.
   *
   * @returns error to end its streams with; undefined: the boat does not support digests and could not prove anything
   */
  contest(reason: string): RpcError | undefined {
    const { epoch } = this.#options.record;
    if (epoch === undefined || !this.#newest.hasDigests) return undefined;
    this.#contested = { epoch, reason };
    this.#refuse(reason);
    return new RpcError("FAILED_PRECONDITION", reason);
  }

  #refusal(reason: string, { isStreaming }: { isStreaming: boolean }): RpcError {
    this.#refuse(reason);
    if (!this.#isReserved(isStreaming)) return new RpcError("ALREADY_EXISTS", `${reason}: begin a new epoch`);
    const last = isStreaming
      ? "streams now"
      : `was here ${Math.max(0, Math.round(this.#absentMs / 60_000))} minutes ago`;
    return new RpcError("FAILED_PRECONDITION", `${reason}: two machines may be this boat, and the other one ${last}`);
  }

  /** Resets the time of the last message: a refused machine must not make the original look connected. */
  #refuse(reason: string): void {
    const { id, record, note, log } = this.#options;
    if (this.#newest.seenBeforeMs !== undefined) record.lastSeenMs = this.#newest.seenBeforeMs;
    this.noteRefused(reason);
    note("checkpoint", `refused: ${reason}`);
    log.warn("a boat is refused", { id, reason });
  }

  /** True if the identity is reserved for the original: it streams, or was connected recently. */
  #isReserved(isStreaming: boolean): boolean {
    return isStreaming || this.#absentMs <= this.#options.settings().copyRefuseMs;
  }

  /** Time since the boat's last message before the newest connection. */
  get #absentMs(): number {
    const { seenBeforeMs } = this.#newest;
    return seenBeforeMs === undefined ? Infinity : Math.floor(this.#options.clock.wallUs() / 1000) - seenBeforeMs;
  }
}

/** The newest stored number that the boat has declared neither void nor lost; 0: none. */
function newestClaimed(
  received: Pick<Received, "lastWithout">,
  { void: skipped, lost }: Pick<HandshakeRequest, "void" | "lost">,
): number {
  return received.lastWithout(new Ranges([...skipped, ...lost]));
}
