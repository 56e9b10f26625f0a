import { isAddressed, type Message, type NameFields } from "../frame/mod.ts";
import { isoRequestPayload, PGN } from "../pgn/mod.ts";

/** Which devices a rule is for: of each list that is given, one entry must fit. */
export interface DeviceMatch {
  /** Codes of manufacturers. */
  readonly manufacturers?: readonly number[];
  /** Models, in any case; a `*` at the end stands for any rest. */
  readonly models?: readonly string[];
  /** Device classes. */
  readonly classes?: readonly number[];
  /** Device functions. */
  readonly functions?: readonly number[];
  /** 64-bit NAMEs. */
  readonly names?: readonly bigint[];
  /** Source addresses. */
  readonly sources?: readonly number[];
  /** Names of buses. */
  readonly buses?: readonly string[];
}

/** What both kinds of rules say. */
export interface RequestRuleWords {
  /** For people: what the log calls it. */
  readonly name: string;
  /** The devices that it is for. */
  readonly match: DeviceMatch;
  /** Who is asked: each device itself, or one address for all of them (255: everybody). The devices answer. */
  readonly to: "device" | number;
  /** Shortest time between two requests for the same datum, milliseconds; above 0. */
  readonly minIntervalMs: number;
  /** A datum that is older is asked for again, milliseconds; undefined: once is enough. */
  readonly maxAgeMs: number | undefined;
  /** Wanted from the first; else, without a maximum age, only once it was invalidated. */
  readonly onOnline: boolean;
  /** PGNs of the device after which its data are asked for again. */
  readonly invalidateOn: readonly number[];
}

/** Asks with ISO requests (PGN 59904). */
export interface IsoRequestRule extends RequestRuleWords {
  /** Tells the kinds of rules apart. */
  readonly via: "iso";
  /** PGNs. */
  readonly want: readonly number[];
}

/** Asks with messages of one's own, such as a maker's register requests, which are answered under the same PGN. */
export interface FrameRequestRule extends RequestRuleWords {
  /** Tells the kinds of rules apart. */
  readonly via: "frame";
  /** Sub-keys: each one is a datum of its own. */
  readonly want: readonly number[];
  /** PGN of the request and of its answer. */
  readonly pgn: number;
  /** 0 to 7. */
  readonly prio: number;
  /** The payload, into which the sub-key is written. */
  readonly template: Uint8Array;
  /** Where the sub-key stands in the request; undefined: nowhere. */
  readonly write: SubKeyPlace | undefined;
  /** Where it stands in the answer; undefined: every message of the PGN is an answer. */
  readonly read: SubKeyPlace | undefined;
}

/** Where a sub-key stands in a payload, little-endian. */
export interface SubKeyPlace {
  /** Bytes before it. */
  readonly offset: number;
  /** 1 to 4 bytes. */
  readonly length: number;
}

/** What is to be asked of which devices, and how often. */
export type RequestRule = IsoRequestRule | FrameRequestRule;

/** What a rule must know of a device. */
export interface RequestTarget {
  /** Index of the bus. */
  readonly bus: number;
  readonly src: number;
  readonly name: bigint | undefined;
  readonly fields: Pick<NameFields, "manufacturerCode" | "deviceClass" | "deviceFunction"> | undefined;
  readonly product: { readonly modelId: string } | undefined;
}

/** What a rule must know of a message. */
export type RequestReply = Pick<Message, "bus" | "id" | "pgn" | "data" | "offset" | "length">;

/** Priority of an ISO request (ISO 11783-3 §5.4.2). */
const REQUEST_PRIORITY = 6;
/** Control bytes of an acknowledgement (ISO 11783-3 §5.4.4): "no", and "not for you". */
const REFUSALS = [1, 2];
/** Where an acknowledgement has the PGN that it is about. */
const ACKNOWLEDGED_PGN: SubKeyPlace = { offset: 5, length: 3 };

/** Whether a rule is for a device. `bus` is the name of the device's bus. */
export function matchesDevice(match: DeviceMatch, { device, bus }: { device: RequestTarget; bus: string }): boolean {
  const { manufacturers, models, classes, functions, names, sources, buses } = match;
  const { src, name, fields, product } = device;
  return fits(manufacturers, fields?.manufacturerCode) && fits(classes, fields?.deviceClass) &&
    fits(functions, fields?.deviceFunction) && fits(names, name) && fits(sources, src) && fits(buses, bus) &&
    (models?.some((model) => fitsModel(model.toLowerCase(), product?.modelId.toLowerCase())) ?? true);
}

function fits<T>(wanted: readonly T[] | undefined, value: T | undefined): boolean {
  return wanted === undefined || (value !== undefined && wanted.includes(value));
}

function fitsModel(wanted: string, model: string | undefined): boolean {
  return wanted.endsWith("*") ? model?.startsWith(wanted.slice(0, -1)) ?? false : model === wanted;
}

/** Address that a rule asks so that `src` answers. */
export function askedAddress({ to }: RequestRule, src: number): number {
  return to === "device" ? src : to;
}

/** What is said to ask for a datum. */
export function requestMessage(rule: RequestRule, want: number): { prio: number; pgn: number; data: Uint8Array } {
  if (rule.via === "iso") return { prio: REQUEST_PRIORITY, pgn: PGN.isoRequest, data: isoRequestPayload(want) };
  const { prio, pgn, write } = rule;
  const data = rule.template.slice();
  for (let i = 0; i < (write?.length ?? 0); i++) data[(write?.offset ?? 0) + i] = want >>> (8 * i);
  return { prio, pgn, data };
}

/** PGN under which a datum comes. */
export function replyPgn(rule: RequestRule, want: number): number {
  return rule.via === "iso" ? want : rule.pgn;
}

/** Whether a message brings a datum. Who sent it is the caller's matter. */
export function answers(message: RequestReply, { rule, want }: { rule: RequestRule; want: number }): boolean {
  if (message.pgn !== replyPgn(rule, want)) return false;
  return rule.via === "iso" || rule.read === undefined || readNumber(message, rule.read) === want;
}

/** PGN that a message refuses to give; undefined when it is no refusal. */
export function refusedPgn(message: RequestReply): number | undefined {
  if (message.pgn !== PGN.isoAcknowledgement || !REFUSALS.includes(message.data[message.offset] ?? 0)) return undefined;
  const pgn = readNumber(message, ACKNOWLEDGED_PGN);
  // Of a PGN that is addressed, some give the destination, too.
  return pgn !== undefined && isAddressed(pgn) ? pgn & 0x3ff00 : pgn;
}

/** Number in a payload; undefined when that is shorter. */
function readNumber({ data, offset, length }: RequestReply, place: SubKeyPlace): number | undefined {
  if (place.offset + place.length > length) return undefined;
  let value = 0;
  for (let i = place.length - 1; i >= 0; i--) value = value * 256 + (data[offset + place.offset + i] ?? 0);
  return value;
}
