import type { IClientOptions, MqttClient, Packet } from "mqtt";
import { type Clock, errorText, importLate, type Logger } from "../../base/mod.ts";

type MqttPackage = typeof import("./mqtt_package.ts");

/** How messages are delivered: at most once, at least once, exactly once. */
export type MqttQos = 0 | 1 | 2;

/** Address of the MQTT broker and credentials. */
export interface MqttAccess {
  /** `mqtt://`, `tcp://`, `mqtts://`, `ssl://`, `ws://` or `wss://`; without a port: the scheme's. */
  url: string;
  /** Client id; must be unique at the broker, which disconnects duplicates. */
  clientId: string;
  /** How frames are delivered. */
  qos: MqttQos;
  /** User name; default none. */
  username?: string;
  /** Password of the user. */
  password?: string;
  /** Root certificates for the broker, PEM; default the system's. */
  ca?: string;
  /** Client certificate, PEM; default none. */
  cert?: string;
  /** Key of the client certificate, PEM. */
  key?: string;
  /** Wait between connection attempts, milliseconds. */
  retryMs: number;
  /** Keep-alive interval, seconds. The connection is closed after one and a half intervals without a packet. */
  keepaliveS: number;
  /** Maximum wait for the answer to a connection attempt, milliseconds. */
  connectTimeoutMs: number;
}

/** State of the connection. */
export type MqttLinkState =
  | { kind: "idle" }
  | { kind: "connecting" }
  | { kind: "up"; sinceMs: number }
  | { kind: "down"; reason: string };

/** Options of {@linkcode MqttLink}. */
export interface MqttLinkOptions {
  access: MqttAccess;
  /** Topic of the retained status: `online` while connected, else `offline`. */
  statusTopic: string;
  clock: Clock;
  log: Logger;
  /** Called when connected. In-flight messages of QoS 1 and 2 have been sent again and acknowledged by then. */
  up: () => void;
  /** Called when the connection was lost. */
  down: () => void;
  /** Called when a ping was sent. */
  ping: () => void;
  /** Called when a ping was answered. */
  pong: () => void;
}

/** The end of a connection that lasted this long is logged even if its reason was logged before. */
const STABLE_MS = 60_000;

/** The connection to the MQTT broker. Reconnects without limit, and logs each reason for a failure once. */
export class MqttLink {
  readonly #options: MqttLinkOptions;
  #client: MqttClient | undefined;
  #state: MqttLinkState = { kind: "idle" };
  #stopped = false;
  #connects = 0;
  #acknowledgedMs = 0;
  /** Reason of the last log line; undefined after the line about an established connection. */
  #loggedState: string | undefined = "";
  /** Reason that is not logged again until a connection was stable. */
  #loggedReason: string | undefined;
  #error: string | undefined;

  constructor(options: MqttLinkOptions) {
    this.#options = options;
  }

  get state(): MqttLinkState {
    return this.#state;
  }

  /** True when a message published now would be sent at once. */
  get isUp(): boolean {
    return this.#state.kind === "up" && this.#client?.connected === true;
  }

  /** Connections since the start. */
  get connects(): number {
    return this.#connects;
  }

  /** When the broker last acknowledged a message or a connection, monotonic milliseconds. */
  get acknowledgedMs(): number {
    return this.#acknowledgedMs;
  }

  /** Loads the client library and begins to connect; does not wait for the broker. Never rejects. */
  async start(): Promise<void> {
    this.#state = { kind: "connecting" };
    try {
      await this.#open();
    } catch (error) {
      this.#failed(reasonOf(error));
    }
  }

  /** Sends a message. `done` is called when it is acknowledged, at QoS 0 when it is written; not if it is lost at QoS 0. */
  publish(
    topic: string,
    payload: string,
    { qos = this.#options.access.qos, retain = false, done = () => {} }: {
      qos?: MqttQos;
      retain?: boolean;
      done?: (error?: Error | null) => void;
    } = {},
  ): void {
    this.#client?.publish(topic, payload, { qos, retain }, done);
  }

