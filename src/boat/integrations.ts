import { AtomicFile, type Clock, type ListenAddress, type Logger, type StallDetector } from "../base/mod.ts";
import type { StreamHub } from "../stream/mod.ts";
import type { BoatTransmit } from "./transmit.ts";
import type { BusPipeline } from "./bus_pipelines.ts";
import type { Broker } from "../broker/mod.ts";
import type { ComponentHealth, Health } from "../http/mod.ts";
import {
  type Alert,
  ALERT_FILE,
  type AlertRules,
  Alerts,
  type AlertSettings,
  GatewayServer,
  type GatewayServerSettings,
  MAX_ALERT_FILE_BYTES,
  MdnsAnnouncer,
  type MdnsService,
  type MdnsState,
  MqttBridge,
  type MqttSettings,
  Nmea0183Server,
  type Nmea0183Settings,
  PEER_SERVICE,
} from "../integrations/mod.ts";
import { VERSION } from "../version.ts";

/** Options of the integrations. */
export interface IntegrationOptions {
  /** MQTT broker that frames are published to; default none. */
  mqtt?: MqttSettings;
  /** Sentences of NMEA 0183 for TCP clients and UDP addresses; default none. */
  nmea0183?: Nmea0183Settings;
  /** Gateway server: frames for programs that can use a gateway of another maker; default none. */
  gateway?: GatewayServerSettings;
  /** Name that mDNS announces; default: no announcement. */
  mdnsName?: string;
  /** Also announces the server for clients of lplex; default false. */
  mdnsLplex?: boolean;
  /** Delivery of alerts; default: they are only logged. */
  alerts?: AlertSettings;
  /** Directory for state that must survive a restart; default none: alerts are not stored. */
  stateDirectory?: string;
}

/** Dependencies of the integrations. */
export interface IntegrationContext {
  broker: Broker;
  hub: StreamHub;
  transmit: BoatTransmit;
  /** Gets each alert; default: nobody. */
  raised?: ((alert: Alert) => void) | undefined;
  clock: Clock;
  stall: StallDetector;
  log: Logger;
}

/** MQTT, NMEA 0183, gateway server, mDNS and alerts of a boat. */
export class Integrations {
  readonly mqtt: MqttBridge | undefined;
  readonly nmea0183: Nmea0183Server | undefined;
  readonly gateway: GatewayServer | undefined;
  readonly alerts: Alerts;
  readonly #options: IntegrationOptions;
  readonly #log: Logger;
  readonly #stopListening: () => void;
  #mdns: MdnsAnnouncer | undefined;

  private constructor(
    alerts: Alerts,
    { options, broker, hub, transmit, clock, stall, log }: IntegrationContext & { options: IntegrationOptions },
  ) {
    this.alerts = alerts;
    this.#options = options;
    this.#log = log;
    const stops = [
      broker.registry.listen((event) => alerts.device(event)),
      hub.sources.listen((event) => alerts.source(event)),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop());
    this.mqtt = options.mqtt && new MqttBridge({ settings: options.mqtt, broker, clock, stall, log });
    const quantities = () => hub.sources.list();
    this.nmea0183 = options.nmea0183 &&
      new Nmea0183Server({ settings: options.nmea0183, broker, quantities, clock, stall, log });
    const { gate } = transmit;
    const ownAddress = (bus: number) => transmit.ownAddress(bus);
    this.gateway = options.gateway &&
      new GatewayServer({ settings: options.gateway, broker, gate, ownAddress, clock, stall, log });
  }

  /**
   * Restores alerts from the last run.
   *
   * @throws {BusError} the gateway server is to serve an unknown bus
   */
  static async open(options: IntegrationOptions, context: IntegrationContext): Promise<Integrations> {
    const { broker, raised, clock, log } = context;
    const { stateDirectory } = options;
    const file = stateDirectory === undefined
      ? undefined
      : new AtomicFile(stateDirectory, { name: ALERT_FILE, maxBytes: MAX_ALERT_FILE_BYTES });
    const alerts = await Alerts.open(options.alerts ?? {}, { buses: broker.buses, raised, clock, log, file });
    return new Integrations(alerts, { ...context, options });
  }

  /** Starts publishing; await it before frames arrive. */
  async start(): Promise<void> {
    this.nmea0183?.start();
    this.gateway?.start();
    await this.mqtt?.start();
  }

  /** Announces a listening server by mDNS. */
  announce(listening: ListenAddress, { tls, services }: { tls: boolean; services: readonly MdnsService[] }): void {
    const { mdnsName: name, mdnsLplex: lplex, alerts } = this.#options;
    if (name === undefined) return;
    const instance = alerts?.instanceId;
    const all = [...services, ...(lplex ? [{ type: PEER_SERVICE }] : [])];
    this.#mdns = new MdnsAnnouncer({ name, services: all, listening, tls, version: VERSION, instance, log: this.#log });
  }

  /** Checks for alerts; called once a second. `nowMs`: all frames received until then have been processed. */
  check(
    { broker, pipelines, health: { components, replication } }: {
      broker: Broker;
      pipelines: readonly BusPipeline[];
      health: Pick<Health, "components" | "replication">;
    },
    nowMs: number,
  ): void {
    const buses = pipelines.map(({ bus, index }) => ({ state: bus.state, lastFrame: broker.lastFrame(index) }));
    this.alerts.evaluate({ buses, components, replication }, nowMs);
  }

  /** Health by component. */
  health(): Record<string, ComponentHealth> {
    const { urls = [] } = this.#options.alerts ?? {};
    return {
      ...(this.mqtt && { mqtt: this.mqtt.health() }),
      ...(this.nmea0183 && { nmea0183: this.nmea0183.health() }),
      ...(this.gateway && { gateway: this.gateway.health() }),
      ...(urls.length > 0 && { alerts: this.alerts.health() }),
      ...(this.#mdns && { mdns: mdnsHealth(this.#mdns.state) }),
    };
  }

  /** Replaces rules of alerts. */
  reload(rules: Partial<AlertRules>): void {
    this.alerts.reload(rules);
  }

  /** Withdraws the mDNS announcement and disconnects. */
  async stop(): Promise<void> {
    this.#stopListening();
    this.nmea0183?.stop();
    this.gateway?.stop();
    await Promise.all([this.mqtt?.stop(), this.#mdns?.stop(), this.alerts.stop()]);
  }
}

/** A server that is not announced is healthy all the same. */
function mdnsHealth(state: MdnsState): ComponentHealth {
  return { status: "ok", message: state.type === "announced" ? `announced as "${state.name}"` : state.reason };
}
