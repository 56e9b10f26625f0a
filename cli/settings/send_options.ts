import { formatSendRule, parseSendRule, parseSendRules, type SendRule } from "@vessel/gateway/boat";
import { errorText } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import { OptionGroup, reloadable } from "./option_types.ts";
import { type Check, type SettingsOf, warn } from "./options.ts";

const sending = new OptionGroup("Sending");
const RULE_KEYS = ["deny", "pgn", "name"];

/** Options of sending. */
export const sendOptions = {
  sendEnabled: reloadable(sending.boolean({
    name: "send-enabled",
    key: "send.enabled",
    help:
      "Let clients send to the buses and ask devices: POST /send, POST /query, send on /ws. Without rules: anything.",
  })),
  readOnly: reloadable(sending.boolean({
    name: "read-only",
    help: "Let no client send, regardless of other settings.",
  })),
  sendRules: reloadable(sending.structured<readonly SendRule[]>({
    name: "send-rules",
    key: "send.rules",
    placeholder: "RULES",
    default: [],
    help:
      'What clients may send: rules with semicolons between them, the first that matches decides, no match denies. "pgn:' +
      '59904,129025-129029" allows these PGNs, "name:001c6e4000200000" what is for that device, "!" in front denies: ' +
      '"!pgn:65280-65535; pgn:59904". A rule that denies a NAME also matches broadcasts of PGNs that could be addressed ' +
      "(126208, 59904), the commanded address (65240) and messages to an address without a known NAME: any of them may " +
      "reach that device. PGNs that are always broadcast (PDU2) are for no device: it matches them only if it has a " +
      '"pgn", too. A query is checked by the PGN that it requests. In the file: a list of such texts, or of ' +
      '{ deny = true, pgn = [59904, "129025-129029"], name = "001c6e4000200000" }, each key only if needed.',
    parse: readRules,
    parseText: parseSendRules,
    format: (rules) => rules.length === 0 ? undefined : rules.map(formatSendRule).join("; "),
  })),
  sendRateLimit: reloadable(sending.number({
    name: "send-rate-limit",
    beyond: "429 with Retry-After, and a line of the audit log; nothing is queued.",
    key: "send.rate-limit",
    default: 0,
    max: 100_000,
    help: "Most messages a second of all clients together, queries included. 0: no limit.",
  })),
  sendRateBurst: reloadable(sending.integer({
    name: "send-rate-burst",
    beyond: "429; a list of more messages than this is never accepted.",
    key: "send.rate-burst",
    default: 10,
    min: 1,
    max: 100_000,
    help: "Most messages at once, and in one list, if there is a rate limit.",
  })),
  queryMaxTimeoutMs: reloadable(sending.duration({
    name: "query-max-timeout",
    beyond: "400 naming the field.",
    default: 60_000,
    minMs: 1,
    help: "Longest timeout that a query may request.",
  })),
  maxQueries: reloadable(sending.integer({
    name: "max-queries",
    beyond: "503 with Retry-After, and a line of the audit log.",
    default: 64,
    min: 1,
    max: 10_000,
    help: "Most queries under way at once; more are refused with 503.",
  })),
  sendQueueMessages: sending.integer({
    name: "send-queue-size",
    beyond: "503; nothing of the request is queued.",
    default: 64,
    min: 1,
    max: 65_536,
    help: "Most messages that wait for one bus; more are refused with 503.",
  }),
  sendFramesPerSecond: sending.integer({
    name: "send-frame-rate",
    beyond:
      "Messages wait in the queue; one that waits for more than 10 s is discarded and counted in vbg_transmit_failed_total.",
    default: 400,
    min: 1,
    max: 10_000,
    help: "Most CAN frames a second that are sent to one bus. A full bus carries about 1800.",
  }),
};

/** Settings of what clients may send. */
export type SendOptionSettings = SettingsOf<typeof sendOptions>;

/** Checks of several settings of sending. */
export const sendChecks: readonly Check<SendOptionSettings>[] = [
  warn(
    ["sendEnabled", "sendRules"],
    ({ sendEnabled, sendRules }) =>
      sendEnabled && sendRules.length === 0 && "Without -send-rules clients may send anything",
  ),
  warn(
    ["sendRules", "sendEnabled"],
    ({ sendEnabled, sendRules }) =>
      !sendEnabled && sendRules.length > 0 && "Not used: sending is off without -send-enabled",
  ),
];

/** Reads `send.rules`. @throws {RangeError} naming the position */
function readRules(value: unknown): SendRule[] {
  if (typeof value === "string") return parseSendRules(value);
  return (Array.isArray(value) ? value : [value]).map((each: unknown, i) => {
    const place = `send.rules[${i}]`;
    try {
      return parseSendRule(typeof each === "string" ? each : ruleText(each));
    } catch (error) {
      throw new RangeError(`${place}: ${errorText(error)}`);
    }
  });
}

/** The text form of a rule that is an object. */
function ruleText(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RangeError(`expected a text or a section with ${RULE_KEYS.join(", ")}`);
  }
  const unknown = Object.keys(value).find((key) => !RULE_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new RangeError(`unknown key "${unknown}": did you mean "${nearest(unknown, RULE_KEYS)}"?`);
  }
  const { deny, pgn, name }: { deny?: unknown; pgn?: unknown; name?: unknown } = value;
  if (deny === undefined && pgn === undefined && name === undefined) throw new RangeError("expected deny, pgn or name");
  return [isTrue(deny) ? "!" : "", listText("pgn", pgn), listText("name", name)].join(" ");
}

function isTrue(value: unknown): boolean {
  if (value === undefined || value === false || value === "false") return false;
  if (value === true || value === "true") return true;
  throw new RangeError(`deny: expected true or false, got "${value}"`);
}

/** Accepts a single value for a list of one. Refuses an empty list, which could mean nothing or everything. */
function listText(key: string, value: unknown): string {
  if (value === undefined) return "";
  const parts = (Array.isArray(value) ? value : [value]).map((each) => String(each).replace(/\s+/g, ""));
  if (parts.length === 0 || parts.includes("")) throw new RangeError(`${key}: must not be empty`);
  return `${key}:${parts.join(",")}`;
}
