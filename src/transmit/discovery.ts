import { backoffMs, type BackoffOptions, TokenBucket } from "../base/mod.ts";
import { addressKey, BROADCAST_ADDRESS } from "../frame/mod.ts";
import { PGN } from "../pgn/mod.ts";

/** PGNs that identify a device. */
export type IdentityPgn = typeof PGN.addressClaim | typeof PGN.productInformation;

/** An ISO request of discovery. */
export interface IdentityRequest {
  /** Index of the bus. */
  bus: number;
  /** Destination address; 255: broadcast. */
  dst: number;
  pgn: IdentityPgn;
}

/** What discovery needs to know about an address. */
export interface DiscoveryTarget {
  bus: number;
  src: number;
  name: bigint | undefined;
  product: unknown;
}

/** Wait before the first request, milliseconds: a new device claims its address unasked. */
const FIRST_ASK_MS = 250;
/** Waits between attempts: 2 s, 4 s … 5 min. */
const RETRY: BackoffOptions = { firstMs: 2000, capMs: 5 * 60_000 };
/** Maximum attempts for an address that does not answer. The count restarts after a long absence or when the bus comes up. */
export const MAX_ATTEMPTS = 8;
/** Maximum request rate on one bus; discovery must not load a bus. */
export const REQUESTS_PER_SECOND = 10;
const REQUEST_BURST = 5;

/** Request state of one address. Kept for a while after the address has gone, so that a reappearance resets nothing. */
interface Question {
  readonly bus: number;
  readonly src: number;
  /** The next PGN to request; undefined: the device is fully identified. */
  pgn: IdentityPgn | undefined;
  attempts: number;
  dueMs: number;
  /** Time of disappearance; undefined while present. */
  goneMs: number | undefined;
  /** It disappeared and came back: two devices may contend for a NAME, and progress does not reset the attempts. */
  flapping: boolean;
}

/**
 * Identifies the devices on the buses: broadcasts a request for address claims at start, and requests claim and product
 * information from every unidentified address. Retries with back-off up to {@linkcode MAX_ATTEMPTS} attempts, within a
 * rate limit. Pure: the caller passes the time and sends the requests.
 */
export class Discovery {
  readonly #buckets: TokenBucket[];
  readonly #broadcastDue: boolean[];
  readonly #questions = new Map<number, Question>();

  /** @param buses number of buses */
  constructor(buses: number) {
    const bucket = () => new TokenBucket({ perSecond: REQUESTS_PER_SECOND, burst: REQUEST_BURST });
    this.#buckets = Array.from({ length: buses }, bucket);
    this.#broadcastDue = Array.from({ length: buses }, () => true);
  }

  /** Number of present addresses not fully identified yet. */
  get pending(): number {
    let count = 0;
    for (const { pgn, goneMs } of this.#questions.values()) if (pgn !== undefined && goneMs === undefined) count++;
    return count;
  }

  /** Broadcasts again and resets all attempts on a bus that has come up. */
  askAll(bus: number): void {
    this.#broadcastDue[bus] = true;
    for (const question of this.#questions.values()) {
      if (question.bus !== bus) continue;
      question.attempts = 0;
      question.dueMs = -Infinity;
    }
  }

  /** Updates what is known about an address. */
  known({ bus, src, name, product }: DiscoveryTarget, nowMs: number): void {
    const key = addressKey(bus, src);
    const pgn = name === undefined ? PGN.addressClaim : product === undefined ? PGN.productInformation : undefined;
    const known = this.#questions.get(key);
    if (!known || (known.goneMs !== undefined && nowMs - known.goneMs > RETRY.capMs)) {
      const dueMs = pgn === PGN.addressClaim ? nowMs + FIRST_ASK_MS : nowMs;
      this.#questions.set(key, { bus, src, pgn, attempts: 0, dueMs, goneMs: undefined, flapping: false });
      return;
    }
    if (known.goneMs !== undefined) {
      known.goneMs = undefined;
      known.flapping = true;
      known.dueMs = Math.max(known.dueMs, nowMs + FIRST_ASK_MS);
    } else if (known.pgn !== pgn && !known.flapping) {
      known.attempts = 0;
      known.dueMs = nowMs;
    }
    known.pgn = pgn;
  }

  /** An address has disappeared. */
  gone({ bus, src }: { bus: number; src: number }, nowMs: number): void {
    const question = this.#questions.get(addressKey(bus, src));
    if (question) question.goneMs = nowMs;
  }

  /** A request could not be sent: it does not count as an attempt. */
  notSent({ bus, dst }: IdentityRequest): void {
    const question = this.#questions.get(addressKey(bus, dst));
    if (question && question.attempts > 0) question.attempts--;
    if (dst === BROADCAST_ADDRESS) this.#broadcastDue[bus] = true;
  }

  /** The requests due now on the buses that are up. */
  due(nowMs: number, isUp: (bus: number) => boolean = () => true): IdentityRequest[] {
    const requests: IdentityRequest[] = [];
    this.#broadcastDue.forEach((due, bus) => {
      if (!due || !isUp(bus) || !this.#buckets[bus]?.take(nowMs)) return;
      this.#broadcastDue[bus] = false;
      requests.push({ bus, dst: BROADCAST_ADDRESS, pgn: PGN.addressClaim });
    });
    for (const [key, question] of this.#questions) {
      const { bus, src, pgn } = question;
      if (pgn === undefined || question.goneMs !== undefined || !isUp(bus)) continue;
      if (question.attempts >= MAX_ATTEMPTS || nowMs < question.dueMs || !this.#buckets[bus]?.take(nowMs)) continue;
      question.attempts++;
      question.dueMs = nowMs + backoffMs(question.attempts, RETRY);
      // To the end of the queue: first attempts go before repeated ones.
      this.#questions.delete(key);
      this.#questions.set(key, question);
      requests.push({ bus, dst: src, pgn });
    }
    return requests;
  }
}
