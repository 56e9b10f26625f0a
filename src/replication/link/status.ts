import type { Range } from "../../base/mod.ts";
import type { FormerEpochStatus } from "./former.ts";
import type { LostRange } from "../wire/messages.ts";
import type { LinkPhase } from "./link_state.ts";

/** Replication status of a boat: body of `GET /replication/status`. Ends of ranges are exclusive. */
export interface ReplicationStatus {
  connected: boolean;
  instance_id: string;
  /** Newest sequence number of the boat. */
  local_head_seq: number;
  /** The cloud holds every frame up to and including this sequence number. */
  cloud_cursor: number;
  /** Ranges that the cloud is missing and the boat can send. */
  holes: readonly Range[];
  /** Frames not yet sent live. */
  live_lag: number;
  /** Frames to be sent as blocks. */
  backfill_remaining_seqs: number;
  /** Time of the last acknowledgement, RFC 3339. */
  last_ack: string | null;
  state: LinkPhase["kind"];
  /** Why there is no connection. */
  reason?: string;
  /** Time of the next attempt, RFC 3339. */
  next_try?: string;
  /** Every frame up to and including this sequence number is on the cloud's disk; null: not reported. */
  cloud_durable_seq: number | null;
  /**
   * Every frame up to and including this sequence number is in the cloud's store; without a store, on its disk. Kept over a
   * restart; null: never reported. Absent on older boats.
   */
  cloud_stored_seq?: number | null;
  /** Frames that the boat can no longer send. */
  lost: readonly LostRange[];
  /** Earlier epochs that are incomplete on the cloud, newest first; absent on older boats. */
  former_epochs?: readonly FormerEpochStatus[];
  live_frames_sent: number;
  backfill_blocks_sent: number;
  backfill_bytes_sent: number;
  /** Connections after the first. */
  reconnects: number;
  /** Reconnects because live frames lagged too far behind. */
  lag_reconnects: number;
}

/** Health of the link. */
export type LinkHealth = { status: "ok" } | { status: "degraded"; message: string };
