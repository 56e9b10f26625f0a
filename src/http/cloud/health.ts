import type { Instance, Instances } from "../../cloud/mod.ts";
import type { Keepers } from "../../journal/mod.ts";
import type { ComponentHealth } from "../schemas.ts";
import type { CloudHealth } from "./schemas.ts";

export type { CloudHealth } from "./schemas.ts";

/** How many boats are recorded, and how many cannot be. */
export interface RecordingCounts {
  recording: number;
  failing: number;
}

/** What a cloud's health is judged from. */
export interface CloudHealthSources {
  instances: Pick<Instances, "size" | "connected">;
  recordings: RecordingCounts;
  /** Boats of which frames are gone from the disk and have not come again; default 0. */
  damaged?: number;
  /** Boats of which the archive command failed for files, and has not taken them since; default 0. */
  unarchived?: number;
  /** Boats of which another machine was refused within the last hour; default 0. */
  refusedMachines?: number;
  /** Boats that have frames of former epochs of which none are taken; default 0. */
  refusedFormer?: number;
  /** How further parts do, by name; an unhealthy one makes the server so. */
  others?: Readonly<Record<string, ComponentHealth>>;
}

/**
 * Judges a cloud: a part that does not work degrades it, and when no boat can be recorded it is unhealthy. Anybody may
 * ask for this, so it names no boat.
 */
export function evaluateCloudHealth(
  { instances, recordings, damaged = 0, unarchived = 0, refusedMachines = 0, refusedFormer = 0, others = {} }:
    CloudHealthSources,
): CloudHealth {
  const components = {
    recording: judgeRecordings(recordings),
    storage: judgeStorage(damaged),
    ...(unarchived > 0 && { archive: judgeArchive(unarchived) }),
    ...(refusedMachines > 0 && { identity: judgeIdentity(refusedMachines) }),
    ...(refusedFormer > 0 && { former_epochs: judgeFormer(refusedFormer) }),
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

function judgeRecordings({ recording, failing }: RecordingCounts): ComponentHealth {
  if (failing === 0) return { status: "ok" };
  const message = `${failing} of ${recording + failing} boats cannot be recorded`;
  return { status: recording === 0 ? "unhealthy" : "degraded", message };
}

function judgeStorage(damaged: number): ComponentHealth {
  if (damaged === 0) return { status: "ok" };
  const message = `frames of ${damaged} boats are gone from the disk, and are asked for again`;
  return { status: "degraded", message };
}

/** Counts the boats of which frames are gone from the disk and have not come again. */
export function countDamaged(instances: Instances): number {
  let count = 0;
  for (const { record } of instances) if (record.vanished.length > 0) count++;
  return count;
}

function judgeArchive(boats: number): ComponentHealth {
  return { status: "degraded", message: `boats with files that could not be archived: ${boats}` };
}

/** Counts the boats with files for which the archive command failed. */
export function countUnarchived(instances: Iterable<Pick<Instance, "id">>, keepers: Keepers | undefined): number {
  let count = 0;
  for (const { id } of instances) if ((keepers?.status(id)?.failed ?? 0) > 0) count++;
  return count;
}

function judgeIdentity(boats: number): ComponentHealth {
  const message = `${boats} boats were refused within the last hour: two machines may have the identity of one`;
  return { status: "degraded", message };
}

function judgeFormer(boats: number): ComponentHealth {
  const message = `${boats} boats have frames of former epochs of which other content is here: they stay on the boats`;
  return { status: "degraded", message };
}

/** Counts the boats of which another machine was refused within the last hour, and those with frames that are not taken. */
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

/** Counts the boats that are recorded and those that cannot be. */
export function countRecordings(instances: Instances): RecordingCounts {
  const counts = { recording: 0, failing: 0 };
  for (const instance of instances) {
    if (!instance.isOpen) continue;
    const { kind } = instance.summary().recording;
    if (kind !== "idle") counts[kind]++;
  }
  return counts;
}
