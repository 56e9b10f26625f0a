import type { Broker } from "../../broker/mod.ts";
import type { AssemblerDrops, CanBus } from "../../can/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import type { SequenceState } from "../../journal/mod.ts";
import type { LinkHealth, ReplicationStatus } from "../../replication/mod.ts";
import type { ComponentHealth, Health } from "../schemas.ts";
import { evaluateJournal, type JournalSource } from "./journal_health.ts";

export type { ComponentHealth, Health } from "../schemas.ts";

/** A bus with its assembler and fault counter. */
export interface MonitoredBus {
  /** Index of the bus in the broker. */
  readonly index: number;
  readonly bus: CanBus;
  readonly assembler: { readonly drops: Readonly<AssemblerDrops>; readonly pending: number };
  /** Frames lost by a fault of the server. */
  readonly fault: {
    count: number;
    /** Error text of the newest fault. */
    message: string;
  };
}

/** The part of the link to a cloud that health needs. */
export interface ReplicationSource {
  status(): ReplicationStatus;
  health(): LinkHealth;
}

/** Inputs of {@linkcode evaluateHealth}. */
export interface HealthSources {
  broker: Broker;
  lines: readonly MonitoredBus[];
  /** Undefined: nothing is recorded. */
  journal?: JournalSource | undefined;
  /** Whether sequence numbers survive a restart; undefined: they need not. */
  numbers?: SequenceState | undefined;
  /** Undefined: nothing is replicated. */
  replication?: ReplicationSource | undefined;
  /** Health of further components by name; an unhealthy one makes the server unhealthy. */
  others?: Readonly<Record<string, ComponentHealth>> | undefined;
  /** A bus silent for longer is degraded, milliseconds; undefined: never. */
  busSilenceMs: number | undefined;
  /** Monotonic time when the server started. */
  startedMs: number;
  nowMs: number;
}

/**
 * Evaluates the server's health: a failed component makes it degraded; it is unhealthy when all buses have failed or when
 * recording has failed.
 */
export function evaluateHealth(sources: HealthSources): Health {
  const { broker, lines, journal, replication } = sources;
  const components: Record<string, ComponentHealth> = {};
  for (const line of lines) components[line.bus.name] = evaluateBus(line, sources);
  const buses = Object.values(components);
  const noBus = buses.length > 0 && buses.every(({ status }) => status === "unhealthy");
  if (journal) components.journal = evaluateJournal(journal);
  if (replication) components.replication = replication.health();
  Object.assign(components, sources.others);
  const failed = noBus ||
    [components.journal, ...Object.values(sources.others ?? {})].some((each) => each?.status === "unhealthy");
  const { numbers } = sources;
  if (numbers && numbers.status !== "durable") {
    const message = `sequence numbers cannot be reserved on disk: ${numbers.error}`;
    components.numbers = { status: "degraded", message };
  }
  const { fault } = broker.decoder;
  if (fault.count > 0) {
    const message = `${fault.count} payloads not decoded because of a fault: ${fault.message}`;
    components.decoder = { status: "degraded", message };
  }
  const lastUs = Math.max(0, ...broker.buses.map((_, index) => broker.lastFrame(index)?.timeUs ?? 0));
  return {
    status: failed ? "unhealthy" : Object.values(components).every(({ status }) => status === "ok") ? "ok" : "degraded",
    broker: {
      status: "ok",
      frames_total: broker.published,
      head_seq: broker.head,
      device_count: broker.registry.size,
      ring_entries: broker.ring.size,
      ring_capacity: broker.ring.capacity,
    },
    last_frame_at: lastUs > 0 ? formatTimeUs(lastUs) : null,
    ...(replication && { replication: summaryOf(replication) }),
    components,
  };
}

function summaryOf(replication: ReplicationSource): NonNullable<Health["replication"]> {
  const { connected, live_lag, backfill_remaining_seqs, last_ack } = replication.status();
  return { status: replication.health().status, connected, live_lag, backfill_remaining_seqs, last_ack };
}

function evaluateBus({ bus: { state }, index, fault }: MonitoredBus, sources: HealthSources): ComponentHealth {
  if (state.type !== "up") {
    return { status: "unhealthy", message: "message" in state ? state.message : "bus is closed" };
  }
  if (state.controller === "bus-off") return { status: "unhealthy", message: "controller is bus-off" };
  if (state.controller === "error-passive") return { status: "degraded", message: "controller is error-passive" };
  const { busSilenceMs, broker, startedMs, nowMs } = sources;
  if (fault.count > 0) {
    return { status: "degraded", message: `${fault.count} frames lost because of a fault: ${fault.message}` };
  }
  const silentMs = nowMs - Math.max(startedMs, broker.lastFrame(index)?.monoMs ?? 0);
  if (busSilenceMs !== undefined && silentMs > busSilenceMs) {
    return { status: "degraded", message: `no frames for ${Math.floor(silentMs / 1000)} s` };
  }
  return { status: "ok" };
}
