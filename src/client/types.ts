import type { Device, DeviceEvent, Frame } from "../frame/mod.ts";
import type { Filter } from "../filter/mod.ts";

/** Options of a call. */
export interface CallOptions {
  /** Aborts the call with the reason of the signal. */
  signal?: AbortSignal;
}

/** Options of a call whose result contains codes. */
export interface LabelOptions extends CallOptions {
  /** Adds `labels`: texts for the codes. A server without labels responds with an error. */
  labels?: boolean;
}

/** A value in a decoded payload. */
export type DecodedFieldValue =
  | number
  | string
  | null
  | DecodedFieldValue[]
  | { [name: string]: DecodedFieldValue };

/** Decoded fields of a payload by name. */
export type DecodedFields = { [name: string]: DecodedFieldValue };

/** Labels of codes, by the name of the field. */
export type FieldLabels = { [name: string]: FieldLabel };

/** The label of a number, or the labels of its bits; of a list one per element, null for an unknown code. */
export type FieldLabel = string | null | FieldLabel[] | FieldLabels;

/** A device with labels of its codes. */
export interface LabelledDevice extends Device {
  /** Present if requested. */
  labels?: FieldLabels;
}

/** A frame as a server sends it. */
export interface ClientFrame extends Frame {
  /** Present if requested, and if the server can decode the payload. */
  decoded?: DecodedFields;
  /** Present if requested: labels of codes in `decoded`. */
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
  /** Sequence number of the frame. */
  seq: number;
}

/** One of the last values of a device, decoded. */
export interface DecodedLastValue extends LastValue {
  /** Name of the message, if known. */
  description?: string;
  /** Present if the server can decode the payload. */
  decoded?: DecodedFields;
  /** Present if requested: labels of codes in `decoded`. */
  labels?: FieldLabels;
}

/** The newest frame of each PGN of a device. */
export interface LastValues<Value = LastValue> {
  /** NAME; empty while it is unknown. */
  name: string;
  /** Source address. */
  src: number;
  /** Present when the server has more than one bus. */
  bus?: string;
  /** Name of the manufacturer. */
  manufacturer?: string;
  /** Model, from the device's product information. */
  model_id?: string;
  /** One per PGN. */
  values: Value[];
}

/** Query for recorded frames. */
export interface HistoryQuery extends Filter {
  /** Time of the first frame: RFC 3339 text or a date. */
  from: string | Date;
  /** Time of the last frame; default now. */
  to?: string | Date;
  /** Source addresses; default all. */
  src?: number[];
  /** Returns only the first frame of each bus, source and PGN in each interval: `5s`, `PT1M`. */
  interval?: string;
  /** Maximum number of frames; the server's default maximum is 1 000 000. Default: all. */
  limit?: number;
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /** Adds `decoded` and `labels`: texts for the codes. A server without labels responds with an error. */
  labels?: boolean;
}

/** A message to be sent: its payload as bytes or as fields. */
export type MessageToSend =
  & {
    /** Parameter Group Number. */
    pgn: number;
    /** Destination address; default 255, all devices. */
    dst?: number;
    /** Source address, if the server has none of its own; default 254. */
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
      /** Fields, as in `decoded`. */
      fields: DecodedFields;
    }
  );

/** A request for a PGN to devices. */
export interface DeviceQuery {
  /** Parameter Group Number. */
  pgn: number;
  /** Destination address; default 255, all devices. */
  dst?: number;
  /** Name of a bus; default the first. */
  bus?: string;
  /** Maximum wait for the answer, milliseconds; default 2000. */
  timeoutMs?: number;
  /** Adds `decoded` to the answer. */
  decode?: boolean;
}

/** Frames that are missing. */
export interface MissingFrames {
  /** How many. */
  count: number;
  /** On the boat's disk, or in the cloud. */
  where: "journal" | "cloud";
  /** For people. */
  reason: string;
}

