import type { Instance } from "../../cloud/mod.ts";
import type { ComponentHealth } from "../schemas.ts";
import type { CloudHealth } from "./schemas.ts";

export type { CloudHealth } from "./schemas.ts";

/** The part of an instance that health needs. */
export interface MonitoredInstance
  extends Pick<Instance, "id" | "connected" | "isOpen" | "recording" | "refusedMachine"> {
  record: Pick<Instance["record"], "vanished">;
  former: Pick<Instance["former"], "isRefused">;
}

/** Inputs of {@linkcode evaluateCloudHealth}. */
export interface CloudHealthSources {
  instances: Iterable<MonitoredInstance>;
  /** True if the archive command has refused files of a boat; default false. */
  archiveFailed?: (id: string) => boolean;
  /** Health of further components by name; an unhealthy one makes the server unhealthy. */
  others?: Readonly<Record<string, ComponentHealth>>;
}

/**
 * Evaluates a cloud's health: a failed component makes it degraded; when no boat can be recorded it is unhealthy. The
 * result names no boat, because the endpoint needs no token.
 */
export function evaluateCloudHealth({ instances, archiveFailed, others = {} }: CloudHealthSources): CloudHealth {
  const counts = { all: 0, connected: 0, recording: 0, failing: 0, damaged: 0, unarchived: 0, copied: 0, refused: 0 };
  for (const { id, connected, isOpen, recording: { kind }, record, former, refusedMachine } of instances) {
    counts.all++;
    if (connected) counts.connected++;
    if (isOpen && kind !== "idle") counts[kind]++;
    if (record.vanished.length > 0) counts.damaged++;
    if (archiveFailed?.(id)) counts.unarchived++;
    if (refusedMachine !== undefined) counts.copied++;
    if (former.isRefused) counts.refused++;
  }
  const { all, connected, damaged, unarchived, copied, refused } = counts;
  const components = {
    recording: recordingHealth(counts),
    storage: damaged === 0
      ? { status: "ok" } as const
      : degraded(`frames of ${damaged} boats are missing from the disk and are requested again`),
    ...(unarchived > 0 && { archive: degraded(`boats with files that could not be archived: ${unarchived}`) }),
    ...(copied > 0 && {
      identity: degraded(
        `${copied} boats had a connection refused within the last hour: two machines may share one identity`,
      ),
    }),
    ...(refused > 0 && {
      former_epochs: degraded(
        `${refused} boats have frames of former epochs that contradict the cloud's copy: the frames stay on the boats`,
      ),
    }),
    ...others,
  };
  const states = Object.values(components).map(({ status }) => status);
  return {
    status: states.includes("unhealthy") ? "unhealthy" : states.includes("degraded") ? "degraded" : "ok",
    instances_total: all,
    instances_connected: connected,
    components,
  };
}

function recordingHealth({ recording, failing }: { recording: number; failing: number }): ComponentHealth {
  if (failing === 0) return { status: "ok" };
  const message = `${failing} of ${recording + failing} boats cannot be recorded`;
  return { status: recording === 0 ? "unhealthy" : "degraded", message };
}

function degraded(message: string): ComponentHealth {
  return { status: "degraded", message };
}
