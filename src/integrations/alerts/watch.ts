import type { RegistryEvent } from "../../broker/mod.ts";
import { formatName, formatTimeUs } from "../../frame/mod.ts";
import { manufacturerName } from "../../pgn/mod.ts";
import type { SourceEvent } from "../../stream/mod.ts";
import { type Condition, OK, type ReportedSubject, Subjects } from "./subjects.ts";
import type { AlertDraft, AlertRules, AlertSeverity, WatchedBus, WatchedComponents } from "./types.ts";

/** A device that changes its address is removed for a moment; it is reported if it does not return within this time. */
const DEVICE_GRACE_MS = 10_000;
/** Without frames for this time, a bus counts as dead: its devices are not reported. Shorter than the grace period. */
const BUS_QUIET_MS = 5_000;
/** Time for devices to return after their bus; the slowest send every minute (PGN 126993). */
const DEVICE_RETURN_MS = 65_000;
/** Maximum number of devices that are removed and not reported yet. */
const MAX_ABSENT = 1024;
/** Messages of components can be long. */
const MAX_MESSAGE_CHARS = 500;

/** The alerts' own component, which causes no alert: it could not be delivered. */
export const ALERTS_COMPONENT = "alerts";
/** The component whose connection has alert types that other systems know. */
const REPLICATION = "replication";
/** Its key while there is no connection. */
const DISCONNECTED = "disconnected";

/** A device as the source of a quantity. */
type Device = NonNullable<SourceEvent["to"]>;

type Silence =
  | { kind: "unknown" }
  | { kind: "silent"; sinceMs: number }
  | { kind: "active"; wasSilentMs: number | undefined };

interface BusState {
  readonly name: string;
  /** Since when the bus is up; undefined while it is not. */
  upSinceMs: number | undefined;
  isActive: boolean;
  silence: Silence;
}

/** A device that was removed and is not reported yet. */
interface Absent {
  readonly bus: number;
  readonly device: DeviceText;
  /** When it is reported; undefined while its bus is dead. */
  dueMs: number | undefined;
}

interface DeviceText {
  readonly label: string;
  readonly details: Readonly<Record<string, string | number>>;
}

/** State of the boat, evaluated once a second. */
export interface Facts {
  /** In the order of the names passed to the constructor. */
  buses: readonly WatchedBus[];
  /** All components of health; those of buses and of the alerts themselves are ignored. */
  components: WatchedComponents;
  /** Whether the cloud is connected; undefined: the boat is not replicated. */
  replication?: { readonly connected: boolean } | undefined;
}

/** What the network doctor has found. */
export interface WatchedFinding {
  /** Identifies the finding. */
  key: string;
  kind: string;
  severity: AlertSeverity;
  bus: string;
  /** Source address of the device; left out: the bus as a whole. */
  src?: number;
  name?: string;
  text: string;
  advice: string;
}

/**
 * Derives alerts from the state of the boat: buses (silent, bus-off, down), devices by their NAME (removed, returned), and
 * every component of health by one rule; and findings of the network doctor. Pure: times are parameters, monotonic milliseconds.
 */
export class AlertWatch {
  /** May be changed at any time. */
  rules: AlertRules;
  readonly #buses: readonly BusState[];
  readonly #subjects: Subjects;
  /** By subject. */
  readonly #absent = new Map<string, Absent>();

  /**
   * @param options.buses names of the buses, in the order of their indexes
   * @param options.reported conditions that an earlier run reported
   */
  constructor(
    { buses, rules, reported }: { buses: readonly string[]; rules: AlertRules; reported?: readonly ReportedSubject[] },
  ) {
    this.rules = rules;
    this.#subjects = new Subjects(reported);
    this.#buses = buses.map((name) => ({ name, upSinceMs: undefined, isActive: false, silence: { kind: "unknown" } }));
  }

  /** Reported conditions that have not ended, to be stored for the next run. */
  get reported(): ReportedSubject[] {
    // The doctor of the next run does not know which of its findings were reported.
    return this.#subjects.reported.filter(({ subject }) => !subject.startsWith(FINDING));
  }

