import type { Clock } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { type Entity, readEntities } from "./entities.ts";
import type { MqttQos } from "./link.ts";

/** Publishes one message; `done` is called when it is written. */
export type MqttPublish = (
  topic: string,
  payload: string,
  options: { qos?: MqttQos; retain?: boolean; done?: (error?: Error | null) => void },
) => void;

/** Options of {@linkcode MqttHomeAssistant}. */
export interface MqttHomeAssistantOptions {
  broker: Broker;
  clock: Clock;
  /** Values are published to `{topicPrefix}/values/{key}`. */
  topicPrefix: string;
  /** Identifies this boat at the MQTT broker. */
  clientId: string;
  publish: MqttPublish;
}

/** Topic prefix of Home Assistant's discovery messages. */
const DISCOVERY_PREFIX = "homeassistant";
/** Maximum number of entities: a faulty device must not flood Home Assistant. */
export const MAX_ENTITIES = 200;
/** After this time without a value from its source, an entity may take the value of another source. */
const SOURCE_TIMEOUT_MS = 10_000;
/** After this time without a value, Home Assistant shows the entity as unavailable. */
const EXPIRE_S = 30;

/** State of a published entity. */
interface Published {
  /** Bus, address and PGN. */
  source: string;
  seq: number;
  updatedMs: number;
  isDescribed: boolean;
}

/**
 * Publishes the newest values whenever the caller asks, and describes them to Home Assistant: retained discovery messages,
 * once per connection. If several sources send the same value, one of them is used until it is silent.
 */
export class MqttHomeAssistant {
  readonly #options: MqttHomeAssistantOptions;
  readonly #node: string;
  readonly #published = new Map<string, Published>();
  #inFlight = 0;
  #connection = 0;

  constructor(options: MqttHomeAssistantOptions) {
    this.#options = options;
    this.#node = options.clientId.replace(/[^\w-]/g, "_");
  }

  /** A connection was established: everything is described again, as the MQTT broker may have lost it. */
  connected(): void {
    this.#connection++;
    this.#inFlight = 0;
    for (const entity of this.#published.values()) entity.isDescribed = false;
  }

  /** Publishes values that are new since the last call; nothing while messages of that call are still unwritten. */
  publish(): void {
    if (this.#inFlight > 0) return;
    const { broker, clock } = this.#options;
    const nowMs = clock.monoMs();
    for (const { bus, src } of broker.registry) {
      for (const value of broker.values.of(bus, src)) {
        const source = `${bus}/${src}/${value.pgn}`;
        for (const entity of readEntities(value, broker.decoder)) {
          const published = this.#update(entity.key, { source, seq: value.seq, nowMs });
          if (!published) continue;
          if (!published.isDescribed) this.#describe(entity);
          published.isDescribed = true;
          this.#send(`${this.#options.topicPrefix}/values/${entity.key}`, JSON.stringify(entity.value), false);
        }
      }
    }
  }

  /** Records a value. Returns its entity if the value is new and comes from the source in use. */
  #update(key: string, { source, seq, nowMs }: { source: string; seq: number; nowMs: number }): Published | undefined {
    const known = this.#published.get(key);
    if (!known) {
      if (this.#published.size >= MAX_ENTITIES) return undefined;
      const first = { source, seq, updatedMs: nowMs, isDescribed: false };
      this.#published.set(key, first);
      return first;
    }
    if (known.source !== source && nowMs - known.updatedMs < SOURCE_TIMEOUT_MS) return undefined;
    if (known.seq === seq) return undefined;
    return Object.assign(known, { source, seq, updatedMs: nowMs });
  }

  #describe({ key, name, kind, unit, deviceClass }: Entity): void {
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
    this.#inFlight++;
    const done = () => {
      if (connection === this.#connection) this.#inFlight--;
    };
    this.#options.publish(topic, payload, { qos: 0, retain, done });
  }
}
