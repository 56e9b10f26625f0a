import {
  DEFAULT_REQUESTS_MIN_INTERVAL_MS,
  type DeviceMatch,
  type FrameRequestRule,
  type RequestRule,
  type RequestRuleBase,
  type SubKeyPosition,
} from "@vessel/gateway/boat";
import { parseDuration } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import {
  BROADCAST_ADDRESS,
  isAddressed,
  MAX_DEVICE_ADDRESS,
  MAX_MESSAGE_BYTES,
  MAX_PGN,
  NULL_ADDRESS,
  readName,
} from "@vessel/gateway/frame";
import { manufacturerCode } from "@vessel/gateway/pgn";
import { manufacturerHint } from "./filter_names.ts";
import { OptionGroup } from "./option_types.ts";
import { type Check, type SettingsOf, warn } from "./options.ts";

const group = new OptionGroup("Requests");
const MAX_UINT32 = 0xffff_ffff;
const DEFAULT_PRIORITY = 6;

const FRAME_ONLY_KEYS = [
  "frame-pgn",
  "frame-template",
  "frame-priority",
  "subkey-write-offset",
  "subkey-write-len",
  "subkey-read-offset",
  "subkey-read-len",
];
const TIMING_KEYS = ["min-interval", "max-age", "on-online", "invalidate-on"];
const RULE_KEYS = ["name", "match", "via", "want", "to-device", "dst", ...TIMING_KEYS, ...FRAME_ONLY_KEYS];
const MATCH_KEYS = [
  "manufacturer",
  "manufacturer-code",
  "model-id",
  "device-class",
  "device-function",
  "name",
  "source",
  "bus",
];

/** Options of the requests that the server sends by itself. */
export const requestOptions = {
  requests: group.structured<readonly RequestRule[]>({
    name: "requests",
    default: [],
    help: "Requests that the server sends to devices by itself: a list of { name, match { " + MATCH_KEYS.join(", ") +
      " }, want, to-device or dst (default: all devices), min-interval, max-age, on-online, invalidate-on }. " +
      "want lists PGNs, requested if they are missing or older than max-age. With via = frame it lists numbers that are " +
      "written into a custom message: " + FRAME_ONLY_KEYS.join(", ") + ".",
    parse: readRequestRules,
    format: (rules) => rules.length === 0 ? undefined : rules.map(({ name }) => name).join(","),
  }),
  requestsGlobalMinIntervalMs: group.duration({
    name: "requests-global-min-interval",
    default: DEFAULT_REQUESTS_MIN_INTERVAL_MS,
    help: "Shortest time between any two of these requests. 0: no limit.",
  }),
};

/** Settings of the requests that the server sends by itself. */
export type RequestSettings = SettingsOf<typeof requestOptions>;

/** Checks of several settings of requests. */
export const requestChecks: readonly Check<RequestSettings & { interfaces: readonly string[] }>[] = [
  warn(["requests", "interfaces"], ({ requests, interfaces }) => {
    const isMissing = (bus: string) => interfaces.length > 0 && !interfaces.includes(bus);
    const rule = requests.find(({ match }) => match.buses?.some(isMissing));
    const bus = rule?.match.buses?.find(isMissing);
    return rule && `The request rule "${rule.name}" is for the bus "${bus}", which is no interface`;
  }),
];

/** Reads `requests`. @throws {RangeError} naming the position */
export function readRequestRules(value: unknown): RequestRule[] {
  const rules = listOf(value).map((each, i) => readRule(each, `requests[${i}]`));
  const twice = rules.find(({ name }, i) => rules.findIndex((each) => each.name === name) !== i);
  if (twice) throw new RangeError(`requests: the name "${twice.name}" is given twice`);
  return rules;
}

function readRule(value: unknown, path: string): RequestRule {
  const rule = new Section(value, { path, known: RULE_KEYS });
  const via = rule.text("via")?.toLowerCase() ?? "iso";
  if (via === "frame") return readFrameRule(rule);
  if (via !== "iso") rule.fail("via", `cannot use "${via}": expected iso or frame`);
  const foreign = FRAME_ONLY_KEYS.find((key) => rule.has(key));
  if (foreign !== undefined) rule.fail(foreign, "only for a rule with via = frame");
  const want = rule.need("want", rule.pgns("want"));
  return { via: "iso", want, ...readWords(rule, { wanted: want }) };
}