/** Frames seen, recorded, in the cloud and missing: `seen` = `recorded` + on the way + missing, and the same for the cloud. */
export interface Proof {
  /** Epoch of the numbers, hex; null: none yet. */
  epoch: string | null;
  /** First frame that counts here: of this start of the boat server, or of the epoch. */
  first: number;
  /** RFC 3339; in a cloud, the time of the boat's last message. */
  as_of: string | null;
  /** Frames that have a number. */
  seen: number;
  /** Of them, frames on the boat's disk; null: not recorded, or not known here. */
  recorded: number | null;
  /** Of them, frames on the cloud's disk; null: not replicated. */
  in_cloud: number | null;
  /** Frames that wait for the boat's disk, and that the cloud has not confirmed yet. */
  on_the_way: { journal: number; cloud: number };
  /** Frames that are missing. */
  missing: MissingFrames[];
  /** At most so many more frames are missing: numbers that a run before may have used when its power failed. */
  unclear: MissingFrames[];
  /** Missing frames from before `first`; null: the cloud has not reported it yet. */
  earlier: MissingFrames[] | null;
  /** CAN frames that never got a number; null: known by the boat alone. */
  not_numbered: { count: number; bus: string; reason: string }[] | null;
}

/** An alert of a boat server. */
export interface BoatAlert {
  /** RFC 3339. */
  timestamp: string;
  /** What happened, for programs: `bus_silence`, `source_switched` … */
  type: string;
  /** `info`: a problem has ended. */
  severity: "critical" | "warning" | "info";
  /** One sentence for people. */
  summary: string;
  /** What it is about. */
  subject: string;
}

/** A limit that is in force. */
export interface ServerLimit {
  /** Name of the setting. */
  name: string;
  /** With its unit. */
  value: string;
  /** What happens beyond it. */
  beyond: string;
}

/** Summary of a server. */
export interface ServerInfo {
  /** A boat server, or a cloud of many boats. */
  kind: "boat" | "cloud";
  /** Name of the server. */
  name: string;
  /** Version of its software. */
  version: string;
  /** The worst status of its components. */
  status: HealthStatus;
  /** Whether this client may send messages to the bus. */
  may_send: boolean;
  /** The most useful paths by name. */
  links: Readonly<Record<string, string>>;
  /** Web apps that the server serves, too, such as KIP; left out: none. */
  web_apps?: readonly { title: string; path: string }[];
}

/** A device as the source of a value. */
export interface SourceDevice {
  /** NAME, 16 hex digits; empty while it is unknown. */
  name: string;
  /** Source address. */
  src: number;
  /** Present when the server has more than one bus. */
  bus?: string;
}

/** One device's value of a quantity. */
export interface SourceValue extends SourceDevice {
  /** PGN of the message. */
  pgn: number;
  /** In the unit of the quantity. */
  value: number | string | { latitude: number; longitude: number };
  /** Time of the message, RFC 3339. */
  ts: string;
  /** Time since the message came, milliseconds. */
  age_ms: number;
  /** Its usual interval, milliseconds. */
  interval_ms: number;
  /** Older than three of its intervals. */
  stale: boolean;
}

/** What a skipper reads, such as depth, with all devices that have it. */
export interface QuantitySources {
  /** Key: `depth`, `engine.0.speed`. */
  quantity: string;
  /** Group of quantities. */
  category: string;
  /** Name for people. */
  label: string;
  /** PGN of the first source. */
  pgn: number;
  /** Field with the value. */
  field: string;
  /** Unit of the value. */
  unit?: string;
  /** NAME of the preferred device, empty while unknown; null: all values are stale. */
  preferred: string | null;
  /** Why it is preferred. */
  by: "setting" | "first_heard";
  /** All devices that have it, the preferred one first. */
  sources: SourceValue[];
}

