import { errorText } from "../base/mod.ts";
import { BROADCAST_ADDRESS, isAddressed, MAX_PGN } from "../frame/mod.ts";
import { COMMANDED_ADDRESS } from "./virtual_device/own_answers.ts";

/** Allows or denies messages. Every condition that it has must hold. */
export interface SendRule {
  /** Whether what matches is denied, not allowed. */
  deny: boolean;
  /** PGNs, both ends included; left out: all. */
  pgns?: readonly PgnRange[];
  /** NAMEs of the device that the message is for; left out: whoever it is for. */
  names?: readonly bigint[];
}

/** PGNs from `from` to `to`, both included. */
export interface PgnRange {
  /** The first one. */
  from: number;
  /** The last one. */
  to: number;
}

/** What a message is judged by. */
export interface SendSubject {
  /** Index of the bus. */
  bus: number;
  pgn: number;
  dst: number;
  /** PGN of the message itself where `pgn` is the one that it asks for; default `pgn`. */
  messagePgn?: number;
}

/**
 * Why a rule that denies a NAME matches: the device holds the destination; the message is a broadcast, which reaches the
 * device as well; or nobody is known at the destination. Rules without a NAME match for `destination`.
 */
export type DenyCause = "destination" | "broadcast" | "unknown-device";

/** `unmatched`: there are rules, and none matches. `rule` counts from 1. */
export type Verdict = { kind: "allowed" } | { kind: "denied"; rule: number; cause: DenyCause } | { kind: "unmatched" };

/** NAME of who holds an address; undefined when nobody is known to. */
export type NameOf = (bus: number, src: number) => bigint | undefined;

/**
 * Judges a message: the first rule that matches decides, no match denies; without any rule everything is allowed.
 *
 * A NAME is that of the device which the message is for. A broadcast of a PGN that could be addressed reaches every
 * device, and an address that nobody has claimed may be anyone's: there a rule that denies matches, and one that allows
 * does not. PGNs that are always broadcast are for no device: a rule that denies a NAME covers them only if it names PGNs.
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

/** Whether a PGN is always broadcast (PDU2) and its payload names no device, as that of a commanded address does. */
function isForNoDevice(pgn: number): boolean {
  return !isAddressed(pgn) && pgn !== COMMANDED_ADDRESS;
}

/**
 * Reads a rule: `[!] [pgn:SPEC] [name:HEX[,HEX…]]`, where SPEC is a list of PGNs and ranges such as `59904,129025-129029`
 * and `!` denies.
 *
 * @throws {RangeError} it is none
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
    const isTwice = key === "pgn" ? rule.pgns : rule.names;
    if (isTwice) throw new RangeError(`Cannot read the rule "${text.trim()}": it has ${key} twice`);
    if (key === "pgn") rule.pgns = parsePgns(value);
    else rule.names = value.split(",").map(parseName);
  }
  return rule;
}

/** Reads rules with semicolons between them. @throws {RangeError} naming the rule by its place, from 1 */
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

/** A rule as {@linkcode parseSendRule} reads it. */
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
