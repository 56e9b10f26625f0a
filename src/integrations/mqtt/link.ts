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
  /** Its key, PEM. */
  key?: string;
  /** Wait between connection attempts, milliseconds. */
  retryMs: number;
  /** A broker that says nothing for one and a half times as long is given up, seconds. */
  keepaliveS: number;
  /** A broker that does not answer a new connection for so long is given up, milliseconds. */
  connectTimeoutMs: number;
}

/** State of the connection. */
export type MqttLinkState =
  | { kind: "idle" }
  | { kind: "connecting" }
  | { kind: "up"; sinceMs: number }
  | { kind: "down"; reason: string };

/** Options of the link. */
export interface MqttLinkOptions {
  access: MqttAccess;
  /** Topic of the retained status: `online` while connected, else `offline`. */
  statusTopic: string;
  clock: Clock;
  log: Logger;
  /** The connection is there; what was under way at QoS 1 and 2 has been sent again, and was acknowledged. */
  up: () => void;
  /** The connection was lost. */
  down: () => void;
  /** A ping was sent. */
  ping: () => void;
  /** A ping was answered. */
  pong: () => void;
}

/** A connection that lasted so long was a good one: its end is news, even if the reason is known. */
const SETTLED_MS = 60_000;

/** The connection to the MQTT broker: made again for ever, and telling each reason why it is not there once. */
export class MqttLink {
  readonly #options: MqttLinkOptions;
  #client: MqttClient | undefined;
  #state: MqttLinkState = { kind: "idle" };
  #stopped = false;
  #connects = 0;
  #acknowledgedMs = 0;
  /** Reason that the log has been told; nothing when it has been told that we are connected. */
  #told: string | undefined = "";
  /** The same, until a connection has lasted. */
  #known: string | undefined;
  #fault: string | undefined;

  constructor(options: MqttLinkOptions) {
    this.#options = options;
  }

  get state(): MqttLinkState {
    return this.#state;
  }

  /** True when something published now would be sent at once. */
  get isUp(): boolean {
    return this.#state.kind === "up" && this.#client?.connected === true;
  }

  /** Connections since the start. */
  get connects(): number {
    return this.#connects;
  }

  /** When the broker has last acknowledged anything, a connection included; monotonic. */
  get acknowledgedMs(): number {
    return this.#acknowledgedMs;
  }

  /** Loads the client and begins to connect; does not wait for the broker. Never rejects. */
  async start(): Promise<void> {
    this.#state = { kind: "connecting" };
    try {
      await this.#open();
    } catch (error) {
      this.#failed(wordsOf(error));
    }
  }

  /** Sends a message. `done` is called when it is acknowledged, or written at QoS 0; never when it is lost at QoS 0. */
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

  /** Sends a ping to the broker. */
  sendPing(): void {
    this.#client?.sendPing();
  }

  /** Gives the connection up for a reason, if there is one; another one follows. */
  renew(reason: string): void {
    if (!this.#client?.connected) return;
    this.#fault = reason;
    this.#client.stream.destroy();
  }

  /** Says goodbye and disconnects; after `patienceMs` without it. The broker's last will says it then. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopped = true;
    const client = this.#client;
    if (!client) return;
    const { promise: patience, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = setTimeout(giveUp, patienceMs);
    const { promise: gone, resolve: ended } = Promise.withResolvers<void>();
    if (this.isUp) {
      this.publish(this.#options.statusTopic, "offline", {
        qos: 1,
        retain: true,
        done: () => client.end(false, {}, () => ended()),
      });
    } else {
      client.end(true, {}, () => ended());
    }
    await Promise.race([gone, patience]);
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
    client.on("error", (error) => this.#fault = wordsOf(error));
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
    this.#fault = undefined;
    this.#state = { kind: "up", sinceMs: clock.monoMs() };
    if (this.#told !== undefined) log.info("connected to the MQTT broker", { broker: access.url });
    this.#told = undefined;
    this.publish(statusTopic, "online", { qos: 1, retain: true });
    up();
  }

  #closed(): void {
    const { clock, down } = this.#options;
    const state = this.#state;
    if (state.kind === "up" && clock.monoMs() - state.sinceMs > SETTLED_MS) this.#known = undefined;
    this.#failed(this.#fault ?? "the connection was closed");
    this.#fault = undefined;
    if (state.kind === "up") down();
  }

  #failed(reason: string): void {
    this.#state = { kind: "down", reason };
    if (this.#stopped || reason === this.#known) return;
    this.#known = this.#told = reason;
    this.#options.log.warn("not connected to the MQTT broker", { broker: this.#options.access.url, reason });
  }
}

/** The client knows other words for the same, but does not take them with a certificate. */
function urlForClient(url: string): string {
  return url.replace(/^tcp:/, "mqtt:").replace(/^ssl:/, "mqtts:");
}

function clientOptions({ access, statusTopic }: MqttLinkOptions): IClientOptions {
  const { clientId, qos, username, password, ca, cert, key, retryMs, keepaliveS, connectTimeoutMs } = access;
  return {
    clientId,
    // Only a session that outlives the connection can tell what was sent twice.
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

/** Why there is no connection: if several addresses failed, the reason of the first. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return wordsOf(error.errors[0]);
  return errorText(error);
}