function readFrameRule(rule: Section): FrameRequestRule {
  const [pgn = 0] = rule.need("frame-pgn", rule.pgns("frame-pgn", { most: 1 }));
  const template = rule.need("frame-template", rule.hex("frame-template"));
  const want = rule.need("want", rule.numbers("want", { max: MAX_UINT32 }));
  const [prio = DEFAULT_PRIORITY] = rule.numbers("frame-priority", { max: 7, most: 1 }) ?? [];
  const write = readPosition(rule, { key: "subkey-write", bytes: template.length });
  const read = readPosition(rule, { key: "subkey-read", bytes: MAX_MESSAGE_BYTES });
  if (want.length > 1 && !(write && read)) {
    rule.fail("want", "several values cannot be distinguished without subkey-write-len and subkey-read-len");
  }
  const available = Math.min(write?.length ?? Infinity, read?.length ?? Infinity);
  const large = want.find((each) => each >= 256 ** available);
  if (large !== undefined) rule.fail("want", `${large} needs more than ${available} bytes`);
  for (const key of ["to-device", "dst"]) {
    if (!isAddressed(pgn) && rule.has(key)) rule.fail(key, `PGN ${pgn} is always broadcast`);
  }
  return { via: "frame", pgn, prio, template, want, write, read, ...readWords(rule, { wanted: [pgn] }) };
}

/** Fields of both kinds of rules. `wanted`: the PGNs of the replies. */
function readWords(rule: Section, { wanted }: { wanted: readonly number[] }): RequestRuleBase {
  const invalidateOn = rule.pgns("invalidate-on") ?? [];
  const endless = invalidateOn.find((pgn) => wanted.includes(pgn));
  if (endless !== undefined) rule.fail("invalidate-on", `each reply with PGN ${endless} would be requested again`);
  const maxAgeMs = rule.durationMs("max-age");
  const hasReason = maxAgeMs !== undefined || invalidateOn.length > 0;
  const onOnline = rule.boolean("on-online") ?? !hasReason;
  if (!onOnline && !hasReason) rule.fail("on-online", "without max-age and invalidate-on nothing would be requested");
  return {
    name: rule.need("name", rule.text("name")),
    match: rule.has("match") ? readMatch(rule.section("match", MATCH_KEYS)) : {},
    to: readDestination(rule),
    minIntervalMs: rule.need("min-interval", rule.durationMs("min-interval")),
    maxAgeMs,
    onOnline,
    invalidateOn,
  };
}

function readDestination(rule: Section): RequestRule["to"] {
  const toDevice = rule.boolean("to-device") ?? false;
  const [dst] = rule.numbers("dst", { max: BROADCAST_ADDRESS, most: 1 }) ?? [];
  if (toDevice && dst !== undefined) rule.fail("dst", "expected either to-device or dst");
  if (dst === NULL_ADDRESS) rule.fail("dst", `cannot use ${dst}: it is the null address`);
  return toDevice ? "device" : dst ?? BROADCAST_ADDRESS;
}

function readPosition(rule: Section, { key, bytes }: { key: string; bytes: number }): SubKeyPosition | undefined {
  const [length = 0] = rule.numbers(`${key}-len`, { max: 4, most: 1 }) ?? [];
  const [offset] = rule.numbers(`${key}-offset`, { max: MAX_MESSAGE_BYTES, most: 1 }) ?? [];
  if (length === 0 && offset !== undefined) rule.fail(`${key}-len`, "missing");
  if (length === 0) return undefined;
  const position = { offset: offset ?? 0, length };
  if (position.offset + length > bytes) {
    rule.fail(`${key}-offset`, `${length} bytes at ${position.offset} are beyond the end, which is ${bytes}`);
  }
  return position;
}

function readMatch(match: Section): DeviceMatch {
  const given = {
    manufacturers: readManufacturers(match),
    models: match.texts("model-id"),
    classes: match.numbers("device-class", { max: 127 }),
    functions: match.numbers("device-function", { max: 255 }),
    names: match.texts("name")?.map((text) =>
      readName(text) ?? match.fail("name", `cannot read the NAME "${text}": expected 1 to 16 hex digits`)
    ),
    sources: match.numbers("source", { max: MAX_DEVICE_ADDRESS }),
    buses: match.texts("bus"),
  };
  const starred = given.models?.find((model) => model.slice(0, -1).includes("*"));
  if (starred !== undefined) match.fail("model-id", `cannot use "${starred}": a * can only be at the end`);
  return Object.fromEntries(Object.entries(given).filter(([, list]) => list !== undefined));
}