/** Another device is the preferred source of a quantity. */
export interface SourceEvent {
  /** Key of the quantity. */
  quantity: string;
  /** Null: there was none. */
  from: SourceDevice | null;
  /** Null: all values are stale. */
  to: SourceDevice | null;
  /** RFC 3339. */
  ts: string;
  /** Why it was switched. */
  reason: "first" | "stale" | "fresh" | "setting" | "removed";
}

/** A figure of a server's metrics. */
export interface Metric {
  /** Such as `vbg_devices`. */
  name: string;
  /** Labels by name, such as `bus`. */
  labels: Readonly<Record<string, string>>;
  /** In the unit of the name. */
  value: number;
}

/** Health of a server or a component. */
export type HealthStatus = "ok" | "degraded" | "unhealthy";

/** Health of a component. */
export interface ComponentHealth {
  /** Status of the component. */
  status: HealthStatus;
  /** The problem, for people. */
  message?: string;
}

/** Health of a boat server. */
export interface BoatHealth {
  /** The worst status of all parts. */
  status: HealthStatus;
  /** The broker and its counters. */
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
  /** Omitted when the boat is not replicated. */
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

/** A session that was created or resumed. */
export interface SessionInfo {
  /** Id of the session. */
  client_id: string;
  /** Newest sequence number of the server. */
  seq: number;
  /** Sequence number at which reading resumes: the one after the last acknowledged. */
  cursor: number;
  /** How long the session is kept while its client is disconnected, ISO 8601. */
  buffer_timeout: string;
  /** Epoch of the sequence numbers; they begin again with each epoch. Omitted in a replay. */
  epoch?: string;
  /** All devices on the buses. */
  devices: Device[];
}

/** State of a session. */
export interface SessionState extends Omit<SessionInfo, "devices"> {
  /** Filter of the session's frames. */
  filter: Filter;
  /** Whether its client is connected. */
  streaming: boolean;
  /** Whether the session is part of the server's configuration. */
  slot: boolean;
}

/** An error of a server (RFC 9457). */
export interface Problem {
  /** URI of the kind of error. */
  type: string;
  /** The status as text. */
  title: string;
  /** HTTP status code. */
  status: number;
  /** Reason for this error. */
  detail: string;
  /** Name of the invalid parameter. */
  parameter?: string;
  /** Name of the invalid field of the body. */
  field?: string;
  /** Oldest available sequence number, if the session has fallen behind. */
  oldest_seq?: number;
}

/**
 * An event of a stream.
 *
 * - `frame`: a frame was received
 * - `device`: the device table has changed; only if requested
 * - `dropped`: frames with these sequence numbers are not sent on this stream. `backfill`: a cloud does not have them yet
 *   and receives them from its boat; they will be in the history and in new sessions. `reason`: they are lost for good.
 *   Reason `restart`: the server crashed and has lost what was not synced to disk, possibly frames that we received;
 *   `count` is null. Without either, this client was too slow, or the server's disk was. `count` is the number of missing
 *   frames; null: the stream has a filter, and the number of matching frames is unknown. A session counts all numbers
 * - `source`: another device is the preferred source of a quantity
 * - `missed`: frames with these sequence numbers may have been missed: between two connections (`away`), because the
 *   session had expired or was moved by another client (`expired`), or because the server no longer has them
 *   (`fallen_behind`)
 * - `new_epoch`: sequence numbers have begun again
 * - `connected`, `disconnected`: the connection was established; it was lost, and the next attempt is in `retryMs`
 */
export type StreamEvent =
  | { type: "frame"; frame: ClientFrame }
  | { type: "device" } & DeviceEvent
  | { type: "source"; source: SourceEvent }
  | { type: "dropped"; fromSeq: number; toSeq: number; count: number | null; backfill?: true; reason?: string }
  | { type: "missed"; fromSeq: number; toSeq: number; why: "away" | "expired" | "fallen_behind" }
  | { type: "new_epoch" }
  | { type: "connected" }
  | { type: "disconnected"; error: Error; retryMs: number };