  /** Processes a change of the device table. Devices without a NAME are ignored. */
  device({ event, device }: RegistryEvent, nowMs: number): void {
    const bus = this.#buses[device.bus];
    if (device.name === undefined || bus === undefined) return;
    const name = formatName(device.name);
    const subject = `device:${bus.name}:${name}`;
    const maker = device.fields && manufacturerName(device.fields.manufacturerCode);
    const model = device.product?.modelId;
    const text: DeviceText = {
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
      this.#subjects.set(subject, deviceReturned(bus.name, text));
      return;
    }
    const [oldest] = this.#absent.keys();
    if (oldest !== undefined && this.#absent.size >= MAX_ABSENT) this.#absent.delete(oldest);
    this.#absent.set(subject, { bus: device.bus, device: text, dueMs: nowMs + DEVICE_GRACE_MS });
  }

  /** Processes a switch of a quantity's source. That a quantity has no source at all is a matter of its bus or device. */
  source({ quantity, from, to, reason }: SourceEvent): void {
    if (!from || !to) return;
    this.#subjects.set(`source:${quantity}`, sourceSwitched(quantity, { from, to, reason }));
  }

  /** Processes the beginning or the end of a finding of the network doctor; those that are no problem cause no alert. */
  finding(finding: WatchedFinding, { isOver }: { isOver: boolean }): void {
    this.#subjects.set(FINDING + finding.key, findingCondition(finding, isOver || finding.severity === "info"));
  }

  /** Evaluates the state of the boat. Returns the alerts that are due. */
  evaluate({ buses, ...others }: Facts, nowMs: number): AlertDraft[] {
    for (const [index, bus] of buses.entries()) {
      const known = this.#buses[index];
      if (known) this.#checkBus(known, { bus, nowMs });
    }
    this.#checkComponents(others);
    this.#checkDevices(nowMs);
    return this.#subjects.due(nowMs, this.rules.dedupWindowMs);
  }

  #checkBus(known: BusState, { bus, nowMs }: { bus: WatchedBus; nowMs: number }): void {
    const { state, lastFrame } = bus;
    const { name } = known;
    if (state.type !== "closed") this.#subjects.set(`bus:${name}:link`, linkCondition(name, state));
    if (state.type === "up") this.#subjects.set(`bus:${name}:controller`, controllerCondition(name, state.controller));
    if (state.type !== "up" || state.controller === "bus-off") {
      // Reported as down or bus-off: its silence is not reported as well.
      known.upSinceMs = undefined;
      known.isActive = false;
      return;
    }
    known.upSinceMs ??= nowMs;
    const frameMs = lastFrame?.monoMs ?? -Infinity;
    known.isActive = nowMs - frameMs <= BUS_QUIET_MS;
    known.silence = this.#silenceOf(known.silence, { nowMs, frameMs, upSinceMs: known.upSinceMs });
    const condition = silenceCondition(known, { nowMs, lastUs: lastFrame?.timeUs ?? 0 });
    if (condition) this.#subjects.set(`bus:${name}:silence`, condition);
  }

  #silenceOf(
    before: Silence,
    { nowMs, frameMs, upSinceMs }: { nowMs: number; frameMs: number; upSinceMs: number },
  ): Silence {
    const { busSilenceMs = Infinity } = this.rules;
    const sinceMs = Math.max(frameMs, upSinceMs);
    if (before.kind === "silent") {
      return frameMs > before.sinceMs && nowMs - frameMs <= busSilenceMs
        ? { kind: "active", wasSilentMs: frameMs - before.sinceMs }
        : before;
    }
    if (nowMs - sinceMs > busSilenceMs) return { kind: "silent", sinceMs };
    return before.kind === "unknown" && frameMs >= upSinceMs ? { kind: "active", wasSilentMs: undefined } : before;
  }

  /** A component that is no longer listed has recovered. */
  #checkComponents({ components, replication }: Omit<Facts, "buses">): void {
    const ignored = new Set([ALERTS_COMPONENT, ...this.#buses.map(({ name }) => name)]);
    for (const [name, { status, message }] of Object.entries(components)) {
      if (ignored.has(name)) continue;
      const subject = COMPONENT + name;
      const condition = name === REPLICATION && replication
        ? replicationCondition({ status, message }, {
          ...replication,
          reportedKey: this.#subjects.reportedKey(subject),
        })
        : componentCondition(name, { status, message });
      if (condition) this.#subjects.set(subject, condition);
    }
    for (const subject of this.#subjects.open(COMPONENT)) {
      const name = subject.slice(COMPONENT.length);
      if (!Object.hasOwn(components, name)) this.#subjects.set(subject, componentCondition(name, { status: "ok" }));
    }
  }

  #checkDevices(nowMs: number): void {
    for (const [subject, absent] of this.#absent) {
      const bus = this.#buses[absent.bus];
      absent.dueMs = bus?.isActive ? absent.dueMs ?? nowMs + DEVICE_RETURN_MS : undefined;
      if (bus === undefined || absent.dueMs === undefined || nowMs < absent.dueMs) continue;
      this.#absent.delete(subject);
      this.#subjects.set(subject, deviceRemoved(bus.name, absent.device));
    }
  }
}

const COMPONENT = "component:";
const FINDING = "finding:";

