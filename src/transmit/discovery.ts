import { backoffMs, type BackoffOptions, TokenBucket } from "../base/mod.ts";
import { addressKey, BROADCAST_ADDRESS } from "../frame/mod.ts";
import { PGN } from "../pgn/mod.ts";

/** What a request for identity asks for. */
export type IdentityPgn = typeof PGN.addressClaim | typeof PGN.productInformation;

/** An ISO request that discovery wants sent. */
export interface IdentityRequest {
  /** Index of the bus. */
  bus: number;
  /** Address asked; 255 asks everybody. */
  dst: number;
  pgn: IdentityPgn;
}

/** What discovery must know of an address. */
export interface DiscoveryTarget {
  bus: number;
  src: number;
  name: bigint | undefined;
  product: unknown;
}

/** A device that has just come up tells its NAME by itself: so long is it left alone. */
const FIRST_ASK_MS = 250;
/** Waits between tries: 2 s, 4 s … 5 min. */
const RETRY: BackoffOptions = { firstMs: 2000, capMs: 5 * 60_000 };
/** Tries before an address that never answers is left in peace, until it has been away for a while or its bus comes up. */
export const MAX_ATTEMPTS = 8;
/** Most requests a second on one bus, and how many may leave at once: identity is never worth a flooded bus. */
export const REQUESTS_PER_SECOND = 10;
const REQUEST_BURST = 5;

/** What one address was asked, and how often. Outlives the address for a while, so that coming and going resets nothing. */
interface Question {
  readonly bus: number;
  readonly src: number;
  /** What it still has to tell; undefined when all is known. */
  pgn: IdentityPgn | undefined;
  attempts: number;
  dueMs: number;
  /** When the address went, while it is away. */
  goneMs: number | undefined;
  /** It went and came back: two devices may be fighting over a NAME, and progress does not count. */
  flapping: boolean;
}

/**
 * Finds out who is on the buses: asks everybody at start, and every address that speaks without having said who it is;
 * then for product information. Retries with back-off, gives up after a while, and never asks more than a few times a
 * second. Pure: the caller brings time and sends the requests.
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

  /** Addresses that still owe an answer. */
  get pending(): number {
    let count = 0;
    for (const { pgn, goneMs } of this.#questions.values()) if (pgn !== undefined && goneMs === undefined) count++;
    return count;
  }

  /** Asks everybody on a bus again: it has just come up. Tries made before do not count. */
  askAll(bus: number): void {
    this.#broadcastDue[bus] = true;
    for (const question of this.#questions.values()) {
      if (question.bus !== bus) continue;
      question.attempts = 0;
      question.dueMs = -Infinity;
    }
  }

  /** Takes note of what is known of an address now. */
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

  /** An address has gone. */
  gone({ bus, src }: { bus: number; src: number }, nowMs: number): void {
    const question = this.#questions.get(addressKey(bus, src));
    if (question) question.goneMs = nowMs;
  }

  /** A request could not be sent: that was no try. */
  notSent({ bus, dst }: IdentityRequest): void {
    const question = this.#questions.get(addressKey(bus, dst));
    if (question && question.attempts > 0) question.attempts--;
    if (dst === BROADCAST_ADDRESS) this.#broadcastDue[bus] = true;
  }

  /** The requests that are due now, on the buses that can carry them. */
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
      // To the end of the line: who has never been asked comes before who is asked again.
      this.#questions.delete(key);
      this.#questions.set(key, question);
      requests.push({ bus, dst: src, pgn });
    }
    return requests;
  }
}
