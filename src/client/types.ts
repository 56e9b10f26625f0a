import type { Device, DeviceEvent, Frame } from "../frame/mod.ts";
import type { Filter } from "../filter/mod.ts";

/** A value in a decoded payload. */
export type DecodedFieldValue =
  | number
  | string
  | null
  | DecodedFieldValue[]
  | { [name: string]: DecodedFieldValue };

/** Decoded fields of a payload by name. */
export type DecodedFields = { [name: string]: DecodedFieldValue };

/** What numbers that are codes mean, by name; of a list one for each element. */
export type FieldLabels = { [name: string]: FieldLabel };

/** The label of a number, or those of its bits; of a list one for each element, null where none is known. */
export type FieldLabel = string | null | FieldLabel[] | FieldLabels;

/** A device with what its codes mean. */
export interface LabelledDevice extends Device {
  /** Only where it was asked for. */
  labels?: FieldLabels;
}

/** A frame as a server sends it. */
export interface ClientFrame extends Frame {
  /** Only where it was asked for, as far as the payload is known. */
  decoded?: DecodedFields;
  /** Only where it was asked for: what the codes among the fields mean. */
  labels?: FieldLabels;
}

/** One of the last values of a device. */
export interface LastValue {
  /** Parameter Group Number. */
  pgn: number;
  /** RFC 3339. */
  ts: string;
  /** Payload, lower-case hex. */
  data: string;
  /** Number of the frame. */
  seq: number;
}

/** The same with its meaning. */
export interface DecodedLastValue extends LastValue {
  /** What the message is called, as far as it is known. */
  description?: string;
  /** As far as the payload is known. */
  decoded?: DecodedFields;
  /** Only where it was asked for: what the codes among the fields mean. */
  labels?: FieldLabels;
}

/** The newest frame of each PGN of a device. */
export interface LastValues<Value = LastValue> {
  /** NAME; empty while it is not known. */
  name: string;
  /** Source address. */
  src: number;
  /** There when the server has more than one bus. */
  bus?: string;
  /** Name of the manufacturer. */
  manufacturer?: string;
  /** Model, as the device calls itself. */
  model_id?: string;
  /** One for each PGN. */
  values: Value[];
}

/** Which frames of the recording are wanted. */
export interface HistoryQuery extends Filter {
  /** Time of the first frame: RFC 3339 text or a date. */
  from: string | Date;
  /** Time of the last frame; default now. */
  to?: string | Date;
  /** Source addresses; default all. */
  src?: number[];
  /** Keeps the first frame of each bus, source and PGN in each span of so long: `5s`, `PT1M`. */
  interval?: string;
  /** Most frames: the server refuses more than 1 000 000 unless it is set up for more. Default: all. */
  limit?: number;
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /** Adds `decoded` and `labels`: what codes mean. A server that does not know them refuses it. */
  labels?: boolean;
}

/** A message to be sent: its payload as bytes or as fields. */
export type MessageToSend =
  & {
    /** Parameter Group Number. */
    pgn: number;
    /** Default 255: everybody. */
    dst?: number;
    /** Source address, where the server has none of its own; default 254. */
    src?: number;
    /** 0-7, default 6. */
    prio?: number;
    /** Name of a bus; default the first. */
    bus?: string;
  }
  & (
    | {
      /** Payload, hex. */
      data: string;
    }
    | {
      /** Fields, as `decoded` has them. */
      fields: DecodedFields;
    }
  );

/** What devices are asked for. */
export interface DeviceQuery {
  /** Parameter Group Number. */
  pgn: number;
  /** Who is asked; default 255: everybody. */
  dst?: number;
  /** Name of a bus; default the first. */
  bus?: string;
  /** Longest wait for the answer, milliseconds; default 2000. */
  timeoutMs?: number;
  /** Adds `decoded` to the answer. */
  decode?: boolean;
}

/** How a server, or a part of it, does. */
export type HealthStatus = "ok" | "degraded" | "unhealthy";

/** How a part of a server does. */
export interface ComponentHealth {
  /** Its state. */
  status: HealthStatus;
  /** What is wrong, for a person. */
  message?: string;
}

/** How a boat server does. */
export interface BoatHealth {
  /** The worst of all that follows. */
  status: HealthStatus;
  /** The broker and its figures. */
  broker: {
    status: HealthStatus;
    frames_total: number;
    head_seq: number;
    device_count: number;
    ring_entries: number;
    ring_capacity: number;
  };
  /** RFC 3339; null before the first frame. */
  last_frame_at: string | null;
  /** Left out where nothing is replicated. */
  replication?: {
    status: HealthStatus;
    connected: boolean;
    live_lag: number;
    backfill_remaining_seqs: number;
    last_ack: string | null;
  };
  /** By name: each bus, journal, disk, … */
  components: Record<string, ComponentHealth>;
}

/** A session as it was made, or come back to. */
export interface SessionInfo {
  /** Its id. */
  client_id: string;
  /** Newest number of the server. */
  seq: number;
  /** Where reading resumes: the last acknowledged number and one. */
  cursor: number;
  /** How long it is kept while its client is away, ISO 8601. */
  buffer_timeout: string;
  /** Run of numbers: with another one they have begun again. Left out in a replay. */
  epoch?: string;
  /** Every device heard. */
  devices: Device[];
}

/** How a session stands. */
export interface SessionState extends Omit<SessionInfo, "devices"> {
  /** Frames that it is for. */
  filter: Filter;
  /** Whether its client is connected. */
  streaming: boolean;
  /** Whether it is one of the server's settings. */
  slot: boolean;
}

/** What a server says when it refuses: RFC 9457. */
export interface Problem {
  /** URI that names the kind. */
  type: string;
  /** The status in words. */
  title: string;
  /** HTTP status code. */
  status: number;
  /** What is wrong with this request. */
  detail: string;
  /** Parameter that is wrong. */
  parameter?: string;
  /** Field of the body that is wrong. */
  field?: string;
  /** Where reading can begin, after falling behind. */
  oldest_seq?: number;
}

/**
 * What happens on a stream.
 *
 * - `frame`: a frame has come
 * - `device`: the device table has changed; only where it was asked for
 * - `dropped`: frames with these numbers do not come on this stream. With `backfill` a cloud does not have them yet and
 *   gets them from its boat: history and new sessions have them later. With `reason` nobody can send them any more.
 *   The reason `restart`: the server stopped without an orderly end, what it had not synced to disk is gone, frames that
 *   we got among it, and `count` is null.
 *   Otherwise the server has lost them: we were too slow, or its disk was. `count` of the numbers had a frame that is
 *   missing; null: the stream has a filter, and nobody knows how many frames pass it. Of a session all numbers count
 * - `missed`: frames with these numbers may have passed while we were away: between two connections (`away`), because the
 *   session was gone or somebody else has moved it (`expired`), or because they are kept no longer (`fallen_behind`)
 * - `new_epoch`: numbers have begun again
 * - `connected`, `disconnected`: the connection is there; it is not, and the next try is in `retryMs`
 */
export type StreamEvent =
  | { type: "frame"; frame: ClientFrame }
  | { type: "device" } & DeviceEvent
  | { type: "dropped"; fromSeq: number; toSeq: number; count: number | null; backfill?: true; reason?: string }
  | { type: "missed"; fromSeq: number; toSeq: number; why: "away" | "expired" | "fallen_behind" }
  | { type: "new_epoch" }
  | { type: "connected" }
  | { type: "disconnected"; error: Error; retryMs: number };
