import type { Clock } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { readEntities } from "./entities.ts";
import type { MqttQos } from "./link.ts";

/** Sends one message; `done` is called when it is written. */
export type MqttPublish = (
  topic: string,
  payload: string,
  options: { qos?: MqttQos; retain?: boolean; done?: (error?: Error | null) => void },
) => void;

/** What Home Assistant is told with. */
export interface MqttHomeAssistantOptions {
  broker: Broker;
  clock: Clock;
  /** Values go to `{topicPrefix}/values/{key}`. */
  topicPrefix: string;
  /** Tells this boat from others. */
  clientId: string;
  publish: MqttPublish;
}

/** Where Home Assistant looks for descriptions. */
const DISCOVERY_PREFIX = "homeassistant";
/** Most things described: a broken device must not fill a house. */
export const MAX_ENTITIES = 200;
/** When a device has said nothing for so long, another one's value may be taken. */
const PATIENCE_MS = 10_000;
/** When nothing came for so long, Home Assistant shows that there is no value. */
const EXPIRE_S = 30;

/** One thing that is shown: whose value it is, and what was published last. */
interface Shown {
  /** Bus, address and PGN. */
  source: string;
  seq: number;
  heardMs: number;
  isDescribed: boolean;
}

/**
 * Publishes newest values in steps of the caller, and describes them to Home Assistant (retained, once a connection). Of
 * several that tell the same, one is followed until it is silent.
 */
export class MqttHomeAssistant {
  readonly #options: MqttHomeAssistantOptions;
  readonly #node: string;
  readonly #shown = new Map<string, Shown>();
  #underWay = 0;
  #connection = 0;

  constructor(options: MqttHomeAssistantOptions) {
    this.#options = options;
    this.#node = options.clientId.replace(/[^\w-]/g, "_");
  }

  /** A new connection: everything is described anew, as the broker may have forgotten it. */
  up(): void {
    this.#connection++;
    this.#underWay = 0;
    for (const shown of this.#shown.values()) shown.isDescribed = false;
  }

  /** Publishes what is new since the last time; nothing while the connection does not take it. */
  round(): void {
    if (this.#underWay > 0) return;
    const { broker, clock } = this.#options;
    const nowMs = clock.monoMs();
    for (const { bus, src } of broker.registry) {
      for (const value of broker.values.of(bus, src)) {
        const source = `${bus}/${src}/${value.pgn}`;
        for (const entity of readEntities(value, broker.decoder)) {
          const shown = this.#follow(entity.key, { source, seq: value.seq, nowMs });
          if (!shown) continue;
          if (!shown.isDescribed) this.#describe(entity);
          shown.isDescribed = true;
          this.#send(`${this.#options.topicPrefix}/values/${entity.key}`, JSON.stringify(entity.value), false);
        }
      }
    }
  }

  /** Takes note of a value; gives what is shown when this is it and it is new. */
  #follow(key: string, { source, seq, nowMs }: { source: string; seq: number; nowMs: number }): Shown | undefined {
    const shown = this.#shown.get(key);
    if (!shown) {
      if (this.#shown.size >= MAX_ENTITIES) return undefined;
      const first = { source, seq, heardMs: nowMs, isDescribed: false };
      this.#shown.set(key, first);
      return first;
    }
    if (shown.source !== source && nowMs - shown.heardMs < PATIENCE_MS) return undefined;
    if (shown.seq === seq) return undefined;
    Object.assign(shown, { source, seq, heardMs: nowMs });
    return shown;
  }

  #describe({ key, name, kind, unit, deviceClass }: ReturnType<typeof readEntities>[number]): void {
    const { topicPrefix, clientId } = this.#options;
    const valueTopic = `${topicPrefix}/values/${key}`;
    const description = {
      name,
      unique_id: `${this.#node}_${key}`,
      availability_topic: `${topicPrefix}/status`,
      device: { identifiers: [this.#node], name: clientId, model: "Vessel Bus Gateway" },
      ...(kind === "position" ? { json_attributes_topic: valueTopic, source_type: "gps" } : {
        state_topic: valueTopic,
        state_class: "measurement",
        unit_of_measurement: unit,
        expire_after: EXPIRE_S,
        ...(deviceClass && { device_class: deviceClass }),
      }),
    };
    const component = kind === "position" ? "device_tracker" : "sensor";
    this.#send(`${DISCOVERY_PREFIX}/${component}/${this.#node}/${key}/config`, JSON.stringify(description), true);
  }

  #send(topic: string, payload: string, retain: boolean): void {
    const connection = this.#connection;
    this.#underWay++;
    const done = () => {
      if (connection === this.#connection) this.#underWay--;
    };
    this.#options.publish(topic, payload, { qos: 0, retain, done });
  }
}
