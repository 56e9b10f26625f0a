import { eventually } from "./eventually.ts";
import type { CertificateFiles } from "./certificates.ts";
import { HeldPort } from "./held_port.ts";

/** How a broker is set up. */
export interface MosquittoOptions {
  /** Default: any free one. */
  port?: number;
  /** Names and passwords that it knows; left out: everybody may come. */
  users?: Record<string, string>;
  /** Its certificate; left out: no TLS. */
  tls?: CertificateFiles;
  /** Authority that certificates of clients must come from. */
  clientCa?: string;
  /** Further port, for WebSockets. */
  websocketPort?: number;
}

/** A message that a subscriber got. */
export interface MqttMessage {
  topic: string;
  retain: boolean;
  payload: string;
}

/** Debian's MQTT broker as a process of its own, on 127.0.0.1. */
export class Mosquitto implements AsyncDisposable {
  readonly port: number;
  /** Held by this one, unless it was told its port. */
  readonly #held: HeldPort | undefined;
  readonly #process: Deno.ChildProcess;
  readonly #logging: Promise<void>;
  #log = "";

  private constructor({ port, held, config }: { port: number; held: HeldPort | undefined; config: string }) {
    this.port = port;
    this.#held = held;
    this.#process = new Deno.Command("mosquitto", {
      args: ["-v", "-c", config],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#logging = this.#follow();
  }

  /** Starts it, with its files in a folder; it listens when this resolves. */
  static async start(folder: string, options: MosquittoOptions = {}): Promise<Mosquitto> {
    const held = options.port === undefined ? HeldPort.take() : undefined;
    const port = options.port ?? held!.port;
    const config = `${folder}/mosquitto-${port}.conf`;
    await Deno.writeTextFile(config, await configOf(folder, { ...options, port }));
    const broker = new Mosquitto({ port, held, config });
    await eventually("mosquitto runs", () => broker.log.includes("running"));
    return broker;
  }

  /** What it has logged so far. */
  get log(): string {
    return this.#log;
  }

  get url(): string {
    return `mqtt://127.0.0.1:${this.port}`;
  }

  /** Ends it at once, without a goodbye to anybody. */
  async kill(): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#process.status;
    await this.#logging;
    this.#held?.[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  async #follow(): Promise<void> {
    for await (const text of this.#process.stderr.pipeThrough(new TextDecoderStream())) this.#log += text;
  }
}

/** `mosquitto_sub` on all topics of a broker: another's eyes. */
export class MqttSubscriber implements AsyncDisposable {
  readonly messages: MqttMessage[] = [];
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  private constructor(port: number, args: readonly string[]) {
    this.#process = new Deno.Command("mosquitto_sub", {
      args: ["-h", "127.0.0.1", "-p", String(port), "-t", "#", "-F", "%r %t %p", ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#reading = this.#read();
  }

  /** Subscribes; hears everything from when this resolves. `args` go to `mosquitto_sub`. */
  static async of(broker: Mosquitto, ...args: string[]): Promise<MqttSubscriber> {
    const subscriptions = () => broker.log.split("Sending SUBACK").length;
    const before = subscriptions();
    const subscriber = new MqttSubscriber(broker.port, args);
    await eventually("the subscription", () => subscriptions() > before);
    return subscriber;
  }

  /** Payloads of one topic. */
  on(topic: string): string[] {
    return this.messages.filter((message) => message.topic === topic).map(({ payload }) => payload);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // Its broker was killed, and it with it.
    }
    await this.#process.status;
    await this.#reading;
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const text of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, retain, topic = "", payload = ""] = /^(\d) (\S+) (.*)$/.exec(line) ?? [];
        this.messages.push({ topic, payload, retain: retain === "1" });
      }
    }
  }
}

async function configOf(folder: string, options: MosquittoOptions & { port: number }): Promise<string> {
  const { port, users, tls, clientCa, websocketPort } = options;
  const lines = [`listener ${port} 127.0.0.1`, `allow_anonymous ${users === undefined}`];
  if (Deno.uid() === 0) lines.unshift("user root");
  if (users) {
    const file = `${folder}/passwords`;
    await Deno.writeTextFile(file, Object.entries(users).map(([name, word]) => `${name}:${word}\n`).join(""));
    await Deno.chmod(file, 0o600);
    const { success } = await new Deno.Command("mosquitto_passwd", { args: ["-U", file] }).output();
    if (!success) throw new Error("Cannot make the file of passwords");
    lines.push(`password_file ${file}`);
  }
  if (tls) lines.push(`certfile ${tls.certPath}`, `keyfile ${tls.keyPath}`);
  if (clientCa !== undefined) lines.push(`cafile ${clientCa}`, "require_certificate true");
  if (websocketPort !== undefined) lines.push(`listener ${websocketPort} 127.0.0.1`, "protocol websockets");
  // Whole frames without waiting for each other, and as many as a test may send.
  lines.push("set_tcp_nodelay true", "max_queued_messages 100000", "max_inflight_messages 1000");
  return lines.join("\n") + "\n";
}
