import type { RegistryEvent } from "../../broker/mod.ts";
import { formatName, formatTimeUs } from "../../frame/mod.ts";
import { manufacturerName } from "../../pgn/mod.ts";
import { type Condition, Subjects, type ToldSubject, WELL } from "./subjects.ts";
import type { AlertDraft, AlertRules, WatchedBus, WatchedComponents } from "./types.ts";

/** A device that moves to another address is gone for a moment; one that is gone for longer is told. */
const DEVICE_GRACE_MS = 10_000;
/** A bus is taken for dead after so long without frames: its devices are not told one by one. Shorter than the grace. */
const BUS_QUIET_MS = 5_000;
/** Devices have so long to come back once their bus does; the slowest speak every minute (PGN 126993). */
const DEVICE_RETURN_MS = 65_000;
/** Devices that are remembered as gone and not told yet. */
const MAX_ABSENT = 1024;
/** Reasons of others can be long. */
const MAX_MESSAGE_CHARS = 500;

/** Our own component: what cannot be delivered cannot tell so. */
export const ALERTS_COMPONENT = "alerts";
/** The component whose connection has alerts with names that other systems know. */
const REPLICATION = "replication";
/** Key of it while there is no connection. */
const DISCONNECTED = "disconnected";

type Silence =
  | { kind: "unknown" }
  | { kind: "silent"; sinceMs: number }
  | { kind: "talking"; wasSilentMs: number | undefined };

/** What is remembered of a bus. */
interface BusMemory {
  readonly name: string;
  /** Since when it works, as long as it does. */
  upSinceMs: number | undefined;
  isTalking: boolean;
  silence: Silence;
}

/** A device that has gone and is not told yet. */
interface Absent {
  readonly bus: number;
  readonly words: DeviceWords;
  /** When it is told; undefined while its bus is dead. */
  dueMs: number | undefined;
}

interface DeviceWords {
  readonly label: string;
  readonly details: Readonly<Record<string, string | number>>;
}

/** What is looked at, once a second. */
export interface Facts {
  /** In the order of the names that the watch was made with. */
  buses: readonly WatchedBus[];
  /** All components of health; those of buses and of the alerts themselves are passed over. */
  components: WatchedComponents;
  /** Whether there is a connection to the cloud; left out: nothing is replicated. */
  replication?: { readonly connected: boolean } | undefined;
}

/**
 * Turns facts into alerts: buses (silent, bus-off, down), devices by their NAME (gone, back), and every component of
 * health by one rule. Pure: times are handed in, monotonic milliseconds.
 */
export class AlertWatch {
  /** May be changed at any time. */
  rules: AlertRules;
  readonly #buses: readonly BusMemory[];
  readonly #subjects: Subjects;
  /** By subject. */
  readonly #absent = new Map<string, Absent>();

