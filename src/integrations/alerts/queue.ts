import { backoffMs, type BackoffOptions } from "../../base/mod.ts";
import type { Alert } from "./types.ts";

/** Limits of a queue. */
export interface AlertQueueLimits {
  /** Maximum number of queued alerts, the one being sent included; 2 or more. */
  maxAlerts: number;
  /** Age at which an undelivered alert is dropped, milliseconds. Time in which the server did not run is not counted. */
  maxAgeMs: number;
  /** Waits between attempts. */
  retry: BackoffOptions;
}

/** An alert queued for one receiver. */
export interface QueuedAlert {
  readonly queuedMs: number;
  /** From its first attempt on, it contains the number of alerts dropped before it, and does not change any more. */
  alert: Alert;
  /** The number of dropped alerts that it contains. */
  reportedDrops: number;
  wasAttempted: boolean;
  /** How often the receiver refused it, and why. */
  refusals: number;
  refusalReason: string | undefined;
  notBeforeMs: number;
}

/** Result of an attempt to deliver an alert. */
export type DeliveryOutcome =
  | { kind: "delivered" }
  /** The receiver cannot be reached: no other alert is attempted. */
  | { kind: "unavailable"; reason: string; retryAfterMs?: number }
  /** The receiver refuses this alert; it may accept others. */
  | { kind: "refused"; reason: string };

/** What the sender does next. */
export type NextStep =
  | { kind: "nothing" }
  | { kind: "wait"; untilMs: number }
  | { kind: "send"; queued: QueuedAlert };

/** A queued alert in the file. */
export interface StoredAlert {
  ageMs: number;
  /** See {@linkcode QueuedAlert.reportedDrops}. */
  toldDrops: number;
  alert: Alert;
}

/** The queue of one receiver in the file. */
export interface StoredQueue {
  /** Number of dropped alerts that no alert contains yet. */
  untoldDrops: number;
  waiting: readonly StoredAlert[];
}

/**
 * Alerts for one receiver: one is sent at a time, those of a subject in order. While the receiver is unavailable, one
 * alert is attempted for all; a refused alert does not block other subjects. Pure: times are monotonic milliseconds.
 */
export class AlertQueue {
  /** Alerts delivered, failed attempts, alerts dropped. */
  readonly counters: { sent: number; failed: number; dropped: number } = { sent: 0, failed: 0, dropped: 0 };
  readonly #limits: AlertQueueLimits;
  readonly #queued: QueuedAlert[];
  #sending: QueuedAlert | undefined;
  #unreportedDrops: number;
  #failures = 0;
  #unavailableReason: string | undefined;
  #notBeforeMs = -Infinity;

  constructor(limits: AlertQueueLimits, { stored, nowMs }: { stored?: StoredQueue | undefined; nowMs: number }) {
    this.#limits = limits;
    this.#unreportedDrops = stored?.untoldDrops ?? 0;
    this.#queued = (stored?.waiting ?? []).map(({ alert, ageMs, toldDrops }) => ({
      ...newEntry(alert, nowMs - ageMs),
      reportedDrops: toldDrops,
      // It may have been attempted: then it must not change.
      wasAttempted: true,
    }));
    while (this.#queued.length > limits.maxAlerts) this.#drop(this.#queued[0]);
  }

  /** Number of queued alerts, the one being sent included. */
  get size(): number {
    return this.#queued.length;
  }

  /** Why no alerts, or not all, can be delivered; undefined when nothing is wrong. */
  get problem(): string | undefined {
    return this.#unavailableReason ?? this.#queued.find((each) => each.refusalReason !== undefined)?.refusalReason;
  }

  /** Adds an alert. If the queue is full, the oldest alert of its subject is dropped, else the oldest of all. */
  push(alert: Alert, nowMs: number): void {
    if (this.#queued.length >= this.#limits.maxAlerts) {
      const idle = this.#queued.filter((each) => each !== this.#sending);
      this.#drop(idle.find((each) => each.alert.subject === alert.subject) ?? idle[0]);
    }
    this.#queued.push(newEntry(alert, nowMs));
  }

  /** The next step. After `send` it is `nothing` until {@linkcode done} is called. */
  next(nowMs: number): NextStep {
    if (this.#sending) return { kind: "nothing" };
    for (const each of this.#queued.filter(({ queuedMs }) => nowMs - queuedMs >= this.#limits.maxAgeMs)) {
      this.#drop(each);
    }
    // The oldest alert of each subject.
    const heads = [...Map.groupBy(this.#queued, ({ alert }) => alert.subject).values()].flatMap(([head]) => head ?? []);
    const [first] = heads.sort((a, b) => a.notBeforeMs - b.notBeforeMs);
    if (!first) return { kind: "nothing" };
    const untilMs = Math.max(first.notBeforeMs, this.#notBeforeMs);
    if (untilMs > nowMs) return { kind: "wait", untilMs };
    this.#sending = first;
    if (!first.wasAttempted) this.#prepare(first);
    return { kind: "send", queued: first };
  }

  /** The attempt that `next` asked for has ended. */
  done(outcome: DeliveryOutcome, nowMs: number): void {
    const sent = this.#sending;
    this.#sending = undefined;
    if (!sent) return;
    if (outcome.kind === "delivered") {
      this.counters.sent++;
      this.#reachable();
      this.#queued.splice(this.#queued.indexOf(sent), 1);
      return;
    }
    this.counters.failed++;
    if (outcome.kind === "refused") {
      this.#reachable();
      sent.refusals++;
      sent.refusalReason = outcome.reason;
      sent.notBeforeMs = nowMs + backoffMs(sent.refusals, this.#limits.retry);
      return;
    }
    this.#failures++;
    this.#unavailableReason = outcome.reason;
    const askedMs = Math.min(outcome.retryAfterMs ?? 0, this.#limits.retry.capMs);
    this.#notBeforeMs = nowMs + Math.max(askedMs, backoffMs(this.#failures, this.#limits.retry));
  }

  /** The attempt that `next` asked for was aborted, for no fault of the receiver. */
  abandon(): void {
    this.#sending = undefined;
  }

  /** Content for the file. */
  store(nowMs: number): StoredQueue {
    const waiting = this.#queued.map(({ alert, queuedMs, reportedDrops }) => (
      { ageMs: nowMs - queuedMs, toldDrops: reportedDrops, alert }
    ));
    return { untoldDrops: this.#unreportedDrops, waiting };
  }

  #reachable(): void {
    this.#failures = 0;
    this.#unavailableReason = undefined;
    this.#notBeforeMs = -Infinity;
  }

  /** Adds the number of dropped alerts before the first attempt. */
  #prepare(queued: QueuedAlert): void {
    queued.wasAttempted = true;
    if (this.#unreportedDrops === 0) return;
    queued.reportedDrops = this.#unreportedDrops;
    const { alert } = queued;
    queued.alert = { ...alert, details: { ...alert.details, dropped_alerts: this.#unreportedDrops } };
    this.#unreportedDrops = 0;
  }

  /** Drops an alert; the next one reports it, and the drops that this one contains. */
  #drop(queued: QueuedAlert | undefined): void {
    if (!queued) return;
    this.#queued.splice(this.#queued.indexOf(queued), 1);
    this.counters.dropped++;
    this.#unreportedDrops += 1 + queued.reportedDrops;
  }
}

function newEntry(alert: Alert, queuedMs: number): QueuedAlert {
  return {
    alert,
    queuedMs,
    reportedDrops: 0,
    wasAttempted: false,
    refusals: 0,
    refusalReason: undefined,
    notBeforeMs: -Infinity,
  };
}
