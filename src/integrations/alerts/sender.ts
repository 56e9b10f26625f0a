import { createHmac } from "node:crypto";
import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import type { AlertQueue, TryOutcome } from "./queue.ts";
import type { Alert } from "./types.ts";

/** One receiver of alerts. */
export interface AlertReceiver {
  /** `http:` or `https:`. May hold secrets anywhere but in its origin: nothing else of it is ever told. */
  url: URL;
  /** What logs and health call it. */
  name: string;
  /** Key of the signatures; empty: none. */
  secret: string;
  /** Longest wait for an answer, milliseconds. */
  timeoutMs: number;
}

/** At the end, a request under way gets so long to be answered: broken off, it would be made again after a restart. */
const STOP_PATIENCE_MS = 1000;
/** Answers that say "not now", besides all from 500 on: request timeout, too early, too many requests. */
const NOT_NOW = [408, 425, 429];
/** Timers hold no longer waits. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Delivers a queue of alerts to one receiver, one after the other. Never throws, and nobody waits for it. */
export class AlertSender {
  readonly name: string;
  readonly #queue: AlertQueue;
  readonly #receiver: AlertReceiver;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #changed: () => void;
  readonly #abort = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #wasFailing = false;
  #isStopped = false;

  /** @param options.changed called when the queue has changed */
  constructor(
    receiver: AlertReceiver,
    { queue, clock, log, changed }: { queue: AlertQueue; clock: Clock; log: Logger; changed: () => void },
  ) {
    this.name = receiver.name;
    this.#receiver = receiver;
    this.#queue = queue;
    this.#clock = clock;
    this.#log = log;
    this.#changed = changed;
  }

  /** What waits, and how it went so far. */
  get queue(): Pick<AlertQueue, "size" | "counters" | "trouble" | "store"> {
    return this.#queue;
  }

  /** Takes an alert and returns at once. */
  push(alert: Alert): void {
    this.#queue.push(alert, this.#clock.monoMs());
    this.#changed();
    this.send();
  }

  /** Sends what is due, now and whenever something is. */
  send(): void {
    if (this.#sending || this.#isStopped) return;
    clearTimeout(this.#timer);
    const { dropped } = this.#queue.counters;
    const nowMs = this.#clock.monoMs();
    const step = this.#queue.next(nowMs);
    if (this.#queue.counters.dropped > dropped) this.#changed();
    if (step.kind === "wait") {
      this.#timer = setTimeout(() => this.send(), Math.min(MAX_TIMER_MS, Math.ceil(step.untilMs - nowMs)));
    }
    if (step.kind !== "send") return;
    this.#changed();
    this.#sending = this.#try(step.waiting.alert).then((outcome) => {
      this.#sending = undefined;
      if (outcome === "abandoned") return this.#queue.abandon();
      this.#queue.done(outcome, this.#clock.monoMs());
      this.#changed();
      this.#tell(outcome);
      this.send();
    });
  }

  /** Sends nothing any more. A request under way is answered, or broken off after a moment. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const patience = setTimeout(() => this.#abort.abort(), STOP_PATIENCE_MS);
    await this.#sending;
    clearTimeout(patience);
  }

  async #try(alert: Alert): Promise<TryOutcome | "abandoned"> {
    const { url, secret, timeoutMs } = this.#receiver;
    const body = JSON.stringify(alert);
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(url, {
        method: "POST",
        body,
        headers: {
          "content-type": "application/json",
          "idempotency-key": alert.id,
          ...(secret !== "" && { "x-vbg-signature": signatureOf(body, secret) }),
        },
        // A redirected POST would come as a GET without its body.
        redirect: "manual",
        signal: AbortSignal.any([timeout, this.#abort.signal]),
      });
      // Cancelling may fail when the connection breaks: the answer counts.
      await response.body?.cancel().catch(() => {});
      return outcomeOf(response);
    } catch (error) {
      if (timeout.aborted) return { kind: "unavailable", reason: `no answer within ${timeoutMs / 1000} s` };
      if (this.#abort.signal.aborted) return "abandoned";
      return { kind: "unavailable", reason: reasonOf(error) };
    }
  }

  /** Once when it begins to fail, once when all is well again. */
  #tell(outcome: TryOutcome): void {
    const { name: receiver } = this;
    const waiting = this.#queue.size;
    if (outcome.kind !== "delivered") {
      if (!this.#wasFailing) this.#log.warn("alert not delivered", { receiver, reason: outcome.reason, waiting });
      this.#wasFailing = true;
    } else if (this.#wasFailing && this.#queue.trouble === undefined) {
      this.#log.info("alerts are delivered again", { receiver, waiting });
      this.#wasFailing = false;
    }
  }
}

/** `sha256=` and the HMAC-SHA256 of the body, in hex. */
export function signatureOf(body: string, secret: string): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

function outcomeOf({ ok, status, headers }: Response): TryOutcome {
  if (ok) return { kind: "delivered" };
  const reason = `the answer is ${status}`;
  if (status < 500 && !NOT_NOW.includes(status)) return { kind: "refused", reason };
  const seconds = /^\d{1,9}$/.exec(headers.get("retry-after") ?? "")?.[0];
  return { kind: "unavailable", reason, ...(seconds !== undefined && { retryAfterMs: Number(seconds) * 1000 }) };
}

/** Why a request failed. Its own words hold the whole address, which may be secret. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const words = errorText(cause);
  return words.replaceAll(/[a-z][a-z\d+.-]*:\/\/\S+/gi, "…").replace(/^.*client error /, "");
}
