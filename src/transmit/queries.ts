import { errorText } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { BROADCAST_ADDRESS, newStoredFrame, NULL_ADDRESS, sourceOfId } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";
import type { Sender, SendGate } from "./send_gate.ts";
import type { OwnAddress } from "./transmit.ts";

/** What is asked of the devices. */
export interface Query {
  /** Index of the bus. */
  bus: number;
  pgn: number;
  /** 255: everybody. */
  dst: number;
  timeoutMs: number;
}

/** What came of it: the number of the frame that answers, or why there is none. */
export type QueryOutcome =
  | { kind: "answered"; seq: number }
  /** The device says no: `control` is the code of ISO 11783-3 §5.4.5, 1 to 3. */
  | { kind: "refused"; src: number; control: number }
  | { kind: "timeout" }
  | { kind: "failed"; why: string };

/** Frames that may wait to be looked at. */
const WAITING_FRAMES = 256;
/** Priority of an ISO request. */
const REQUEST_PRIORITY = 6;
/** An acknowledgement: control byte, group function, reserved, address, PGN in three bytes. */
const ACKNOWLEDGEMENT_BYTES = 8;
const MAX_NEGATIVE_CONTROL = 3;

/** What queries need. */
export interface QueriesOptions {
  broker: Broker;
  gate: SendGate;
  /** Our own address on a bus: what we send ourselves answers only a query for our own device. */
  address: (bus: number) => OwnAddress;
}

/** Asks devices for a PGN and waits for the first answer. */
export class Queries {
  readonly #options: QueriesOptions;
  /** Ends each query under way. */
  readonly #open = new Set<(outcome: QueryOutcome) => void>();

  constructor(options: QueriesOptions) {
    this.#options = options;
  }

  /** Queries under way. */
  get open(): number {
    return this.#open.size;
  }

  /**
   * Sends an ISO request and waits: for the PGN, on that bus, from the address asked, or from anybody when everybody was.
   *
   * @throws {SendError} the request may not be sent
   */
  async ask(query: Query, sender: Sender): Promise<QueryOutcome> {
    const { gate } = this.#options;
    const { promise, resolve } = Promise.withResolvers<QueryOutcome>();
    const stop = this.#watch(query, resolve);
    let isOut = false;
    let isOver = false;
    const late = () =>
      resolve(isOut ? { kind: "timeout" } : { kind: "failed", why: "the bus did not take it in time" });
    const timer = setTimeout(late, query.timeoutMs);
    this.#open.add(resolve);
    try {
      const { bus, dst, pgn } = query;
      const data = isoRequestPayload(pgn);
      const request = { bus, dst, prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, data, src: undefined, judgedPgn: pgn };
      gate.send([request], sender, { isWanted: () => !isOver }).then(
        () => isOut = true,
        (error: unknown) => resolve({ kind: "failed", why: errorText(error) }),
      );
      return await promise;
    } finally {
      isOver = true;
      this.#open.delete(resolve);
      clearTimeout(timer);
      stop();
    }
  }

  /** Ends the queries under way: nobody will hear an answer any more. */
  stop(): void {
    for (const end of this.#open) end({ kind: "failed", why: "the server stops" });
  }

  /** Looks at every frame that may be the answer, until stopped. */
  #watch({ bus, dst, pgn }: Query, found: (outcome: QueryOutcome) => void): () => void {
    const { broker, address } = this.#options;
    const isFromAsked = (src: number) => dst === BROADCAST_ADDRESS || src === dst;
    const accept = (on: number, src: number, said: number) => {
      if (on !== bus || !isFromAsked(src)) return false;
      if (said === PGN.isoAcknowledgement && dst !== BROADCAST_ADDRESS) return true;
      const own = address(bus);
      const ours = own.kind === "claimed" ? own.src : NULL_ADDRESS;
      return said === pgn && (src !== ours || src === dst);
    };
    const frame = newStoredFrame();
    const look = (seq: number) => {
      if (!broker.ring.read(seq, frame)) return;
      const { data, offset, length } = frame;
      if (frame.pgn === pgn) return found({ kind: "answered", seq });
      const control = refusalOf(data.subarray(offset, offset + length), pgn);
      if (control !== undefined) found({ kind: "refused", src: sourceOfId(frame.id), control });
    };
    const subscription = broker.subscribe({
      capacity: WAITING_FRAMES,
      accept,
      wake: () => subscription.drain(look),
    });
    return () => broker.unsubscribe(subscription);
  }
}

/** Control byte of an acknowledgement that says no to this PGN; undefined when it says something else. */
function refusalOf(payload: Uint8Array, pgn: number): number | undefined {
  if (payload.length < ACKNOWLEDGEMENT_BYTES) return undefined;
  const [control = 0, , , , , low = 0, middle = 0, high = 0] = payload;
  const isAbout = (low | (middle << 8) | (high << 16)) === pgn;
  return isAbout && control >= 1 && control <= MAX_NEGATIVE_CONTROL ? control : undefined;
}
