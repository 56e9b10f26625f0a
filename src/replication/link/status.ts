import type { Range } from "../../base/mod.ts";
import type { FormerEpochStatus } from "./former.ts";
import type { LostRange } from "../wire/messages.ts";
import type { LinkPhase } from "./link_state.ts";

/** How a boat's replication does: body of `GET /replication/status`. Ends of ranges are exclusive. */
export interface ReplicationStatus {
  connected: boolean;
  instance_id: string;
  /** Newest number of the boat. */
  local_head_seq: number;
  /** The cloud holds everything up to and with this number. */
  cloud_cursor: number;
  /** What the cloud misses and the boat can send. */
  holes: readonly Range[];
  /** Frames that are not sent live yet. */
  live_lag: number;
  /** Frames to be sent as blocks. */
  backfill_remaining_seqs: number;
  /** When the cloud acknowledged last, RFC 3339. */
  last_ack: string | null;
  state: LinkPhase["kind"];
  /** Why there is no connection. */
  reason?: string;
  /** When the next try is, RFC 3339. */
  next_try?: string;
  /** Everything up to and with this number is on the cloud's disk; null: the cloud has not said what is. */
  cloud_durable_seq: number | null;
  /** Frames that the boat cannot send any more. */
  lost: readonly LostRange[];
  /** Epochs before this one of which something is not in the cloud, newest first; older boats leave it out. */
  former_epochs?: readonly FormerEpochStatus[];
  live_frames_sent: number;
  backfill_blocks_sent: number;
  backfill_bytes_sent: number;
  /** Connections after the first. */
  reconnects: number;
  /** Reconnects because live was too far behind. */
  lag_reconnects: number;
}

/** How the link does, as a component of health. */
export type LinkHealth = { status: "ok" } | { status: "degraded"; message: string };
