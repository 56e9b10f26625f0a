import { Logger, silentLogger, StallDetector, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { MqttBridge, type MqttSettings } from "../../src/integrations/mqtt/mqtt.ts";
import { type FrameInit, message } from "../support/messages.ts";

/** A bridge with a broker of its own, or another's. */
export class TestBridge implements AsyncDisposable {
  readonly broker: Broker;
  readonly bridge: MqttBridge;
  /** Lines of the log. */
  readonly log: string[] = [];
  readonly #stall = new StallDetector(silentLogger);

  private constructor(settings: Partial<MqttSettings> & { url: string }, broker: Broker) {
    this.broker = broker;
    this.bridge = new MqttBridge({
      settings: { ...DEFAULTS, ...settings },
      broker,
      clock: systemClock,
      stall: this.#stall,
      log: new Logger({ write: (line) => this.log.push(line) }),
    });
  }

  /** Starts one. */
  static async start(
    { broker = new Broker({ buses: ["can0"] }), ...settings }: Partial<MqttSettings> & { url: string; broker?: Broker },
  ): Promise<TestBridge> {
    const bridge = new TestBridge(settings, broker);
    await bridge.bridge.start();
    return bridge;
  }

  get isUp(): boolean {
    return this.bridge.health().status === "ok";
  }

  get reason(): string {
    return this.bridge.health().message ?? "";
  }

  /** Publishes frames. */
  say(count: number, init: FrameInit = {}): void {
    for (let i = 0; i < count; i++) this.broker.publish(message(init));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bridge.stop();
    this.#stall.stop();
  }
}

const DEFAULTS = {
  topicPrefix: "vbg",
  clientId: "vbg-boat",
  qos: 1,
  bufferFrames: 128,
  retryMs: 50,
  filter: {},
  decode: false,
  pgnTopics: false,
  homeAssistant: false,
} as const;
