import { isAddressed, type Message, type NameFields } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";

/** Selects devices: one entry of every given list must match. */
export interface DeviceMatch {
  /** Manufacturer codes. */
  readonly manufacturers?: readonly number[];
  /** Model ids, case-insensitive; a trailing `*` matches any rest. */
  readonly models?: readonly string[];
  /** Device class codes. */
  readonly classes?: readonly number[];
  /** Device function codes. */
  readonly functions?: readonly number[];
  /** 64-bit NAMEs. */
  readonly names?: readonly bigint[];
  /** Source addresses. */
  readonly sources?: readonly number[];
  /** Names of buses. */
  readonly buses?: readonly string[];
}

/** Members of both kinds of rules. */
export interface RequestRuleBase {
  /** Name of the rule in the log. */
  readonly name: string;
  /** The devices whose data are requested. */
  readonly match: DeviceMatch;
  /** Destination: each device itself, or one address for all of them (255: broadcast). The devices answer. */
  readonly to: "device" | number;
  /** Minimum interval of requests for the same datum, milliseconds; above 0. */
  readonly minIntervalMs: number;
  /** Age at which a datum is requested again, milliseconds; undefined: never. */
  readonly maxAgeMs: number | undefined;
  /** Request when the device appears; else, without a maximum age, only after an invalidation. */
  readonly onOnline: boolean;
  /** PGNs of the device that invalidate its data. */
  readonly invalidateOn: readonly number[];
}

/** Sends ISO requests (PGN 59904). */
export interface IsoRequestRule extends RequestRuleBase {
  /** Kind of the rule. */
  readonly via: "iso";
  /** Requested PGNs. */
  readonly want: readonly number[];
}

/** Sends custom messages, such as proprietary register requests, which are answered with the same PGN. */
export interface FrameRequestRule extends RequestRuleBase {
  /** Kind of the rule. */
  readonly via: "frame";
  /** Sub-keys, each of which is a separate datum. */
  readonly want: readonly number[];
  /** PGN of the request and of its answer. */
  readonly pgn: number;
  /** 0 to 7. */
  readonly prio: number;
  /** The payload, into which the sub-key is written. */
  readonly template: Uint8Array;
  /** Position of the sub-key in the request; undefined: not in the request. */
  readonly write: SubKeyPosition | undefined;
  /** Position of the sub-key in the answer; undefined: every message of the PGN is an answer. */
  readonly read: SubKeyPosition | undefined;
}

/** Position of a sub-key in a payload, little-endian. */
export interface SubKeyPosition {
  /** Offset, bytes. */
  readonly offset: number;
  /** Length, 1 to 4 bytes. */
  readonly length: number;
}

/** Which data are requested from which devices, and how often. */
export type RequestRule = IsoRequestRule | FrameRequestRule;

/** What a rule needs to know about a device. */
export interface RequestTarget {
  /** Index of the bus. */
  readonly bus: number;
  readonly src: number;
  readonly name: bigint | undefined;
  readonly fields: Pick<NameFields, "manufacturerCode" | "deviceClass" | "deviceFunction"> | undefined;
  readonly product: { readonly modelId: string } | undefined;
}

/** What a rule needs to know about a message. */
export type RequestReply = Pick<Message, "bus" | "id" | "pgn" | "data" | "offset" | "length">;

/** Priority of an ISO request (ISO 11783-3 §5.4.2). */
const REQUEST_PRIORITY = 6;
/** Control bytes of an acknowledgement (ISO 11783-3 §5.4.4): "negative" and "access denied". */
const REFUSALS = [1, 2];
/** Position of the acknowledged PGN. */
const ACKNOWLEDGED_PGN: SubKeyPosition = { offset: 5, length: 3 };

/** True if a rule applies to a device. `bus` is the name of its bus. */
export function matchesDevice(match: DeviceMatch, { device, bus }: { device: RequestTarget; bus: string }): boolean {
  const { manufacturers, models, classes, functions, names, sources, buses } = match;
  const { src, name, fields, product } = device;
  return matchesList(manufacturers, fields?.manufacturerCode) && matchesList(classes, fields?.deviceClass) &&
    matchesList(functions, fields?.deviceFunction) && matchesList(names, name) && matchesList(sources, src) &&
    matchesList(buses, bus) &&
    (models?.some((model) => matchesModel(model.toLowerCase(), product?.modelId.toLowerCase())) ?? true);
}

function matchesList<T>(wanted: readonly T[] | undefined, value: T | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value));
}

function matchesModel(wanted: string, model: string | undefined): boolean {
  return wanted.endsWith("*") ? model?.startsWith(wanted.slice(0, -1)) ?? false : model === wanted;
}

/** Destination of a request that `src` answers. */
export function requestDestination({ to }: RequestRule, src: number): number {
  return to === "device" ? src : to;
}

/** The message that requests a datum. */
export function requestMessage(rule: RequestRule, want: number): { prio: number; pgn: number; data: Uint8Array } {
  if (rule.via === "iso") return { prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, data: isoRequestPayload(want) };
  const { prio, pgn, write } = rule;
  const data = rule.template.slice();
  for (let i = 0; i < (write?.length ?? 0); i++) data[(write?.offset ?? 0) + i] = want >>> (8 * i);
  return { prio, pgn, data };
}

/** PGN of the answer. */
export function replyPgn(rule: RequestRule, want: number): number {
  return rule.via === "iso" ? want : rule.pgn;
}

/** True if a message contains the datum. The caller checks the source address. */
export function answers(message: RequestReply, { rule, want }: { rule: RequestRule; want: number }): boolean {
  if (message.pgn !== replyPgn(rule, want)) return false;
  return rule.via === "iso" || rule.read === undefined || readNumber(message, rule.read) === want;
}

/** PGN refused by a negative acknowledgement; undefined for other messages. */
export function refusedPgn(message: RequestReply): number | undefined {
  if (message.pgn !== PGN.isoAcknowledgement || !REFUSALS.includes(message.data[message.offset] ?? 0)) return undefined;
  const pgn = readNumber(message, ACKNOWLEDGED_PGN);
  // Some devices include the destination in an addressed PGN.
  return pgn !== undefined && isAddressed(pgn) ? pgn & 0x3ff00 : pgn;
}

/** Reads a number; undefined if the payload is too short. */
function readNumber({ data, offset, length }: RequestReply, position: SubKeyPosition): number | undefined {
  if (position.offset + position.length > length) return undefined;
  let value = 0;
  for (let i = position.length - 1; i >= 0; i--) value = value * 256 + (data[offset + position.offset + i] ?? 0);
  return value;
}
