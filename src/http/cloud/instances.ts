import type { Instance, Instances } from "../../cloud/mod.ts";
import type { Caller } from "../auth.ts";

/** The instances visible to a caller, sorted by id. */
export function visibleInstances(instances: Instances, { instances: ids }: Pick<Caller, "instances">): Instance[] {
  if (ids === undefined) return [...instances];
  return [...new Set(ids)].sort().flatMap((id) => instances.get(id) ?? []);
}

/** The instance with this id if it exists and is visible to the caller. */
export function visibleInstance(
  instances: Instances,
  id: string,
  { instances: ids }: Pick<Caller, "instances">,
): Instance | undefined {
  return ids === undefined || ids.includes(id) ? instances.get(id) : undefined;
}
