import { errorText, timerMs } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { BROADCAST_ADDRESS, newStoredFrame, NULL_ADDRESS, sourceOfId } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";
import type { Sender, SendGate } from "./send_gate.ts";
import type { OwnAddress } from "./transmit.ts";

/** An ISO request for a PGN. */
export interface Query {
  /** Index of the bus. */
  bus: number;
  pgn: number;
  /** 255: broadcast. */
  dst: number;
  timeoutMs: number;
}

/** Result of a query. */
export type QueryOutcome =
  | { kind: "answered"; seq: number }
  /** Negative acknowledgement: `control` is the code of ISO 11783-3 §5.4.5, 1 to 3. */
  | { kind: "refused"; src: number; control: number }
  | { kind: "timeout" }
  | { kind: "failed"; why: string };

/** Capacity of a query's subscription, frames. */
const WAITING_FRAMES = 256;
/** Priority of an ISO request. */
const REQUEST_PRIORITY = 6;
/** An acknowledgement: control byte, group function, reserved, address, PGN in three bytes. */
const ACKNOWLEDGEMENT_BYTES = 8;
const MAX_NEGATIVE_CONTROL = 3;

/** Options of {@linkcode Queries}. */
export interface QueriesOptions {
  broker: Broker;
  gate: SendGate;
  /** Address of the virtual device. Its messages answer only a query sent to it. */
  address: (bus: number) => OwnAddress;
}

/** Requests PGNs from devices and waits for the first answer. */
export class Queries {
  readonly #options: QueriesOptions;
  /** Resolvers of the queries in progress. */
  readonly #open = new Set<(outcome: QueryOutcome) => void>();

  constructor(options: QueriesOptions) {
    this.#options = options;
  }

  /** Number of queries in progress. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Sends an ISO request and waits for the PGN on that bus: from the requested address, or from any address after a
   * broadcast.
   *
   * @throws {SendError} the request may not be sent
   */
  async ask(query: Query, sender: Sender): Promise<QueryOutcome> {
    const { gate } = this.#options;
    const { promise, resolve } = Promise.withResolvers<QueryOutcome>();
    const stop = this.#watch(query, resolve);
    let isSent = false;
    let isFinished = false;
    const onTimeout = () =>
      resolve(isSent ? { kind: "timeout" } : { kind: "failed", why: "the request was not sent in time" });
    const timer = setTimeout(onTimeout, timerMs(query.timeoutMs));
    this.#open.add(resolve);
    try {
      const { bus, dst, pgn } = query;
      const data = isoRequestPayload(pgn);
      const request = { bus, dst, prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, data, src: undefined, policyPgn: pgn };
      gate.send([request], sender, { isWanted: () => !isFinished }).then(
        () => isSent = true,
        (error: unknown) => resolve({ kind: "failed", why: errorText(error) }),
      );
      return await promise;
    } finally {
      isFinished = true;
      this.#open.delete(resolve);
      clearTimeout(timer);
      stop();
    }
  }

  /** Ends all queries in progress. */
  stop(): void {
    for (const end of this.#open) end({ kind: "failed", why: "the server stops" });
  }

  /** Watches for the answer until stopped. */
  #watch({ bus, dst, pgn }: Query, found: (outcome: QueryOutcome) => void): () => void {
    const { broker, address } = this.#options;
    const isFromTarget = (src: number) => dst === BROADCAST_ADDRESS || src === dst;
    const accept = (onBus: number, src: number, receivedPgn: number) => {
      if (onBus !== bus || !isFromTarget(src)) return false;
      if (receivedPgn === PGN.isoAcknowledgement && dst !== BROADCAST_ADDRESS) return true;
      const own = address(bus);
      const ownSrc = own.kind === "claimed" ? own.src : NULL_ADDRESS;
      return receivedPgn === pgn && (src !== ownSrc || src === dst);
    };
    const frame = newStoredFrame();
    const onFrame = (seq: number) => {
      if (!broker.ring.read(seq, frame)) return;
      const { data, offset, length } = frame;
      if (frame.pgn === pgn) return found({ kind: "answered", seq });
      const control = refusalOf(data.subarray(offset, offset + length), pgn);
      if (control !== undefined) found({ kind: "refused", src: sourceOfId(frame.id), control });
    };
    const subscription = broker.subscribe({
      capacity: WAITING_FRAMES,
      accept,
      wake: () => subscription.drain(onFrame),
    });
    return () => broker.unsubscribe(subscription);
  }
}

/** Control byte of a negative acknowledgement of this PGN; undefined for others. */
function refusalOf(payload: Uint8Array, pgn: number): number | undefined {
  if (payload.length < ACKNOWLEDGEMENT_BYTES) return undefined;
  const [control = 0, , , , , low = 0, middle = 0, high = 0] = payload;
  const isAbout = (low | (middle << 8) | (high << 16)) === pgn;
  return isAbout && control >= 1 && control <= MAX_NEGATIVE_CONTROL ? control : undefined;
}
