import type { ObjectStore } from "../../object_store/mod.ts";
import type { ObjectCache } from "./object_cache.ts";
import type { SidecarCache } from "./sidecar_cache.ts";

/** An object store for the frames of all boats: what it has answered for survives the loss of this node. */
export interface FrameStore {
  readonly store: ObjectStore;
  /** Parts of objects in memory, shared by all boats. */
  readonly cache: ObjectCache;
  /** True while the store is known not to answer; left out: it is not known. */
  readonly isAway?: (() => boolean) | undefined;
  /** Sidecars of objects on the local disk; left out: series are read from the frames. */
  readonly sidecars?: SidecarCache | undefined;
  /** Name of this node, part of keys; default {@linkcode ONLY_NODE}. */
  readonly node?: string | undefined;
}

/** Name of a node that shares its boats with no other one. */
export const ONLY_NODE = "node";
