import type { Instance, Instances } from "../../cloud/mod.ts";
import type { Caller } from "../auth.ts";

/** The instances that a caller may know of, in the order of their ids. Those of others do not exist, for all it is told. */
export function visibleInstances(instances: Instances, { instances: ids }: Pick<Caller, "instances">): Instance[] {
  if (ids === undefined) return [...instances];
  return [...new Set(ids)].sort().flatMap((id) => instances.get(id) ?? []);
}

/** An instance, if there is one and the caller may know of it. */
export function visibleInstance(
  instances: Instances,
  id: string,
  { instances: ids }: Pick<Caller, "instances">,
): Instance | undefined {
  return ids === undefined || ids.includes(id) ? instances.get(id) : undefined;
}
