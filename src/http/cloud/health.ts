import type { Instance, Instances } from "../../cloud/mod.ts";
import type { Keepers } from "../../journal/mod.ts";
import type { ComponentHealth } from "../schemas.ts";
import type { CloudHealth } from "./schemas.ts";

export type { CloudHealth } from "./schemas.ts";

/** Number of boats that are recorded, and of boats whose recording fails. */
export interface RecordingCounts {
  recording: number;
  failing: number;
}

/** Inputs of {@linkcode evaluateCloudHealth}. */
export interface CloudHealthSources {
  instances: Pick<Instances, "size" | "connected">;
  recordings: RecordingCounts;
  /** Boats with frames missing from the disk and not received again yet; default 0. */
  damaged?: number;
  /** Boats with files that the archive command has not accepted; default 0. */
  unarchived?: number;
  /** Boats for which a second machine was refused within the last hour; default 0. */
  refusedMachines?: number;
  /** Boats whose frames of former epochs the cloud refuses; default 0. */
  refusedFormer?: number;
  /** Health of further components by name; an unhealthy one makes the server unhealthy. */
  others?: Readonly<Record<string, ComponentHealth>>;
}

/**
 * Evaluates a cloud's health: a failed component makes it degraded; when no boat can be recorded it is unhealthy. The
 * result names no boat, because the endpoint needs no token.
 */
export function evaluateCloudHealth(
  { instances, recordings, damaged = 0, unarchived = 0, refusedMachines = 0, refusedFormer = 0, others = {} }:
    CloudHealthSources,
): CloudHealth {
  const components = {
    recording: recordingHealth(recordings),
    storage: storageHealth(damaged),
    ...(unarchived > 0 && { archive: archiveHealth(unarchived) }),
    ...(refusedMachines > 0 && { identity: identityHealth(refusedMachines) }),
    ...(refusedFormer > 0 && { former_epochs: formerHealth(refusedFormer) }),
    ...others,
  };
  const states = Object.values(components).map(({ status }) => status);
  return {
    status: states.includes("unhealthy") ? "unhealthy" : states.includes("degraded") ? "degraded" : "ok",
    instances_total: instances.size,
    instances_connected: instances.connected,
    components,
  };
}

function recordingHealth({ recording, failing }: RecordingCounts): ComponentHealth {
  if (failing === 0) return { status: "ok" };
  const message = `${failing} of ${recording + failing} boats cannot be recorded`;
  return { status: recording === 0 ? "unhealthy" : "degraded", message };
}

function storageHealth(damaged: number): ComponentHealth {
  if (damaged === 0) return { status: "ok" };
  const message = `frames of ${damaged} boats are missing from the disk and are requested again`;
  return { status: "degraded", message };
}

/** Counts the boats with frames missing from the disk and not received again yet. */
export function countDamaged(instances: Instances): number {
  let count = 0;
  for (const { record } of instances) if (record.vanished.length > 0) count++;
  return count;
}

function archiveHealth(boats: number): ComponentHealth {
  return { status: "degraded", message: `boats with files that could not be archived: ${boats}` };
}

/** Counts the boats with files for which the archive command failed. */
export function countUnarchived(instances: Iterable<Pick<Instance, "id">>, keepers: Keepers | undefined): number {
  let count = 0;
  for (const { id } of instances) if ((keepers?.status(id)?.failed ?? 0) > 0) count++;
  return count;
}

function identityHealth(boats: number): ComponentHealth {
  const message = `${boats} boats had a connection refused within the last hour: two machines may share one identity`;
  return { status: "degraded", message };
}

function formerHealth(boats: number): ComponentHealth {
  const message =
    `${boats} boats have frames of former epochs that contradict the cloud's copy: the frames stay on the boats`;
  return { status: "degraded", message };
}

/** Counts the boats with a refused second machine, and those whose frames of former epochs are refused. */
export function countRefused(
  instances: Iterable<Pick<Instance, "refusedMachine" | "former">>,
): { refusedMachines: number; refusedFormer: number } {
  const counts = { refusedMachines: 0, refusedFormer: 0 };
  for (const { refusedMachine, former } of instances) {
    if (refusedMachine !== undefined) counts.refusedMachines++;
    if (former.isRefused) counts.refusedFormer++;
  }
  return counts;
}

export function countRecordings(instances: Instances): RecordingCounts {
  const counts = { recording: 0, failing: 0 };
  for (const instance of instances) {
    if (!instance.isOpen) continue;
    const { kind } = instance.summary().recording;
    if (kind !== "idle") counts[kind]++;
  }
  return counts;
}
