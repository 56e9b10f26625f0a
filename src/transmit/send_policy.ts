import { errorText } from "../base/mod.ts";
import { BROADCAST_ADDRESS, isAddressed, MAX_PGN } from "../frame/mod.ts";
import { COMMANDED_ADDRESS } from "./virtual_device/own_answers.ts";

/** Allows or denies messages. All given conditions must match. */
export interface SendRule {
  /** True for a deny rule. */
  deny: boolean;
  /** PGN ranges; default all. */
  pgns?: readonly PgnRange[];
  /** NAMEs of the destination device; default any destination. */
  names?: readonly bigint[];
}

/** An inclusive range of PGNs. */
export interface PgnRange {
  /** First PGN. */
  from: number;
  /** Last PGN. */
  to: number;
}

/** The properties of a message that rules check. */
export interface SendSubject {
  /** Index of the bus. */
  bus: number;
  pgn: number;
  dst: number;
  /** PGN of the message itself if `pgn` is the PGN that it requests; default `pgn`. */
  messagePgn?: number;
}

/**
 * Why a deny rule with a NAME matches: the device has the destination address; the message is a broadcast, which reaches
 * the device, too; or the device at the destination is unknown. Rules without a NAME match as `destination`.
 */
export type DenyCause = "destination" | "broadcast" | "unknown-device";

/** Result of {@linkcode decide}. `unmatched`: there are rules and none matches. `rule` counts from 1. */
export type Verdict = { kind: "allowed" } | { kind: "denied"; rule: number; cause: DenyCause } | { kind: "unmatched" };

/** NAME of the device at an address; undefined if unknown. */
export type NameOf = (bus: number, src: number) => bigint | undefined;

/**
 * Evaluates the rules for a message: the first matching rule decides; no match denies; an empty list allows everything.
 *
 * A NAME matches the destination device. For a broadcast of an addressable PGN, which reaches every device, and for an
 * address without a known device, deny rules match and allow rules do not. Broadcast-only PGNs (PDU2) have no destination
 * device: a deny rule with a NAME covers them only if it lists PGNs.
 */
export function decide(
  rules: readonly SendRule[],
  { subject, nameOf }: { subject: SendSubject; nameOf: NameOf },
): Verdict {
  if (rules.length === 0) return { kind: "allowed" };
  const { bus, pgn, dst, messagePgn = pgn } = subject;
  const isBroadcast = !isAddressed(messagePgn) || dst === BROADCAST_ADDRESS;
  const name = isBroadcast ? undefined : nameOf(bus, dst);
  for (const [i, { deny, pgns, names }] of rules.entries()) {
    if (pgns && !pgns.some(({ from, to }) => pgn >= from && pgn <= to)) continue;
    if (names) {
      if (name === undefined ? !deny : !names.includes(name)) continue;
      if (!pgns && isForNoDevice(messagePgn)) continue;
    }
    if (!deny) return { kind: "allowed" };
    const cause = !names || name !== undefined ? "destination" : isBroadcast ? "broadcast" : "unknown-device";
    return { kind: "denied", rule: i + 1, cause };
  }
  return { kind: "unmatched" };
}

/** True for a broadcast-only PGN (PDU2) whose payload names no device. A commanded address names one. */
function isForNoDevice(pgn: number): boolean {
  return !isAddressed(pgn) && pgn !== COMMANDED_ADDRESS;
}

/**
 * Parses a rule: `[!] [pgn:SPEC] [name:HEX[,HEX…]]`, where SPEC is a list of PGNs and ranges such as
 * `59904,129025-129029` and `!` denies.
 *
 * @throws {RangeError} the text is not a rule
 */
export function parseSendRule(text: string): SendRule {
  const words = text.trim().replace(/^!\s*/, "! ").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) throw new RangeError("Cannot read an empty rule");
  const deny = words[0] === "!";
  const rule: { deny: boolean; pgns?: PgnRange[]; names?: bigint[] } = { deny };
  for (const word of deny ? words.slice(1) : words) {
    const [, key, value = ""] = /^([^:]*):(.*)$/.exec(word) ?? [];
    if (key === undefined) throw new RangeError(`Cannot read "${word}": expected pgn:… or name:…`);
    if (key !== "pgn" && key !== "name") throw new RangeError(`Unknown key "${key}": expected pgn or name`);
    const isDuplicate = key === "pgn" ? rule.pgns : rule.names;
    if (isDuplicate) throw new RangeError(`Cannot read the rule "${text.trim()}": it has ${key} twice`);
    if (key === "pgn") rule.pgns = parsePgns(value);
    else rule.names = value.split(",").map(parseName);
  }
  return rule;
}

/** Parses rules separated by semicolons. @throws {RangeError} with the number of the rule, from 1 */
export function parseSendRules(text: string): SendRule[] {
  if (text.trim() === "") return [];
  return text.split(";").map((each, i) => {
    try {
      return parseSendRule(each);
    } catch (error) {
      throw new RangeError(`rule ${i + 1}: ${errorText(error)}`);
    }
  });
}

/** Formats a rule for {@linkcode parseSendRule}. */
export function formatSendRule({ deny, pgns, names }: SendRule): string {
  return [
    ...deny ? ["!"] : [],
    ...pgns ? [`pgn:${pgns.map(({ from, to }) => from === to ? String(from) : `${from}-${to}`).join(",")}`] : [],
    ...names ? [`name:${names.map((name) => name.toString(16).padStart(16, "0")).join(",")}`] : [],
  ].join(" ");
}

function parsePgns(spec: string): PgnRange[] {
  return spec.split(",").map((part) => {
    const [, low, high] = /^\s*(\d{1,6})(?:-(\d{1,6}))?\s*$/.exec(part) ?? [];
    const from = Number(low ?? NaN);
    const to = high === undefined ? from : Number(high);
    if (!(from <= MAX_PGN && to <= MAX_PGN)) {
      throw new RangeError(
        `Cannot read the PGNs "${spec}": expected numbers up to ${MAX_PGN} and ranges, such as 59904,65280-65535`,
      );
    }
    if (from > to) throw new RangeError(`Cannot read the PGN range "${part}": it ends before it begins`);
    return { from, to };
  });
}

function parseName(text: string): bigint {
  const [, digits] = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text.trim()) ?? [];
  if (digits === undefined) throw new RangeError(`Cannot read the NAME "${text}": expected 1 to 16 hex digits`);
  return BigInt(`0x${digits}`);
}