/** Codes that match both the names and the codes. */
function readManufacturers(match: Section): number[] | undefined {
  const named = match.texts("manufacturer")?.map((text) =>
    manufacturerCode(text) ??
      match.fail(
        "manufacturer",
        `unknown manufacturer "${text}"${manufacturerHint(text)}; manufacturer-code takes its number`,
      )
  );
  const codes = match.numbers("manufacturer-code", { max: 2047 });
  if (!named || !codes) return named ?? codes;
  const both = codes.filter((code) => named.includes(code));
  if (both.length === 0) match.fail("manufacturer-code", `${codes.join(", ")} is none of the manufacturer given`);
  return both;
}

/** A section of the file. Its readers return undefined for a missing key and name the position of an error. */
class Section {
  readonly #path: string;
  readonly #values: ReadonlyMap<string, unknown>;

  constructor(value: unknown, { path, known }: { path: string; known: readonly string[] }) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw new RangeError(`${path}: expected a section with ${known.join(", ")}`);
    }
    const unknown = Object.keys(value).find((key) => !known.includes(key));
    if (unknown !== undefined) {
      throw new RangeError(`${path}: unknown key "${unknown}": did you mean "${nearest(unknown, known)}"?`);
    }
    this.#path = path;
    this.#values = new Map(Object.entries(value).filter(([, each]) => each !== null && each !== undefined));
  }

  has(key: string): boolean {
    return this.#values.has(key);
  }

  fail(key: string, message: string): never {
    throw new RangeError(`${this.#path}.${key}: ${message}`);
  }

  need<T>(key: string, value: T | undefined): T {
    return value ?? this.fail(key, "missing");
  }

  section(key: string, known: readonly string[]): Section {
    return new Section(this.#values.get(key), { path: `${this.#path}.${key}`, known });
  }

  /** Texts without duplicates, at least one; accepts a single value for a list of one. */
  texts(key: string, { most = Infinity }: { most?: number } = {}): string[] | undefined {
    if (!this.has(key)) return undefined;
    const texts = listOf(this.#values.get(key)).map((each) => {
      if (typeof each === "number" && !Number.isSafeInteger(each)) this.fail(key, `${each} must be written in quotes`);
      const isScalar = typeof each === "string" || typeof each === "number" || typeof each === "boolean";
      return isScalar && each !== "" ? String(each) : this.fail(key, "expected a text");
    });
    if (texts.length === 0) this.fail(key, "must not be empty");
    if (texts.length > most) this.fail(key, "expected one value");
    return [...new Set(texts)];
  }

  text(key: string): string | undefined {
    return this.texts(key, { most: 1 })?.[0];
  }

  boolean(key: string): boolean | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    if (text === "true" || text === "false") return text === "true";
    return this.fail(key, `cannot read "${text}": expected true or false`);
  }

  /** Whole numbers from 0, in decimal or as 0x and hex digits. */
  numbers(key: string, { max, most = Infinity }: { max: number; most?: number }): number[] | undefined {
    const numbers = this.texts(key, { most })?.map((text) => {
      const number = /^(?:\d+|0x[0-9a-f]+)$/i.test(text) ? Number(text) : NaN;
      return number <= max ? number : this.fail(key, `cannot read "${text}": expected a whole number from 0 to ${max}`);
    });
    return numbers && [...new Set(numbers)];
  }

  pgns(key: string, { most = Infinity }: { most?: number } = {}): number[] | undefined {
    const pgns = this.numbers(key, { max: MAX_PGN, most });
    const wrong = pgns?.find((pgn) => isAddressed(pgn) && (pgn & 0xff) !== 0);
    if (wrong !== undefined) this.fail(key, `${wrong} is no PGN: its last byte is a destination`);
    return pgns;
  }

  /** A time span longer than nothing, in milliseconds. */
  durationMs(key: string): number | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    try {
      const ms = parseDuration(text);
      if (ms > 0) return ms;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.fail(key, error.message);
    }
    return this.fail(key, "must be longer than nothing");
  }

  hex(key: string): Uint8Array | undefined {
    const text = this.text(key);
    if (text === undefined) return undefined;
    // An unquoted number has lost its leading zeros.
    if (typeof this.#values.get(key) === "number") this.fail(key, `${text} must be written in quotes`);
    if (!/^(?:[0-9a-f]{2})+$/i.test(text)) this.fail(key, `cannot read "${text}": expected pairs of hex digits`);
    if (text.length > 2 * MAX_MESSAGE_BYTES) this.fail(key, `expected at most ${MAX_MESSAGE_BYTES} bytes`);
    return Uint8Array.fromHex(text);
  }
}

/** Accepts a single value for a list of one. */
function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}
