import {
  formatAddress,
  type ListenAddress,
  parseAddress,
  parseDuration,
  parseSize,
  parseTimestamp,
} from "@vessel/gateway/base";
import type { Environment, Option, ReloadableOption } from "./options.ts";

/** Names of values in `--help`: a file is always FILE, a directory DIR. The types add those of numbers and lists. */
export type Placeholder =
  | ("FILE" | "DIR" | "FILE|DIR" | "URL" | "COMMAND")
  | ("ADDRESS" | "HOST" | "HOST:PORT" | "ORIGIN" | "EMAIL")
  | ("NAME" | "ID" | "PREFIX" | "PGN" | "HEX" | "N" | "DAYS" | "TIME" | "JSON")
  | ("EXPRESSION" | "RULES")
  | ("KEY" | "PASSWORD" | "TOKEN");

/** Properties of every kind of option. */
export interface OptionProperties<T> {
  /** Name of the flag, without dashes. The environment variable follows from it. */
  name: string;
  /** Help text: one or two sentences. */
  help: string;
  /** Heading in `--help` and on the reference page. */
  group: string;
  /** Name of the value in `--help`. Default: that of the type. */
  placeholder?: Placeholder;
  /** Further names of the flag. When several are given, the last name of this list wins. */
  aliases?: readonly string[];
  /** Key of the configuration file, or several of which the last one found wins. Default: the flag's name. `[]`: none. */
  key?: string | readonly string[];
  /** `false`: not a flag, only in the file. */
  flag?: false;
  /** `false`: not read from the environment. */
  environment?: false;
  /** The value is never printed. */
  secret?: boolean;
  /** For a limit: what happens beyond it. Listed in docs/limits.md. */
  beyond?: string;
  /** Further check of a value: returns the problem, or undefined. */
  validate?(value: T): string | undefined;
}

/** Conversion between text and one value. */
interface Form<T> {
  kind: Option<T>["kind"];
  placeholder: string;
  parse(text: string): T;
  format(value: T): string;
}

/** A default that is not constant. */
export interface ComputedDefault<T> {
  /** The value, from the environment. */
  compute(environment: Environment): T;
  /** How `--help` describes it. */
  text: string;
}

/** Longer durations are refused; about 300 years. */
const MAX_DURATION_MS = 1e13;
const DURATION_UNITS = [["h", 3_600_000], ["m", 60_000], ["s", 1000], ["ms", 1]] as const;
const TRUE_WORDS = ["true", "yes", "on", "1"];
const FALSE_WORDS = ["false", "no", "off", "0"];

/** Any text. */
export function text(
  properties: OptionProperties<string> & { default: string | ComputedDefault<string> },
): Option<string> {
  return scalar(properties, { kind: "string", placeholder: "NAME", parse: (value) => value, format: (value) => value });
}

/** `true` or `false`; a flag without a value is `true`. */
export function boolean(properties: OptionProperties<boolean> & { default: boolean }): Option<boolean> {
  const parse = (value: string) => {
    const word = value.toLowerCase();
    if (TRUE_WORDS.includes(word)) return true;
    if (FALSE_WORDS.includes(word)) return false;
    throw new RangeError(`Cannot read "${value}": expected true or false`);
  };
  return scalar(properties, { kind: "boolean", placeholder: "", parse, format: String });
}

/** A whole number from `min` (default 0) to `max` (default: what a number holds exactly). */
export function integer(
  properties: OptionProperties<number> & { default: number; min?: number; max?: number },
): Option<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = properties;
  const parse = (value: string) => {
    const number = /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a whole number ${range(min, max)}`);
  };
  return scalar(properties, { kind: "integer", placeholder: "N", parse, format: String });
}

/** A power of two from `min` to `max`. */
export function powerOfTwo(
  properties: OptionProperties<number> & { default: number; min: number; max: number },
): Option<number> {
  const { min, max } = properties;
  const parse = (value: string) => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max && Number.isInteger(Math.log2(number))) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a power of two ${range(min, max)}`);
  };
  return scalar(properties, { kind: "integer", placeholder: "N", parse, format: String });
}