  sendPing(): void {
    this.#client?.sendPing();
  }

  /** Closes an open connection with this reason; the link connects again. */
  reconnect(reason: string): void {
    if (!this.#client?.connected) return;
    this.#error = reason;
    this.#client.stream.destroy();
  }

  /** Publishes the status `offline` and disconnects, within `timeoutMs`. If that is too short, the last will says it. */
  async stop(timeoutMs: number): Promise<void> {
    this.#stopped = true;
    const client = this.#client;
    if (!client) return;
    const { promise: timeout, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = setTimeout(giveUp, timeoutMs);
    const { promise: disconnected, resolve: ended } = Promise.withResolvers<void>();
    if (this.isUp) {
      this.publish(this.#options.statusTopic, "offline", {
        qos: 1,
        retain: true,
        done: () => client.end(false, {}, () => ended()),
      });
    } else {
      client.end(true, {}, () => ended());
    }
    await Promise.race([disconnected, timeout]);
    clearTimeout(timer);
    this.#state = { kind: "idle" };
    client.end(true);
    client.stream.destroy();
  }

  async #open(): Promise<void> {
    const { connect } = await importLate<MqttPackage>(new URL("./mqtt_package.ts", import.meta.url));
    if (this.#stopped) return;
    const { access, clock, ping, pong } = this.#options;
    const client = connect(urlForClient(access.url), clientOptions(this.#options));
    this.#client = client;
    client.on("connect", () => this.#connected());
    client.on("error", (error) => this.#error = reasonOf(error));
    client.on("close", () => this.#closed());
    client.on("packetsend", ({ cmd }: Packet) => cmd === "pingreq" && ping());
    client.on("packetreceive", ({ cmd }: Packet) => {
      if (cmd === "pingresp") pong();
      else this.#acknowledgedMs = clock.monoMs();
    });
  }

  #connected(): void {
    const { clock, log, access, statusTopic, up } = this.#options;
    this.#connects++;
    this.#error = undefined;
    this.#state = { kind: "up", sinceMs: clock.monoMs() };
    if (this.#loggedState !== undefined) log.info("connected to the MQTT broker", { broker: access.url });
    this.#loggedState = undefined;
    this.publish(statusTopic, "online", { qos: 1, retain: true });
    up();
  }

  #closed(): void {
    const { clock, down } = this.#options;
    const state = this.#state;
    if (state.kind === "up" && clock.monoMs() - state.sinceMs > STABLE_MS) this.#loggedReason = undefined;
    this.#failed(this.#error ?? "the connection was closed");
    this.#error = undefined;
    if (state.kind === "up") down();
  }

  #failed(reason: string): void {
    this.#state = { kind: "down", reason };
    if (this.#stopped || reason === this.#loggedReason) return;
    this.#loggedReason = this.#loggedState = reason;
    this.#options.log.warn("not connected to the MQTT broker", { broker: this.#options.access.url, reason });
  }
}

/** The client library accepts `tcp:` and `ssl:`, but not together with a certificate. */
function urlForClient(url: string): string {
  return url.replace(/^tcp:/, "mqtt:").replace(/^ssl:/, "mqtts:");
}

function clientOptions({ access, statusTopic }: MqttLinkOptions): IClientOptions {
  const { clientId, qos, username, password, ca, cert, key, retryMs, keepaliveS, connectTimeoutMs } = access;
  return {
    clientId,
    // Exactly-once delivery (QoS 2) needs a session that survives the connection.
    clean: qos < 2,
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    will: { topic: statusTopic, payload: "offline", qos: 1, retain: true },
    keepalive: keepaliveS,
    connectTimeout: connectTimeoutMs,
    reconnectPeriod: retryMs,
    reconnectOnConnackError: true,
    queueQoSZero: false,
    timerVariant: "native",
  };
}

/** Text of an error; if several addresses failed, that of the first. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return errorText(error);
}
