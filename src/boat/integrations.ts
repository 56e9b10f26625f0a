import { AtomicFile, type Clock, type ListenAddress, type Logger, type StallDetector } from "../base/mod.ts";
import type { BusPipeline } from "./bus_pipelines.ts";
import type { Broker } from "../broker/mod.ts";
import type { ComponentHealth, Health } from "../http/mod.ts";
import {
  ALERT_FILE,
  type AlertRules,
  Alerts,
  type AlertSettings,
  MAX_ALERT_FILE_BYTES,
  MdnsAnnouncer,
  type MdnsState,
  MqttBridge,
  type MqttSettings,
} from "../integrations/mod.ts";
import { VERSION } from "../version.ts";

/** What the boat tells others by itself. */
export interface IntegrationOptions {
  /** Publishes frames to an MQTT broker; left out: none. */
  mqtt?: MqttSettings;
  /** Announces the server by mDNS under this name; left out: it is not announced. */
  mdnsName?: string;
  /** Announces it for clients of lplex, too; default false. */
  mdnsLplex?: boolean;
  /** Tells of troubles; left out: they are lines of the log. */
  alerts?: AlertSettings;
  /** Directory of what must survive a restart; left out: nothing does. */
  stateDirectory?: string;
}

/** What outlets must know of their surroundings. */
export interface IntegrationContext {
  broker: Broker;
  clock: Clock;
  stall: StallDetector;
  log: Logger;
}

/** The ways by which a boat tells others of itself. */
export class Integrations {
  readonly mqtt: MqttBridge | undefined;
  readonly alerts: Alerts;
  readonly #options: IntegrationOptions;
  readonly #log: Logger;
  readonly #stopListening: () => void;
  #mdns: MdnsAnnouncer | undefined;

  private constructor(
    alerts: Alerts,
    { options, broker, clock, stall, log }: IntegrationContext & { options: IntegrationOptions },
  ) {
    this.alerts = alerts;
    this.#options = options;
    this.#log = log;
    this.#stopListening = broker.registry.listen((event) => alerts.device(event));
    this.mqtt = options.mqtt && new MqttBridge({ settings: options.mqtt, broker, clock, stall, log });
  }

  /** Makes the outlets; alerts go on where the last run ended. */
  static async open(options: IntegrationOptions, surroundings: IntegrationContext): Promise<Integrations> {
    const { broker, clock, log } = surroundings;
    const { stateDirectory } = options;
    const file = stateDirectory === undefined
      ? undefined
      : new AtomicFile(stateDirectory, { name: ALERT_FILE, maxBytes: MAX_ALERT_FILE_BYTES });
    const alerts = await Alerts.open(options.alerts ?? {}, { buses: broker.buses, clock, log, file });
    return new Integrations(alerts, { ...surroundings, options });
  }

  /** Begins to publish; to be awaited before frames come. */
  async start(): Promise<void> {
    await this.mqtt?.start();
  }

  /** Announces a server that listens. */
  announce(listening: ListenAddress, { tls }: { tls: boolean }): void {
    const { mdnsName: name, mdnsLplex: lplex, alerts } = this.#options;
    if (name === undefined) return;
    const instance = alerts?.instanceId;
    this.#mdns = new MdnsAnnouncer({ name, lplex, listening, tls, version: VERSION, instance, log: this.#log });
  }

  /** Looks once a second for what is to be told. `nowMs`: all frames have been read up to then. */
  look(
    { broker, lines, health: { components, replication } }: {
      broker: Broker;
      lines: readonly BusPipeline[];
      health: Pick<Health, "components" | "replication">;
    },
    nowMs: number,
  ): void {
    const buses = lines.map(({ bus, index }) => ({ state: bus.state, lastFrame: broker.lastFrame(index) }));
    this.alerts.look({ buses, components, replication }, nowMs);
  }

  /** How they do. */
  health(): Record<string, ComponentHealth> {
    const { urls = [] } = this.#options.alerts ?? {};
    return {
      ...(this.mqtt && { mqtt: this.mqtt.health() }),
      ...(urls.length > 0 && { alerts: this.alerts.health() }),
      ...(this.#mdns && { mdns: mdnsHealth(this.#mdns.state) }),
    };
  }

  /** Changes rules while running. */
  reload(rules: Partial<AlertRules>): void {
    this.alerts.reload(rules);
  }

  /** Says goodbye. */
  async stop(): Promise<void> {
    this.#stopListening();
    await Promise.all([this.mqtt?.stop(), this.#mdns?.stop(), this.alerts.stop()]);
  }
}

/** Not to be found is no fault of the server. */
function mdnsHealth(state: MdnsState): ComponentHealth {
  return { status: "ok", message: state.type === "announced" ? `announced as "${state.name}"` : state.reason };
}
