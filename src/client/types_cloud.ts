import type { ComponentHealth, HealthStatus } from "./types.ts";

/** A span of numbers; `end` is the first behind it. */
export interface SeqSpan {
  /** First number. */
  start: number;
  /** The first number behind it. */
  end: number;
}

/** Frames that cannot be had any more. */
export interface LostSpan extends SeqSpan {
  /** Why. */
  reason: string;
}

/** How a boat's replication does, as the boat sees it. */
export interface BoatReplication {
  /** Whether there is a connection. */
  connected: boolean;
  /** Id of the boat in the cloud. */
  instance_id: string;
  /** Newest number of the boat. */
  local_head_seq: number;
  /** The cloud holds everything up to and with this number. */
  cloud_cursor: number;
  /** What the cloud misses and the boat can send. */
  holes: SeqSpan[];
  /** Frames that are not sent live yet. */
  live_lag: number;
  /** Frames to be sent as blocks. */
  backfill_remaining_seqs: number;
  /** When the cloud acknowledged last, RFC 3339. */
  last_ack: string | null;
  /** State of the connection. */
  state: "disconnected" | "handshaking" | "connected" | "reconnecting";
  /** Why there is none. */
  reason?: string;
  /** When the next try is, RFC 3339. */
  next_try?: string;
  /** Everything up to and with this number is on the cloud's disk; null: the cloud has not said what is. */
  cloud_durable_seq: number | null;
  /** What the boat cannot send any more. */
  lost: LostSpan[];
  /** Epochs before this one of which something is not in the cloud, newest first; older boats leave it out. */
  former_epochs?: FormerEpochSpan[];
  /** Frames sent live. */
  live_frames_sent: number;
  /** Blocks sent. */
  backfill_blocks_sent: number;
  /** Their bytes. */
  backfill_bytes_sent: number;
  /** Connections after the first. */
  reconnects: number;
  /** Those because live was too far behind. */
  lag_reconnects: number;
}

/** What of an epoch before the current one is not in the cloud. */
export interface FormerEpochSpan {
  /** Hex. */
  epoch: string;
  /** Its last number that was recorded. */
  head_seq: number;
  /** The oldest one that is kept. */
  oldest_seq: number;
  /** What the cloud misses; null: it has not said yet. */
  holes: SeqSpan[] | null;
  /** What is not to be had any more. */
  lost: LostSpan[];
  /** Why the cloud takes nothing of it. */
  refused?: string;
}

/** A boat in the cloud's list. */
export interface InstanceSummary {
  /** Id of the boat. */
  id: string;
  /** Whether it is connected. */
  connected: boolean;
  /** Every number up to and with this one is here, or cannot be had. */
  cursor: number;
  /** Newest number of the boat, as far as it has told. */
  boat_head_seq: number;
  /** Numbers that are still to come. */
  holes: SeqSpan[];
  /** Frames that the cursor is behind the boat. */
  lag_seqs: number;
  /** When anything last came from it, RFC 3339. */
  last_seen: string | null;
}

/** All that the cloud knows of a boat's replication. */
export interface InstanceStatus extends InstanceSummary {
  /** Size of the boat's journal. */
  boat_journal_bytes: number;
  /** Run of numbers, hex; null before the first handshake. */
  epoch: string | null;
  /** Every number up to and with this one is safe on disk, or cannot be had. */
  ack_seq: number;
  /** Highest number that came live. */
  received_through: number;
  /** Frames that the boat cannot send any more, and why. */
  lost: LostSpan[];
  /** Epochs before this one of which something is missing, newest first. */
  former_epochs: InstanceFormerEpoch[];
  /** Whether frames are recorded. */
  recording: { state: "idle" | "recording" | "failing"; reason?: string };
  /** Whether frames that were on disk are gone from there and have not come again, and when files were last checked. */
  storage: { state: "ok" | "damaged"; missing: SeqSpan[]; checked_at: string | null };
}

/** What a cloud misses of an epoch before the current one. */
export interface InstanceFormerEpoch {
  /** Hex. */
  epoch: string;
  /** Its last number, as far as the boat has told. */
  boat_head_seq: number;
  /** Numbers that are still to come. */
  holes: SeqSpan[];
  /** Frames that the boat cannot send any more, and why. */
  lost: LostSpan[];
  /** Why nothing of it is taken. */
  refused?: string;
}

/** Something that happened to a boat's replication. */
export interface ReplicationEvent {
  /** RFC 3339. */
  time: string;
  /** `live_start`, `live_stop`, `backfill_start`, `backfill_stop`, `block_received`, `checkpoint`, … */
  type: string;
  /** For a person. */
  detail: string;
}

/** How a cloud server does. */
export interface CloudHealth {
  /** The worst of all. */
  status: HealthStatus;
  /** Boats known. */
  instances_total: number;
  /** Boats connected. */
  instances_connected: number;
  /** By name. */
  components: Record<string, ComponentHealth>;
}