  /**
   * @param options.buses names of the buses, in the order of their indexes
   * @param options.told what an earlier run has told
   */
  constructor({ buses, rules, told }: { buses: readonly string[]; rules: AlertRules; told?: readonly ToldSubject[] }) {
    this.rules = rules;
    this.#subjects = new Subjects(told);
    this.#buses = buses.map((name) => ({
      name,
      upSinceMs: undefined,
      isTalking: false,
      silence: { kind: "unknown" },
    }));
  }

  /** What a restart should know: what was told that has not been told to be well again. */
  get told(): ToldSubject[] {
    return this.#subjects.told;
  }

  /** Takes note of a change of the device table. Devices without a NAME are nobody. */
  device({ event, device }: RegistryEvent, nowMs: number): void {
    const bus = this.#buses[device.bus];
    if (device.name === undefined || bus === undefined) return;
    const name = formatName(device.name);
    const subject = `device:${bus.name}:${name}`;
    const maker = device.fields && manufacturerName(device.fields.manufacturerCode);
    const model = device.product?.modelId;
    const words: DeviceWords = {
      label: [maker, model, name].filter(Boolean).join(" "),
      details: {
        bus: bus.name,
        name,
        source: device.src,
        ...(maker && { manufacturer: maker }),
        ...(model && { model_id: model }),
      },
    };
    if (event !== "removed") {
      this.#absent.delete(subject);
      this.#subjects.note(subject, deviceBack(bus.name, words));
      return;
    }
    const [oldest] = this.#absent.keys();
    if (oldest !== undefined && this.#absent.size >= MAX_ABSENT) this.#absent.delete(oldest);
    this.#absent.set(subject, { bus: device.bus, words, dueMs: nowMs + DEVICE_GRACE_MS });
  }

  /** Looks at everything. Returns what is to be told now. */
  look({ buses, ...others }: Facts, nowMs: number): AlertDraft[] {
    for (const [index, bus] of buses.entries()) {
      const memory = this.#buses[index];
      if (memory) this.#lookAtBus(memory, { bus, nowMs });
    }
    this.#lookAtComponents(others);
    this.#lookForDevices(nowMs);
    return this.#subjects.due(nowMs, this.rules.dedupWindowMs);
  }

  #lookAtBus(memory: BusMemory, { bus, nowMs }: { bus: WatchedBus; nowMs: number }): void {
    const { state, lastFrame } = bus;
    const { name } = memory;
    if (state.type !== "closed") this.#subjects.note(`bus:${name}:link`, linkOf(name, state));
    if (state.type === "up") this.#subjects.note(`bus:${name}:controller`, controllerOf(name, state.controller));
    if (state.type !== "up" || state.controller === "bus-off") {
      // It says so itself: whether it is silent, too, is no news.
      memory.upSinceMs = undefined;
      memory.isTalking = false;
      return;
    }
    memory.upSinceMs ??= nowMs;
    const heardMs = lastFrame?.monoMs ?? -Infinity;
    memory.isTalking = nowMs - heardMs <= BUS_QUIET_MS;
    memory.silence = this.#silenceOf(memory.silence, { nowMs, heardMs, upSinceMs: memory.upSinceMs });
    const condition = silenceCondition(memory, { nowMs, lastUs: lastFrame?.timeUs ?? 0 });
    if (condition) this.#subjects.note(`bus:${name}:silence`, condition);
  }

  #silenceOf(
    before: Silence,
    { nowMs, heardMs, upSinceMs }: { nowMs: number; heardMs: number; upSinceMs: number },
  ): Silence {
    const { busSilenceMs = Infinity } = this.rules;
    const sinceMs = Math.max(heardMs, upSinceMs);
    if (before.kind === "silent") {
      return heardMs > before.sinceMs && nowMs - heardMs <= busSilenceMs
        ? { kind: "talking", wasSilentMs: heardMs - before.sinceMs }
        : before;
    }
    if (nowMs - sinceMs > busSilenceMs) return { kind: "silent", sinceMs };
    return before.kind === "unknown" && heardMs >= upSinceMs ? { kind: "talking", wasSilentMs: undefined } : before;
  }

  /** Components come and go: one that is not there any more is well. */
  #lookAtComponents({ components, replication }: Omit<Facts, "buses">): void {
    const passedOver = new Set([ALERTS_COMPONENT, ...this.#buses.map(({ name }) => name)]);
    for (const [name, { status, message }] of Object.entries(components)) {
      if (passedOver.has(name)) continue;
      const subject = COMPONENT + name;
      const condition = name === REPLICATION && replication
        ? replicationCondition({ status, message }, { ...replication, told: this.#subjects.toldOf(subject) })
        : componentCondition(name, { status, message });
      if (condition) this.#subjects.note(subject, condition);
    }
    for (const subject of this.#subjects.open(COMPONENT)) {
      const name = subject.slice(COMPONENT.length);
      if (!Object.hasOwn(components, name)) this.#subjects.note(subject, componentCondition(name, { status: "ok" }));
    }
  }

  #lookForDevices(nowMs: number): void {
    for (const [subject, absent] of this.#absent) {
      const bus = this.#buses[absent.bus];
      absent.dueMs = bus?.isTalking ? absent.dueMs ?? nowMs + DEVICE_RETURN_MS : undefined;
      if (bus === undefined || absent.dueMs === undefined || nowMs < absent.dueMs) continue;
      this.#absent.delete(subject);
      this.#subjects.note(subject, deviceGone(bus.name, absent.words));
    }
  }
}

const COMPONENT = "component:";

function linkOf(bus: string, state: Exclude<WatchedBus["state"], { type: "closed" }>): Condition {
  if (state.type === "up") {
    return { key: WELL, alert: { type: "bus_up", severity: "info", summary: `${bus} is up again`, details: { bus } } };
  }
  const message = shortened(state.message);
  const details = { bus, state: state.type, message };
  const summary = `${bus} is ${state.type}: ${message}`;
  return { key: "down", alert: { type: "bus_down", severity: "critical", summary, details } };
}

function controllerOf(bus: string, controller: string): Condition {
  const details = { bus, controller };
  return controller === "bus-off"
    ? { key: "bus-off", alert: { type: "bus_off", severity: "critical", summary: `${bus} is bus-off`, details } }
    : {
      key: WELL,
      alert: { type: "bus_recovered", severity: "info", summary: `${bus} is no longer bus-off`, details },
    };
}

function silenceCondition(
  { name: bus, silence }: BusMemory,
  { nowMs, lastUs }: { nowMs: number; lastUs: number },
): Condition | undefined {
  if (silence.kind === "unknown") return undefined;
  if (silence.kind === "silent") {
    const seconds = wholeSeconds(nowMs - silence.sinceMs);
    const details = { bus, elapsed_seconds: seconds, ...(lastUs > 0 && { last_frame_time: formatTimeUs(lastUs) }) };
    const summary = `${bus} has had no frames for ${seconds} s`;
    return { key: "silent", alert: { type: "bus_silence", severity: "warning", summary, details } };
  }
  const seconds = silence.wasSilentMs === undefined ? undefined : wholeSeconds(silence.wasSilentMs);
  const summary = `${bus} has frames again` + (seconds === undefined ? "" : ` after ${seconds} s`);
  const details = { bus, ...(seconds !== undefined && { silence_duration_seconds: seconds }) };
  return { key: WELL, alert: { type: "bus_resumed", severity: "info", summary, details } };
}

function deviceGone(bus: string, { label, details }: DeviceWords): Condition {
  const summary = `${label} is gone from ${bus}`;
  return { key: "gone", alert: { type: "device_removed", severity: "warning", summary, details } };
}

function deviceBack(bus: string, { label, details }: DeviceWords): Condition {
  const summary = `${label} is back on ${bus}`;
  return { key: WELL, alert: { type: "device_returned", severity: "info", summary, details } };
}

function componentCondition(name: string, { status, message }: WatchedComponents[string]): Condition {
  const word = name.replaceAll(/[^\w]+/g, "_");
  const details = { component: name, status, ...(message !== undefined && { message: shortened(message) }) };
  if (status === "ok") {
    const summary = `${name} is well again`;
    return { key: WELL, alert: { type: `${word}_recovered`, severity: "info", summary, details } };
  }
  const severity = status === "unhealthy" ? "critical" : "warning";
  const summary = `${name} is ${status}` + (message === undefined ? "" : `: ${shortened(message)}`);
  return { key: status, alert: { type: `${word}_${status}`, severity, summary, details } };
}

/** Only what has no connection is disconnected: with one, other things can be wrong. A first try tells nothing yet. */
function replicationCondition(
  component: WatchedComponents[string],
  { connected, told }: { connected: boolean; told: string },
): Condition | undefined {
  const condition = componentCondition(REPLICATION, component);
  const { key, alert } = condition;
  if (!connected) {
    return key === WELL ? undefined : { key: DISCONNECTED, alert: { ...alert, type: "replication_disconnected" } };
  }
  if (told !== DISCONNECTED) return condition;
  // What else is wrong is told next.
  const summary = `${REPLICATION} is connected again`;
  return { key: WELL, alert: { ...alert, type: "replication_reconnected", severity: "info", summary } };
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_CHARS ? message : message.slice(0, MAX_MESSAGE_CHARS) + "…";
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
