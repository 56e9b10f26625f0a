import type { ObjectStore } from "../../object_store/mod.ts";
import type { ObjectCache } from "./object_cache.ts";

/** An object store for the frames of all boats: what it has answered for survives the loss of this node. */
export interface FrameStore {
  readonly store: ObjectStore;
  /** Parts of objects in memory, shared by all boats. */
  readonly cache: ObjectCache;
}
