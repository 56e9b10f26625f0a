import { createHash } from "node:crypto";
import {
  type BackoffOptions,
  type Clock,
  type DurableFile,
  JsonFile,
  type Logger,
  readJsonFile,
} from "../../base/mod.ts";
import type { RegistryEvent } from "../../broker/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import type { SourceEvent } from "../../stream/mod.ts";
import { ALERT_FILE_VERSION, parseAlerts, type StoredAlerts } from "./file.ts";
import { AlertQueue } from "./queue.ts";
import { AlertSender } from "./sender.ts";
import type { Alert, AlertDraft, AlertRules } from "./types.ts";
import { AlertWatch, type Facts, type WatchedFinding } from "./watch.ts";

/** Default options of alerts. */
export const ALERT_DEFAULTS = {
  dedupWindowMs: 5 * 60_000,
  maxAlerts: 256,
  timeoutMs: 10_000,
  maxAgeMs: 24 * 3_600_000,
  retry: { firstMs: 1000, capMs: 5 * 60_000 },
} as const;

/** Newest alerts that are kept to be asked for. */
export const MAX_RECENT = 100;

/** Options of alerts; all are optional. */
export interface AlertSettings extends Partial<AlertRules> {
  /** Webhook URLs (POST), `http:` or `https:`. Default none: alerts are only logged. */
  urls?: readonly string[];
  /** Signature key; default empty: no signatures. */
  secret?: string;
  /** Name of the boat in alerts. */
  instanceId?: string;
  /** Maximum queued alerts per receiver; default 256. */
  maxAlerts?: number;
  /** Maximum wait for a response, milliseconds; default 10 s. */
  timeoutMs?: number;
  /** Age at which an undelivered alert is dropped, milliseconds; default one day. */
  maxAgeMs?: number;
  /** Waits between attempts; default 1 s, doubling to 5 min. */
  retry?: BackoffOptions;
}

/** Dependencies of alerts. */
export interface AlertContext {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  clock: Clock;
  log: Logger;
  /** Gets each alert. */
  raised?: ((alert: Alert) => void) | undefined;
  /** Stores queued and sent alerts across restarts; undefined: they are lost at a restart. */
  file?: DurableFile | undefined;
}

/** Figures of all receivers together. */
export interface AlertFigures {
  /** Alerts delivered. */
  sent: number;
  /** Failed attempts. */
  failed: number;
  /** Alerts dropped: queue full, or too old. */
  dropped: number;
  /** Alerts queued now. */
  waiting: number;
}

/** Health of alerts. */
export type AlertHealth = { status: "ok" } | { status: "degraded"; message: string };

/**
 * Alerts of a boat, sent to webhooks and the log. No method waits for a receiver or throws.
 *
 * @example
 * ```ts ignore
 * const alerts = await Alerts.open({ urls: ["https://example.com/hook"] }, { buses: ["can0"], clock, log });
 * broker.registry.listen((event) => alerts.device(event));
 * setInterval(() => alerts.evaluate({ buses, components }), 1000);
 * ```
 */
export class Alerts {
  readonly #watch: AlertWatch;
  readonly #senders: readonly AlertSender[];
  readonly #store: JsonFile | undefined;
  readonly #instanceId: string | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #raised: (alert: Alert) => void;
  readonly #recent: Alert[] = [];
  #isStopped = false;

