import type { Broker } from "../../broker/mod.ts";
import type { AssemblerDrops, CanBus } from "../../can/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import type { SequenceState } from "../../journal/mod.ts";
import type { LinkHealth, ReplicationStatus } from "../../replication/mod.ts";
import type { ComponentHealth, Health } from "../schemas.ts";
import { evaluateJournal, type JournalSource } from "./journal_health.ts";

export type { ComponentHealth, Health } from "../schemas.ts";

/** One bus with what belongs to it. */
export interface MonitoredBus {
  /** Index of the bus in the broker. */
  readonly index: number;
  readonly bus: CanBus;
  readonly assembler: { readonly drops: Readonly<AssemblerDrops>; readonly pending: number };
  /** Frames that a fault of ours lost. */
  readonly fault: {
    count: number;
    /** The newest fault, in words. */
    message: string;
  };
}

/** What of the link to a cloud tells how it does. */
export interface ReplicationSource {
  status(): ReplicationStatus;
  health(): LinkHealth;
}

/** What health is judged from. */
export interface HealthSources {
  broker: Broker;
  lines: readonly MonitoredBus[];
  /** Undefined where nothing is recorded. */
  journal?: JournalSource | undefined;
  /** Whether sequence numbers would survive a restart; undefined where they are not meant to. */
  numbers?: SequenceState | undefined;
  /** The link to a cloud, where there is one. */
  replication?: ReplicationSource | undefined;
  /** How further parts do, by name; an unhealthy one makes the server so. */
  others?: Readonly<Record<string, ComponentHealth>> | undefined;
  /** Silence of a bus that makes it degraded, milliseconds; undefined never does. */
  busSilenceMs: number | undefined;
  /** Monotonic time when the server started. */
  startedMs: number;
  nowMs: number;
}

/**
 * Judges the server: a failed part degrades it; when all buses have failed, or nothing can be recorded that should be, it
 * is unhealthy.
 */
export function evaluateHealth(sources: HealthSources): Health {
  const { broker, lines, journal, replication } = sources;
  const components: Record<string, ComponentHealth> = {};
  for (const line of lines) components[line.bus.name] = judgeBus(line, sources);
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
    const message = `${fault.count} payloads not decoded by a fault: ${fault.message}`;
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

function judgeBus({ bus: { state }, index, fault }: MonitoredBus, sources: HealthSources): ComponentHealth {
  if (state.type !== "up") {
    return { status: "unhealthy", message: "message" in state ? state.message : "bus is closed" };
  }
  if (state.controller === "bus-off") return { status: "unhealthy", message: "controller is bus-off" };
  if (state.controller === "error-passive") return { status: "degraded", message: "controller is error-passive" };
  const { busSilenceMs, broker, startedMs, nowMs } = sources;
  if (fault.count > 0) {
    return { status: "degraded", message: `${fault.count} frames lost by a fault: ${fault.message}` };
  }
  const silentMs = nowMs - Math.max(startedMs, broker.lastFrame(index)?.monoMs ?? 0);
  if (busSilenceMs !== undefined && silentMs > busSilenceMs) {
    return { status: "degraded", message: `no frames for ${Math.floor(silentMs / 1000)} s` };
  }
  return { status: "ok" };
}