function linkCondition(bus: string, state: Exclude<WatchedBus["state"], { type: "closed" }>): Condition {
  if (state.type === "up") {
    return { key: OK, type: "bus_up", severity: "info", summary: `${bus} is up again`, details: { bus } };
  }
  const message = shortened(state.message);
  const details = { bus, state: state.type, message };
  const summary = `${bus} is ${state.type}: ${message}`;
  return { key: "down", type: "bus_down", severity: "critical", summary, details };
}

function controllerCondition(bus: string, controller: string): Condition {
  const details = { bus, controller };
  return controller === "bus-off"
    ? { key: "bus-off", type: "bus_off", severity: "critical", summary: `${bus} is bus-off`, details }
    : { key: OK, type: "bus_recovered", severity: "info", summary: `${bus} is no longer bus-off`, details };
}

function silenceCondition(
  { name: bus, silence }: BusState,
  { nowMs, lastUs }: { nowMs: number; lastUs: number },
): Condition | undefined {
  if (silence.kind === "unknown") return undefined;
  if (silence.kind === "silent") {
    const seconds = wholeSeconds(nowMs - silence.sinceMs);
    const details = { bus, elapsed_seconds: seconds, ...(lastUs > 0 && { last_frame_time: formatTimeUs(lastUs) }) };
    const summary = `${bus} has had no frames for ${seconds} s`;
    return { key: "silent", type: "bus_silence", severity: "warning", summary, details };
  }
  const seconds = silence.wasSilentMs === undefined ? undefined : wholeSeconds(silence.wasSilentMs);
  const summary = `${bus} has frames again` + (seconds === undefined ? "" : ` after ${seconds} s`);
  const details = { bus, ...(seconds !== undefined && { silence_duration_seconds: seconds }) };
  return { key: OK, type: "bus_resumed", severity: "info", summary, details };
}

function deviceRemoved(bus: string, { label, details }: DeviceText): Condition {
  const summary = `${label} is gone from ${bus}`;
  return { key: "gone", type: "device_removed", severity: "warning", summary, details };
}

function deviceReturned(bus: string, { label, details }: DeviceText): Condition {
  const summary = `${label} is back on ${bus}`;
  return { key: OK, type: "device_returned", severity: "info", summary, details };
}

function sourceSwitched(
  quantity: string,
  { from, to, reason }: { from: Device; to: Device; reason: SourceEvent["reason"] },
): Condition {
  const [before, now] = [sourceText(from), sourceText(to)];
  const summary = `${quantity} comes from ${now} now, no longer from ${before} (${reason})`;
  const details = { quantity, from: before, to: now, reason };
  return { key: now, type: "source_switched", severity: "warning", summary, details };
}

function findingCondition(
  { kind, severity, text, advice, key: _, ...device }: WatchedFinding,
  isOver: boolean,
): Condition {
  const details = { ...device, advice };
  return isOver
    ? { key: OK, type: `${kind}_ended`, severity: "info", summary: `No longer: ${text}`, details }
    : { key: severity, type: kind, severity, summary: text, details };
}

/** NAME, or the address where it is unknown. */
function sourceText({ name, src, bus }: Device): string {
  return name !== "" ? name : bus === undefined ? `address ${src}` : `address ${src} on ${bus}`;
}

function componentCondition(name: string, { status, message }: WatchedComponents[string]): Condition {
  const word = name.replaceAll(/[^\w]+/g, "_");
  const details = { component: name, status, ...(message !== undefined && { message: shortened(message) }) };
  if (status === "ok") {
    const summary = `${name} is ok again`;
    return { key: OK, type: `${word}_recovered`, severity: "info", summary, details };
  }
  const severity = status === "unhealthy" ? "critical" : "warning";
  const summary = `${name} is ${status}` + (message === undefined ? "" : `: ${shortened(message)}`);
  return { key: status, type: `${word}_${status}`, severity, summary, details };
}

/**
 * Condition of the replication: disconnected, or another problem of a connected one. Undefined while the first connection
 * is attempted.
 */
function replicationCondition(
  component: WatchedComponents[string],
  { connected, reportedKey }: { connected: boolean; reportedKey: string },
): Condition | undefined {
  const condition = componentCondition(REPLICATION, component);
  if (!connected) {
    return condition.key === OK ? undefined : { ...condition, key: DISCONNECTED, type: "replication_disconnected" };
  }
  if (reportedKey !== DISCONNECTED) return condition;
  // Another problem is reported by the next check.
  const summary = `${REPLICATION} is connected again`;
  return { ...condition, key: OK, type: "replication_reconnected", severity: "info", summary };
}

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_CHARS ? message : message.slice(0, MAX_MESSAGE_CHARS) + "…";
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
