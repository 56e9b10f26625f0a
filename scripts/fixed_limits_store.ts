import { NODE_EXPIRES_MS } from "../src/cloud/nodes/node_list.ts";
import { NODE_AWAY_MS } from "../src/cloud/nodes/nodes.ts";
import { COMPACTED_AT_ONCE, COMPACTION_INTERVAL_MS, DAY_SPREAD_MS } from "../src/cloud/store/compaction/compactor.ts";
import { GRACE_MS } from "../src/cloud/store/compaction/compact_boat.ts";
import { SETTLE_MS } from "../src/cloud/store/compaction/plan.ts";
import { OBJECT_BYTES } from "../src/cloud/store/frame_objects.ts";
import { BOATS_AT_ONCE, RETRY_MS, UNKEPT_INTERVAL_MS } from "../src/cloud/store/frame_shipper.ts";
import { LOCATED_OBJECT_BYTES } from "../src/cloud/store/object_blocks.ts";
import { DEFAULT_CACHE_BYTES } from "../src/cloud/store/object_cache.ts";
import { MIN_SIDECAR_OBJECT_BYTES } from "../src/cloud/store/sidecar_cache.ts";
import { READ_TIMEOUT_MS } from "../src/cloud/store/read_time.ts";
import { LAST_STORING_MS } from "../src/cloud_server/storing.ts";
import { bytes, count, type FixedLimit, ms } from "./fixed_limit.ts";

/** Limits of the object store of a cloud. */
export const STORE: readonly FixedLimit[] = [
  {
    what: "Size of an object with frames",
    limit: bytes(OBJECT_BYTES),
    beyond:
      "The frames go on in another object. At 200 frames a second a boat has about four objects a day, one that records less has one.",
  },
  {
    what: "Size from which the locations of an object's blocks are stored beside it",
    limit: bytes(LOCATED_OBJECT_BYTES),
    beyond: "Smaller ones are read as a whole.",
  },
  {
    what: "Size from which an object gets a sidecar for series",
    limit: bytes(MIN_SIDECAR_OBJECT_BYTES),
    beyond: "The frames of smaller ones are read: they are soon joined.",
  },
  {
    what: "Time between two storings of a boat that has no journal",
    limit: ms(UNKEPT_INTERVAL_MS),
    beyond: "A longer `-store-interval` is not used for it.",
  },
  {
    what: "Boats whose frames are stored at the same time",
    limit: count(BOATS_AT_ONCE),
    beyond: "Further ones wait; their frames stay in the data directory.",
  },
  {
    what: "Time between two attempts while the store does not answer",
    limit: ms(RETRY_MS),
    beyond: "Frames stay in the data directory.",
  },
  {
    what: "Time in which the end of a cloud stores the remaining frames",
    limit: ms(LAST_STORING_MS),
    beyond: "They stay in the data directory, and are stored after the next start.",
  },
  {
    what: "Time between two merges of a boat's objects",
    limit: ms(COMPACTION_INTERVAL_MS),
    beyond: "Objects of an hour that is over wait for the next one.",
  },
  {
    what: "Time after the end of an hour or day until its objects are merged",
    limit: ms(SETTLE_MS),
    beyond: "Objects that come later are merged with the result.",
  },
  {
    what: "The same for days, whose merges are spread over the boats",
    limit: `up to ${DAY_SPREAD_MS / 3_600_000} h longer`,
    beyond: "Until then the day has an object for each hour.",
  },
  {
    what: "Boats whose objects are merged at the same time",
    limit: count(COMPACTED_AT_ONCE),
    beyond: "Further ones wait.",
  },
  {
    what: "Time that merged objects stay in the store, for readers that have listed them",
    limit: ms(GRACE_MS),
    beyond: "They are deleted; a reader that has not read them yet lists the boat's objects again.",
  },
  {
    what: "Memory for parts of objects that were read from the store",
    limit: bytes(DEFAULT_CACHE_BYTES),
    beyond: "The parts read longest ago are read again.",
  },
  {
    what: "Time in which the store answers a boat or a client that waits",
    limit: ms(READ_TIMEOUT_MS),
    beyond: "Requests get 503; boats are served without comparing their frames.",
  },
  {
    what: "Time without an answer after which another node with the same store is away",
    limit: ms(NODE_AWAY_MS),
    beyond: "Streams that pass it end, and other nodes answer for its boats.",
  },
  {
    what: "Time after which a node that has not renewed its entry in the store is forgotten",
    limit: ms(NODE_EXPIRES_MS),
    beyond: "The others do not ask it any more; it is found again when it comes back.",
  },
];