/** A number, fractions allowed, from `min` (default 0) to `max` (default: no bound). */
export function number(
  properties: OptionProperties<number> & { default: number; min?: number; max?: number },
): Option<number> {
  const { min = 0, max = Number.MAX_VALUE } = properties;
  const parse = (value: string) => {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a number ${range(min, max)}`);
  };
  return scalar(properties, { kind: "number", placeholder: "N", parse, format: String });
}

/** A time span, kept in milliseconds, written `5m` or `PT5M`. `minMs` defaults to 0. */
export function duration(
  properties: OptionProperties<number> & { default: number; minMs?: number; maxMs?: number },
): Option<number> {
  const { minMs = 0, maxMs = MAX_DURATION_MS } = properties;
  const parse = (value: string) => {
    const ms = parseDuration(value);
    if (ms >= minMs && ms <= maxMs) return ms;
    const upTo = maxMs === MAX_DURATION_MS ? "or longer, within 300 years" : `to ${durationText(maxMs)}`;
    throw new RangeError(`Cannot read the duration "${value}": expected ${durationText(minMs)} ${upTo}`);
  };
  return scalar(properties, { kind: "duration", placeholder: "DURATION", parse, format: durationText });
}

/** An amount of bytes, written `4096`, `10GB` or `512KiB`. */
export function size(
  properties: OptionProperties<number> & {
    default: number | ComputedDefault<number>;
    minBytes?: number;
    maxBytes?: number;
  },
): Option<number> {
  const { minBytes = 0, maxBytes = Number.MAX_SAFE_INTEGER } = properties;
  const parse = (value: string) => {
    const bytes = parseSize(value);
    if (bytes >= minBytes && bytes <= maxBytes) return bytes;
    throw new RangeError(`Cannot read the size "${value}": expected bytes ${range(minBytes, maxBytes)}`);
  };
  return scalar(properties, { kind: "size", placeholder: "SIZE", parse, format: formatSize });
}

/** One of a few properties. */
export function oneOf<T extends string>(
  properties: OptionProperties<T> & { default: T | ComputedDefault<T>; choices: readonly T[] },
): Option<T> {
  const parse = (value: string) => {
    const choice = properties.choices.find((one) => one === value.toLowerCase());
    if (choice !== undefined) return choice;
    throw new RangeError(`Cannot read "${value}": expected ${properties.choices.join(", ")}`);
  };
  return scalar(properties, {
    kind: "enum",
    placeholder: properties.choices.join("|"),
    parse,
    format: (value) => value,
  });
}

/** `host:port`, `[ipv6]:port`, or `:port` for all addresses. Nothing by default. */
export function address(properties: OptionProperties<ListenAddress | undefined>): Option<ListenAddress | undefined> {
  return optional(scalar({ ...properties, default: { hostname: "", port: 0 } }, {
    kind: "address",
    placeholder: "HOST:PORT",
    parse: parseAddress,
    format: formatAddress,
  }));
}

/** Several texts: a flag given several times, a list in the file. `commas`: one flag may hold several as well. */
export function list(
  properties: OptionProperties<string> & { default: readonly string[]; commas?: boolean },
): Option<readonly string[]> {
  const item = (value: string) => checked(value, properties);
  const split = (value: string) => value.split(",").map((part) => part.trim()).filter((part) => part !== "");
  const fromConfig = (value: unknown): readonly string[] => {
    if (Array.isArray(value)) return value.map((one: unknown) => item(scalarText(one)));
    return (properties.commas ? split(scalarText(value)) : [scalarText(value)]).map(item);
  };
  return {
    ...common<readonly string[]>(properties, { kind: "list", placeholder: "NAME" }),
    default: () => properties.default,
    defaultText: properties.default.join(","),
    fromFlags: (values) => values.flatMap((value) => (properties.commas ? split(value) : [value])).map(item),
    fromEnvironment: (value) => split(value).map(item),
    fromConfig,
    format: (value) => value.length === 0 ? undefined : value.join(","),
  };
}

/**
 * A sub-tree of the configuration file, read by `parse` as the parser delivers it. `parseText` reads the flag and the
 * environment variable; without it, there is neither.
 */
export function structured<T>(
  properties: OptionProperties<T> & {
    default: T;
    parse(value: unknown): T;
    parseText?: (text: string) => T;
    format(value: T): string | undefined;
  },
): Option<T> {
  const { parseText } = properties;
  const fromText = (value: string) => {
    if (parseText === undefined) throw new RangeError(`Cannot read "${value}": only the configuration file sets this`);
    return checked(parseText(value), properties);
  };
  const filed = common(properties, { kind: "structured", placeholder: "JSON" });
  return {
    ...filed,
    onCommandLine: filed.onCommandLine && parseText !== undefined,
    inEnvironment: filed.inEnvironment && parseText !== undefined,
    default: () => properties.default,
    defaultText: properties.format(properties.default) ?? "",
    fromFlags: (values) => fromText(values.at(-1) ?? ""),
    fromEnvironment: fromText,
    fromConfig: (value) => checked(properties.parse(value), properties),
    format: (value) => properties.format(value),
  };
}

/** A duration in the short form that `parseDuration` reads: `1h30m`, `250ms`, `0s`. */
export function durationText(ms: number): string {
  let rest = Math.round(ms);
  const parts = DURATION_UNITS.map(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs);
    rest -= count * unitMs;
    return count === 0 ? "" : `${count}${unit}`;
  });
  return parts.join("") || "0s";
}

/** A time in RFC 3339: microseconds since 1970. */
export function readTimestamp(value: string): number {
  const timeUs = parseTimestamp(value);
  if (timeUs !== undefined) return timeUs;
  throw new RangeError(`Cannot read the time "${value}": expected RFC 3339, such as 2024-06-01T12:00:00Z`);
}

/** The same option without a default; an empty text means not set. */
export function optional<T>(option: Option<T>): Option<T | undefined> {
  const read = (value: string, parse: () => T) => value.trim() === "" ? undefined : parse();
  return {
    ...option,
    default: () => undefined,
    defaultText: "",
    fromFlags: (values) => read(values.at(-1) ?? "", () => option.fromFlags(values)),
    fromEnvironment: (value) => read(value, () => option.fromEnvironment(value)),
    fromConfig: (value) => read(typeof value === "string" ? value : "set", () => option.fromConfig(value)),
    format: (value) => value === undefined ? undefined : option.format(value),
  };
}

/** The same option, whose new value a reload (SIGHUP) applies. */
export function reloadable<T>(option: Option<T>): ReloadableOption<T> {
  return { ...option, reloadable: true };
}

/** The same option, not set by default; 0 also means not set. */
export function offAtZero(option: Option<number>): Option<number | undefined> {
  const inner = optional(option);
  const read = (value: number | undefined) => value === 0 ? undefined : value;
  return {
    ...inner,
    fromFlags: (values) => read(inner.fromFlags(values)),
    fromEnvironment: (value) => read(inner.fromEnvironment(value)),
    fromConfig: (value) => read(inner.fromConfig(value)),
  };
}

function scalar<T>(properties: OptionProperties<T> & { default: T | ComputedDefault<T> }, form: Form<T>): Option<T> {
  const read = (value: string) => checked(form.parse(value), properties);
  const computed = isComputed(properties.default) ? properties.default : undefined;
  return {
    ...common(properties, form),
    default: (environment) =>
      isComputed(properties.default) ? properties.default.compute(environment) : properties.default,
    defaultText: computed?.text ?? (isComputed(properties.default) ? "" : form.format(properties.default)),
    fromFlags: (values) => read(values.at(-1) ?? ""),
    fromEnvironment: read,
    fromConfig: (value) => read(scalarText(value)),
    format: (value) => form.format(value) || undefined,
  };
}

function isComputed<T>(value: T | ComputedDefault<T>): value is ComputedDefault<T> {
  return typeof value === "object" && value !== null && "compute" in value;
}

type Common = "default" | "defaultText" | "fromFlags" | "fromEnvironment" | "fromConfig" | "format";

function common<T>(
  properties: Omit<OptionProperties<T>, "validate">,
  { kind, placeholder }: { kind: Option<T>["kind"]; placeholder: string },
): Omit<Option<T>, Common> {
  return {
    kind,
    name: properties.name,
    aliases: properties.aliases ?? [],
    keys: typeof properties.key === "string" ? [properties.key] : properties.key ?? [properties.name],
    onCommandLine: properties.flag ?? true,
    inEnvironment: properties.environment ?? true,
    placeholder: properties.placeholder ?? placeholder,
    help: properties.help,
    group: properties.group,
    secret: properties.secret ?? false,
    reloadable: false,
    beyond: properties.beyond,
  };
}

function checked<T>(value: T, { validate }: Pick<OptionProperties<T>, "validate">): T {
  const wrong = validate?.(value);
  if (wrong !== undefined) throw new RangeError(wrong);
  return value;
}

/** Text of a value of the file: `port = 8089` and `port = "8089"` are equal. */
function scalarText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const what = Array.isArray(value) ? "a list" : value === null ? "null" : "a section";
  throw new RangeError(`Cannot read the value: expected one value, found ${what}`);
}

function formatSize(bytes: number): string {
  const units: [string, number][] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
  const unit = units.find(([, unitBytes]) => bytes >= unitBytes && bytes % unitBytes === 0);
  return unit === undefined ? String(bytes) : `${bytes / unit[1]}${unit[0]}`;
}

function range(min: number, max: number): string {
  return max >= Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
}
