import type { ComponentHealth, HealthStatus } from "./types.ts";

/** A range of sequence numbers. */
export interface SeqSpan {
  /** First number. */
  start: number;
  /** The number after the last one. */
  end: number;
}

/** Frames that are lost for good. */
export interface LostSpan extends SeqSpan {
  /** Why they are lost. */
  reason: string;
}

/** State of a boat's replication, as the boat sees it. */
export interface BoatReplication {
  /** Whether the cloud is connected. */
  connected: boolean;
  /** Id of the boat in the cloud. */
  instance_id: string;
  /** Newest sequence number of the boat. */
  local_head_seq: number;
  /** The cloud has all frames up to and including this number. */
  cloud_cursor: number;
  /** Frames that the cloud lacks and the boat can send. */
  holes: SeqSpan[];
  /** Number of frames not sent live yet. */
  live_lag: number;
  /** Number of frames to be sent as blocks. */
  backfill_remaining_seqs: number;
  /** Time of the cloud's last acknowledgement, RFC 3339. */
  last_ack: string | null;
  /** State of the connection. */
  state: "disconnected" | "handshaking" | "connected" | "reconnecting";
  /** Why there is no connection. */
  reason?: string;
  /** Time of the next attempt, RFC 3339. */
  next_try?: string;
  /** The cloud has all frames up to and including this number on disk; null: not reported by the cloud. */
  cloud_durable_seq: number | null;
  /**
   * The cloud's store has all frames up to and including this number; without a store, its disk. Null: never reported by the
   * cloud; omitted by older boats.
   */
  cloud_stored_seq?: number | null;
  /** Frames that the boat can no longer send. */
  lost: LostSpan[];
  /** Earlier epochs that are not completely in the cloud, newest first; omitted by older boats. */
  former_epochs?: FormerEpochSpan[];
  /** Frames sent live. */
  live_frames_sent: number;
  /** Blocks sent. */
  backfill_blocks_sent: number;
  /** Bytes of the blocks. */
  backfill_bytes_sent: number;
  /** Connections after the first. */
  reconnects: number;
  /** Reconnects because live frames were too far behind. */
  lag_reconnects: number;
}

/** An earlier epoch that is not completely in the cloud, as the boat sees it. */
export interface FormerEpochSpan {
  /** Hex. */
  epoch: string;
  /** Last recorded number of the epoch. */
  head_seq: number;
  /** Oldest number that is still in the boat's journal. */
  oldest_seq: number;
  /** Frames that the cloud lacks; null: not reported yet. */
  holes: SeqSpan[] | null;
  /** Frames that are lost for good. */
  lost: LostSpan[];
  /** Why the cloud accepts no frames of the epoch. */
  refused?: string;
}

/** A boat in the cloud's list. */
export interface InstanceSummary {
  /** Id of the boat. */
  id: string;
  /** Whether the boat is connected. */
  connected: boolean;
  /** All frames up to and including this number are in the cloud, or lost for good. */
  cursor: number;
  /** Newest sequence number reported by the boat. */
  boat_head_seq: number;
  /** Frames that the cloud lacks and can still receive. */
  holes: SeqSpan[];
  /** Difference between `boat_head_seq` and `cursor`. */
  lag_seqs: number;
  /** Time of the last message from the boat, RFC 3339. */
  last_seen: string | null;
  /** Frames that the boat has numbered, and how many of them are where; absent on other clouds. */
  frames?: { seen: number; in_cloud: number; on_the_way: number; missing: number };
}

/** State of a boat's replication, as the cloud sees it. */
export interface InstanceStatus extends InstanceSummary {
  /** Size of the boat's journal. */
  boat_journal_bytes: number;
  /** Epoch of the sequence numbers, hex; null before the first handshake. */
  epoch: string | null;
  /** All frames up to and including this number are on the cloud's disk, or lost for good. */
  ack_seq: number;
  /** The same in the object store; null: the cloud has none, undefined: an earlier release. */
  stored_seq?: number | null;
  /** Highest sequence number received live. */
  received_through: number;
  /** Frames that the boat can no longer send. */
  lost: LostSpan[];
  /** Earlier epochs that are not complete, newest first. */
  former_epochs: InstanceFormerEpoch[];
  /** Whether frames are recorded. */
  recording: { state: "idle" | "recording" | "failing"; reason?: string };
  /** Frames that were on disk and are missing now, and when the files were last checked. */
  storage: { state: "ok" | "damaged"; missing: SeqSpan[]; checked_at: string | null };
}

/** An earlier epoch that is not complete, as the cloud sees it. */
export interface InstanceFormerEpoch {
  /** Hex. */
  epoch: string;
  /** Last number of the epoch reported by the boat. */
  boat_head_seq: number;
  /** Frames that the cloud lacks and can still receive. */
  holes: SeqSpan[];
  /** Frames that the boat can no longer send. */
  lost: LostSpan[];
  /** Why no frames of the epoch are accepted. */
  refused?: string;
}

/** An event of a boat's replication. */
export interface ReplicationEvent {
  /** RFC 3339. */
  time: string;
  /** `live_start`, `live_stop`, `backfill_start`, `backfill_stop`, `block_received`, `checkpoint`, … */
  type: string;
  /** Description for people. */
  detail: string;
}

/** Health of a cloud server. */
export interface CloudHealth {
  /** The worst status of all components. */
  status: HealthStatus;
  /** Number of known boats. */
  instances_total: number;
  /** Number of connected boats. */
  instances_connected: number;
  /** Components by name. */
  components: Record<string, ComponentHealth>;
}
