import { backoffMs, type BackoffOptions, TokenBucket } from "../base/mod.ts";
import { BROADCAST_ADDRESS } from "../frame/mod.ts";
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
/** Tries before an address that never answers is left in peace; it is asked anew when it comes back. */
const MAX_ATTEMPTS = 8;
/** Most requests a second on one bus, and how many may leave at once: identity is never worth a flooded bus. */
const REQUESTS_PER_SECOND = 10;
const REQUEST_BURST = 5;

interface Question {
  readonly bus: number;
  readonly src: number;
  pgn: IdentityPgn;
  attempts: number;
  dueMs: number;
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
    return this.#questions.size;
  }

  /** Asks everybody on a bus again: it has just come up. */
  askAll(bus: number): void {
    this.#broadcastDue[bus] = true;
  }

  /** Takes note of what is known of an address now. */
  known({ bus, src, name, product }: DiscoveryTarget, nowMs: number): void {
    const key = (bus << 8) | src;
    if (name !== undefined && product !== undefined) {
      this.#questions.delete(key);
      return;
    }
    const pgn = name === undefined ? PGN.addressClaim : PGN.productInformation;
    const question = this.#questions.get(key);
    if (question?.pgn === pgn) return;
    const dueMs = pgn === PGN.addressClaim ? nowMs + FIRST_ASK_MS : nowMs;
    this.#questions.set(key, { bus, src, pgn, attempts: 0, dueMs });
  }

  /** Forgets an address. */
  gone(bus: number, src: number): void {
    this.#questions.delete((bus << 8) | src);
  }

  /** The requests that are due now. */
  due(nowMs: number): IdentityRequest[] {
    const requests: IdentityRequest[] = [];
    this.#broadcastDue.forEach((due, bus) => {
      if (!due || !this.#buckets[bus]?.take(nowMs)) return;
      this.#broadcastDue[bus] = false;
      requests.push({ bus, dst: BROADCAST_ADDRESS, pgn: PGN.addressClaim });
    });
    for (const [key, question] of this.#questions) {
      const { bus, src, pgn } = question;
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
