import { createHash } from "node:crypto";
import { type BackoffOptions, type Clock, type DurableFile, KeptFile, type Logger, readKept } from "../../base/mod.ts";
import type { RegistryEvent } from "../../broker/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { keptAlerts, NO_ALERTS, parseAlerts, type StoredAlerts } from "./file.ts";
import { AlertQueue } from "./queue.ts";
import { AlertSender } from "./sender.ts";
import type { Alert, AlertDraft, AlertRules } from "./types.ts";
import { AlertWatch, type Facts } from "./watch.ts";

/** What alerts do when nothing else is said. */
export const ALERT_DEFAULTS = {
  dedupWindowMs: 5 * 60_000,
  maxAlerts: 256,
  timeoutMs: 10_000,
  maxAgeMs: 24 * 3_600_000,
  retry: { firstMs: 1000, capMs: 5 * 60_000 },
} as const;

/** How alerts are made and delivered. Everything may be left out. */
export interface AlertSettings extends Partial<AlertRules> {
  /** Where alerts go, by POST: `http:` or `https:`. None (the default): to the log alone. */
  urls?: readonly string[];
  /** Key of the signatures; empty (the default): none. */
  secret?: string;
  /** Which boat it is. */
  instanceId?: string;
  /** Most alerts that wait for one receiver, default 256. */
  maxAlerts?: number;
  /** Longest wait for an answer, milliseconds; default 10 s. */
  timeoutMs?: number;
  /** What cannot be delivered for so long is given up, milliseconds; default a day. */
  maxAgeMs?: number;
  /** Waits between tries, default 1 s doubling to 5 min. */
  retry?: BackoffOptions;
}

/** What alerts must know of their surroundings. */
export interface AlertContext {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  clock: Clock;
  log: Logger;
  /** What waits and what was told survives here; undefined: a restart begins anew. */
  file?: DurableFile | undefined;
}

/** Figures of all receivers together. */
export interface AlertFigures {
  /** Alerts delivered. */
  sent: number;
  /** Tries that failed. */
  failed: number;
  /** Alerts given up: no room, or too old. */
  dropped: number;
  /** Alerts that wait now. */
  waiting: number;
}

/** How alerts do, as a component of health. */
export type AlertHealth = { status: "ok" } | { status: "degraded"; message: string };

/**
 * Alerts of a boat: facts in, webhooks and log lines out. Nothing here waits for a receiver, or throws.
 *
 * @example
 * ```ts ignore
 * const alerts = await Alerts.open({ urls: ["https://example.com/hook"] }, { buses: ["can0"], clock, log });
 * broker.registry.listen((event) => alerts.device(event));
 * setInterval(() => alerts.look({ buses, components }), 1000);
 * ```
 */
export class Alerts {
  readonly #watch: AlertWatch;
  readonly #senders: readonly AlertSender[];
  readonly #store: KeptFile | undefined;
  readonly #instanceId: string | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  #isStopped = false;

  private constructor(
    { urls: given = [], secret = "", instanceId, busSilenceMs, ...rest }: AlertSettings,
    { buses, clock, log, file, stored }: AlertContext & { stored: StoredAlerts },
  ) {
    const { dedupWindowMs, timeoutMs, ...limits } = { ...ALERT_DEFAULTS, ...rest };
    const urls = [...new Set(given)];
    this.#clock = clock;
    this.#log = log;
    this.#instanceId = instanceId;
    this.#watch = new AlertWatch({ buses, rules: { dedupWindowMs, busSilenceMs }, told: stored.told });
    const keys = urls.map(keyOf);
    this.#senders = urls.map((text, index) => {
      const url = new URL(text);
      const name = urls.length > 1 ? `${url.origin} (${index + 1})` : url.origin;
      const queue = new AlertQueue(limits, { stored: stored.queues[keyOf(text)], nowMs: clock.monoMs() });
      return new AlertSender({ url, name, secret, timeoutMs }, { queue, clock, log, changed: () => this.#changed() });
    });
    this.#store = file && new KeptFile(file, {
      what: "alerts",
      log,
      content: () => {
        const nowMs = clock.monoMs();
        const queues = this.#senders.map(({ queue }, index) => [keys[index], queue.store(nowMs)]);
        return keptAlerts({ told: this.#watch.told, queues: Object.fromEntries(queues) });
      },
    });
    const others = Object.entries(stored.queues).filter(([key]) => !keys.includes(key));
    const lost = others.reduce((total, [, { waiting }]) => total + waiting.length, 0);
    if (lost > 0) log.warn("alerts dropped: their receiver is not set any more", { alerts: lost });
  }

  /**
   * Makes alerts that go on where the last run ended, and sends what still waits.
   *
   * @throws {TypeError} one of `urls` is none
   */
  static async open(settings: AlertSettings, surroundings: AlertContext): Promise<Alerts> {
    const { file, log } = surroundings;
    const stored = file && await readKept(file, { what: "alerts", parse: parseAlerts, log });
    const alerts = new Alerts(settings, { ...surroundings, stored: stored ?? NO_ALERTS });
    for (const sender of alerts.#senders) sender.send();
    return alerts;
  }

  /** Takes note of a change of the device table. */
  device(event: RegistryEvent): void {
    this.#watch.device(event, this.#clock.monoMs());
  }

  /**
   * Looks at buses and components, and sends what there is to tell. To be called once a second.
   *
   * @param nowMs monotonic time up to which all frames have been read; default now
   */
  look(facts: Facts, nowMs: number = this.#clock.monoMs()): void {
    if (this.#isStopped) return;
    for (const draft of this.#watch.look(facts, nowMs)) this.#raise(draft);
  }

  /** Changes rules while running. */
  reload(rules: Partial<AlertRules>): void {
    this.#watch.rules = { ...this.#watch.rules, ...rules };
  }

  /** Degraded while alerts cannot be delivered or written down. */
  health(): AlertHealth {
    const troubles = this.#senders.flatMap(({ name, queue: { trouble, size } }) =>
      trouble === undefined ? [] : [`not delivered to ${name}: ${trouble}; ${size} wait`]
    );
    if (this.#store?.error !== undefined) troubles.push(`not written down: ${this.#store.error}`);
    return troubles.length === 0 ? { status: "ok" } : { status: "degraded", message: troubles.join("; ") };
  }

  /** Counted since the start. */
  get figures(): AlertFigures {
    const figures: AlertFigures = { sent: 0, failed: 0, dropped: 0, waiting: 0 };
    for (const { queue } of this.#senders) {
      figures.sent += queue.counters.sent;
      figures.failed += queue.counters.failed;
      figures.dropped += queue.counters.dropped;
      figures.waiting += queue.size;
    }
    return figures;
  }

  /** Tells nothing any more, and writes down what waits. Takes a second at most. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#senders.map((sender) => sender.stop()));
    await this.#store?.close();
  }

  #raise({ type, severity, summary, subject, details }: AlertDraft): void {
    const alert: Alert = {
      timestamp: formatTimeUs(this.#clock.wallUs()),
      type,
      severity,
      summary,
      subject,
      ...(this.#instanceId !== undefined && { instance_id: this.#instanceId }),
      details,
      id: crypto.randomUUID(),
    };
    if (severity === "info") this.#log.info("alert", { type, subject, summary });
    else this.#log.warn("alert", { type, subject, summary });
    for (const sender of this.#senders) sender.push(alert);
    this.#changed();
  }

  #changed(): void {
    this.#store?.changed();
  }
}

/** What stands for an address where it must not be read. */
function keyOf(url: string): string {
  return createHash("sha256").update(url).digest("hex");
}