  private constructor(
    { urls: given = [], secret = "", instanceId, busSilenceMs, ...rest }: AlertSettings,
    { buses, clock, log, raised = () => {}, file, stored }: AlertContext & { stored: StoredAlerts },
  ) {
    const { dedupWindowMs, timeoutMs, ...limits } = { ...ALERT_DEFAULTS, ...rest };
    const urls = [...new Set(given)];
    this.#clock = clock;
    this.#log = log;
    this.#raised = raised;
    this.#instanceId = instanceId;
    this.#watch = new AlertWatch({ buses, rules: { dedupWindowMs, busSilenceMs }, reported: stored.told });
    const keys = urls.map(keyOf);
    this.#senders = urls.map((text, index) => {
      const url = new URL(text);
      const name = urls.length > 1 ? `${url.origin} (${index + 1})` : url.origin;
      const queue = new AlertQueue(limits, { stored: stored.queues[keyOf(text)], nowMs: clock.monoMs() });
      return new AlertSender({ url, name, secret, timeoutMs }, { queue, clock, log, changed: () => this.#changed() });
    });
    this.#store = file && new JsonFile(file, {
      what: "alerts",
      log,
      content: () => {
        const nowMs = clock.monoMs();
        const queues = this.#senders.map(({ queue }, index) => [keys[index], queue.store(nowMs)]);
        return { version: ALERT_FILE_VERSION, told: this.#watch.reported, queues: Object.fromEntries(queues) };
      },
    });
    const others = Object.entries(stored.queues).filter(([key]) => !keys.includes(key));
    const lost = others.reduce((total, [, { waiting }]) => total + waiting.length, 0);
    if (lost > 0) log.warn("alerts dropped: their receiver is no longer configured", { alerts: lost });
  }

  /**
   * Restores the state of the last run and sends the alerts that are still queued.
   *
   * @throws {TypeError} one of `urls` is not a URL
   */
  static async open(settings: AlertSettings, context: AlertContext): Promise<Alerts> {
    const { file, log } = context;
    const stored = file && await readJsonFile(file, { what: "alerts", parse: parseAlerts, log });
    const alerts = new Alerts(settings, { ...context, stored: stored ?? { told: [], queues: {} } });
    for (const sender of alerts.#senders) sender.send();
    return alerts;
  }

  /** Processes a change of the device table. */
  device(event: RegistryEvent): void {
    this.#watch.device(event, this.#clock.monoMs());
  }

  /** Processes a switch of a quantity's source. */
  source(event: SourceEvent): void {
    this.#watch.source(event);
  }

  /** Processes the beginning or the end of a finding of the network doctor. */
  finding(finding: WatchedFinding, state: { isOver: boolean }): void {
    this.#watch.finding(finding, state);
  }

  /**
   * Evaluates buses and components and sends due alerts. Call it once a second.
   *
   * @param nowMs monotonic time up to which all frames have been read; default now
   */
  evaluate(facts: Facts, nowMs: number = this.#clock.monoMs()): void {
    if (this.#isStopped) return;
    for (const draft of this.#watch.evaluate(facts, nowMs)) this.#raise(draft);
  }

  /** Changes the rules at runtime. */
  reload(rules: Partial<AlertRules>): void {
    this.#watch.rules = { ...this.#watch.rules, ...rules };
  }

  /** Degraded while alerts cannot be delivered or stored. */
  health(): AlertHealth {
    const problems = this.#senders.flatMap(({ name, queue: { problem, size } }) =>
      problem === undefined ? [] : [`not delivered to ${name}: ${problem}; ${size} queued`]
    );
    if (this.#store?.error !== undefined) problems.push(`not stored: ${this.#store.error}`);
    return problems.length === 0 ? { status: "ok" } : { status: "degraded", message: problems.join("; ") };
  }

  /** Totals since the start. */
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

  /** Newest alerts since the start, newest first. */
  get recent(): readonly Alert[] {
    return this.#recent;
  }

  /** Stops sending and stores the queue. Takes at most a second. */
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
    this.#recent.unshift(alert);
    this.#recent.splice(MAX_RECENT);
    for (const sender of this.#senders) sender.push(alert);
    this.#raised(alert);
    this.#changed();
  }

  #changed(): void {
    this.#store?.changed();
  }
}

/** Identifies a receiver in the file, which must not contain its URL: that may hold secrets. */
function keyOf(url: string): string {
  return createHash("sha256").update(url).digest("hex");
}
