import { createHmac } from "node:crypto";
import { type Clock, errorText, type Logger, timerMs } from "../../base/mod.ts";
import type { AlertQueue, DeliveryOutcome } from "./queue.ts";
import type { Alert } from "./types.ts";

/** One receiver of alerts. */
export interface AlertReceiver {
  /** `http:` or `https:`. Any part but the origin may contain secrets and is never logged. */
  url: URL;
  /** Name in logs and health. */
  name: string;
  /** Key of the signatures; empty: none. */
  secret: string;
  /** Maximum wait for a response, milliseconds. */
  timeoutMs: number;
}

/** Time for a request in flight at a stop: if aborted, it would be sent again after a restart. */
const STOP_TIMEOUT_MS = 1000;
/** Statuses besides 5xx after which the alert is sent again: request timeout, too early, too many requests. */
const TRANSIENT_STATUSES = [408, 425, 429];

/** Delivers a queue of alerts to one receiver, one at a time. Never throws, and its callers never wait. */
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

  get queue(): Pick<AlertQueue, "size" | "counters" | "problem" | "store"> {
    return this.#queue;
  }

  /** Queues an alert and returns at once. */
  push(alert: Alert): void {
    this.#queue.push(alert, this.#clock.monoMs());
    this.#changed();
    this.send();
  }

  /** Sends alerts as they become due. */
  send(): void {
    if (this.#sending || this.#isStopped) return;
    clearTimeout(this.#timer);
    const { dropped } = this.#queue.counters;
    const nowMs = this.#clock.monoMs();
    const step = this.#queue.next(nowMs);
    if (this.#queue.counters.dropped > dropped) this.#changed();
    if (step.kind === "wait") {
      this.#timer = setTimeout(() => this.send(), timerMs(Math.ceil(step.untilMs - nowMs)));
    }
    if (step.kind !== "send") return;
    this.#changed();
    this.#sending = this.#post(step.queued.alert).then((outcome) => {
      this.#sending = undefined;
      if (outcome === "abandoned") return this.#queue.abandon();
      this.#queue.done(outcome, this.#clock.monoMs());
      this.#changed();
      this.#logChange(outcome);
      this.send();
    });
  }

  /** Stops sending. Aborts a request in flight after a second. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const timeout = setTimeout(() => this.#abort.abort(), STOP_TIMEOUT_MS);
    await this.#sending;
    clearTimeout(timeout);
  }

  async #post(alert: Alert): Promise<DeliveryOutcome | "abandoned"> {
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
        // A redirected POST would arrive as a GET without a body.
        redirect: "manual",
        signal: AbortSignal.any([timeout, this.#abort.signal]),
      });
      // Cancelling may fail when the connection breaks: the status counts.
      await response.body?.cancel().catch(() => {});
      return outcomeOf(response);
    } catch (error) {
      if (timeout.aborted) return { kind: "unavailable", reason: `no answer within ${timeoutMs / 1000} s` };
      if (this.#abort.signal.aborted) return "abandoned";
      return { kind: "unavailable", reason: reasonOf(error) };
    }
  }

  /** Logs once when deliveries begin to fail, and once when nothing fails any more. */
  #logChange(outcome: DeliveryOutcome): void {
    const { name: receiver } = this;
    const waiting = this.#queue.size;
    if (outcome.kind !== "delivered") {
      if (!this.#wasFailing) this.#log.warn("alert not delivered", { receiver, reason: outcome.reason, waiting });
      this.#wasFailing = true;
    } else if (this.#wasFailing && this.#queue.problem === undefined) {
      this.#log.info("alerts are delivered again", { receiver, waiting });
      this.#wasFailing = false;
    }
  }
}

/** `sha256=` and the HMAC-SHA256 of the body, in hex. */
export function signatureOf(body: string, secret: string): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

function outcomeOf({ ok, status, headers }: Response): DeliveryOutcome {
  if (ok) return { kind: "delivered" };
  const reason = `the response is ${status}`;
  if (status < 500 && !TRANSIENT_STATUSES.includes(status)) return { kind: "refused", reason };
  const seconds = /^\d{1,9}$/.exec(headers.get("retry-after") ?? "")?.[0];
  return { kind: "unavailable", reason, ...(seconds !== undefined && { retryAfterMs: Number(seconds) * 1000 }) };
}

/** Why a request failed, without the URL, which may contain secrets. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return errorText(cause).replaceAll(/[a-z][a-z\d+.-]*:\/\/\S+/gi, "…").replace(/^.*client error /, "");
}
