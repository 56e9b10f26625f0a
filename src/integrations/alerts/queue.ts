import { backoffMs, type BackoffOptions } from "../../base/mod.ts";
import type { Alert } from "./types.ts";

/** How long and how many alerts wait for a receiver. */
export interface AlertQueueLimits {
  /** Most alerts that wait, the one being sent included; 2 or more. */
  maxAlerts: number;
  /** An alert that could not be delivered for so long is given up, milliseconds. Time that we did not run is not counted. */
  maxAgeMs: number;
  /** Waits between tries. */
  retry: BackoffOptions;
}

/** An alert on its way to one receiver. */
export interface WaitingAlert {
  readonly bornMs: number;
  /** From its first try on, it says how many were given up before it, and does not change any more. */
  alert: Alert;
  /** How many it says. */
  toldDrops: number;
  hasBeenTried: boolean;
  /** How often the receiver would not have it, and why. */
  refusals: number;
  refusedFor: string | undefined;
  notBeforeMs: number;
}

/** What became of a try. */
export type TryOutcome =
  | { kind: "delivered" }
  /** No receiver is there: no other alert fares better. */
  | { kind: "unavailable"; reason: string; retryAfterMs?: number }
  /** The receiver does not want this alert; others it may. */
  | { kind: "refused"; reason: string };

/** What to do next. */
export type NextStep =
  | { kind: "nothing" }
  | { kind: "wait"; untilMs: number }
  | { kind: "send"; waiting: WaitingAlert };

/** An alert that waits, as it is written down. */
export interface StoredAlert {
  ageMs: number;
  toldDrops: number;
  alert: Alert;
}

/** What waits for one receiver, as it is written down. */
export interface StoredQueue {
  /** Alerts that were given up, which no alert says yet. */
  untoldDrops: number;
  waiting: readonly StoredAlert[];
}

/**
 * What waits for one receiver: one alert at a time leaves, those of a subject in their order. While the receiver is not
 * there, one of them tries for all; one that is refused lets other subjects pass. Pure: times are monotonic milliseconds.
 */
export class AlertQueue {
  /** Alerts delivered, tries that failed, alerts given up. */
  readonly counters: { sent: number; failed: number; dropped: number } = { sent: 0, failed: 0, dropped: 0 };
  readonly #limits: AlertQueueLimits;
  readonly #waiting: WaitingAlert[];
  #sending: WaitingAlert | undefined;
  #untoldDrops: number;
  #failures = 0;
  #unavailableFor: string | undefined;
  #notBeforeMs = -Infinity;

  constructor(limits: AlertQueueLimits, { stored, nowMs }: { stored?: StoredQueue | undefined; nowMs: number }) {
    this.#limits = limits;
    this.#untoldDrops = stored?.untoldDrops ?? 0;
    this.#waiting = (stored?.waiting ?? []).map(({ alert, ageMs, toldDrops }) => ({
      ...fresh(alert, nowMs - ageMs),
      toldDrops,
      // It may have been tried: then its words must stay.
      hasBeenTried: true,
    }));
    while (this.#waiting.length > limits.maxAlerts) this.#drop(this.#waiting[0]);
  }

  /** Alerts that wait, the one being sent included. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Why nothing, or not everything, can be delivered; undefined when all is well. */
  get trouble(): string | undefined {
    return this.#unavailableFor ?? this.#waiting.find(({ refusedFor }) => refusedFor !== undefined)?.refusedFor;
  }

  /** Takes an alert. When there is no room, the oldest of its subject goes, else the oldest of all. */
  push(alert: Alert, nowMs: number): void {
    if (this.#waiting.length >= this.#limits.maxAlerts) {
      const idle = this.#waiting.filter((each) => each !== this.#sending);
      this.#drop(idle.find((each) => each.alert.subject === alert.subject) ?? idle[0]);
    }
    this.#waiting.push(fresh(alert, nowMs));
  }

  /** What to do now. Between `send` and its {@linkcode done} there is nothing else to do. */
  next(nowMs: number): NextStep {
    if (this.#sending) return { kind: "nothing" };
    for (const each of this.#waiting.filter(({ bornMs }) => nowMs - bornMs >= this.#limits.maxAgeMs)) this.#drop(each);
    const [first] = this.#heads().sort((a, b) => a.notBeforeMs - b.notBeforeMs);
    if (!first) return { kind: "nothing" };
    const untilMs = Math.max(first.notBeforeMs, this.#notBeforeMs);
    if (untilMs > nowMs) return { kind: "wait", untilMs };
    this.#sending = first;
    if (!first.hasBeenTried) this.#seal(first);
    return { kind: "send", waiting: first };
  }

  /** The try that `next` asked for has ended. */
  done(outcome: TryOutcome, nowMs: number): void {
    const sent = this.#sending;
    this.#sending = undefined;
    if (!sent) return;
    if (outcome.kind === "delivered") {
      this.counters.sent++;
      this.#reachable();
      this.#waiting.splice(this.#waiting.indexOf(sent), 1);
      return;
    }
    this.counters.failed++;
    if (outcome.kind === "refused") {
      this.#reachable();
      sent.refusals++;
      sent.refusedFor = outcome.reason;
      sent.notBeforeMs = nowMs + backoffMs(sent.refusals, this.#limits.retry);
      return;
    }
    this.#failures++;
    this.#unavailableFor = outcome.reason;
    const askedMs = Math.min(outcome.retryAfterMs ?? 0, this.#limits.retry.capMs);
    this.#notBeforeMs = nowMs + Math.max(askedMs, backoffMs(this.#failures, this.#limits.retry));
  }

  /** The try that `next` asked for was given up, for no fault of the receiver. */
  abandon(): void {
    this.#sending = undefined;
  }

  /** As it is written down. */
  store(nowMs: number): StoredQueue {
    const waiting = this.#waiting.map(({ alert, bornMs, toldDrops }) => ({ ageMs: nowMs - bornMs, toldDrops, alert }));
    return { untoldDrops: this.#untoldDrops, waiting };
  }

  /** The oldest alert of each subject, oldest first. */
  #heads(): WaitingAlert[] {
    const heads = new Map<string, WaitingAlert>();
    for (const each of this.#waiting) {
      if (!heads.has(each.alert.subject)) heads.set(each.alert.subject, each);
    }
    return [...heads.values()];
  }

  #reachable(): void {
    this.#failures = 0;
    this.#unavailableFor = undefined;
    this.#notBeforeMs = -Infinity;
  }

  /** It says from now on how many were given up. */
  #seal(waiting: WaitingAlert): void {
    waiting.hasBeenTried = true;
    if (this.#untoldDrops === 0) return;
    waiting.toldDrops = this.#untoldDrops;
    const { alert } = waiting;
    waiting.alert = { ...alert, details: { ...alert.details, dropped_alerts: this.#untoldDrops } };
    this.#untoldDrops = 0;
  }

  /** Gives an alert up; what it should have said of others goes to the next. */
  #drop(waiting: WaitingAlert | undefined): void {
    if (!waiting) return;
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.counters.dropped++;
    this.#untoldDrops += 1 + waiting.toldDrops;
  }
}

function fresh(alert: Alert, bornMs: number): WaitingAlert {
  return {
    alert,
    bornMs,
    toldDrops: 0,
    hasBeenTried: false,
    refusals: 0,
    refusedFor: undefined,
    notBeforeMs: -Infinity,
  };
}
