import {
  formatAddress,
  formatDuration,
  type ListenAddress,
  parseAddress,
  parseDuration,
  parseSize,
  parseTimestamp,
} from "@vessel/gateway/base";
import type { Environment, Option, ReloadableOption } from "./options.ts";

/** What every kind of option may say about itself. */
export interface OptionWords<T> {
  /** Name of the flag, without dashes. The environment variable follows from it. */
  name: string;
  /** One or two sentences for `--help` and the reference page. */
  help: string;
  /** Heading under which `--help` and the reference page show it. */
  group: string;
  /** Name of the value in `--help`, such as `ADDRESS`. Default: what the type calls it. */
  placeholder?: string;
  /** Further names of the flag. When several are given, the last name of this list wins. */
  aliases?: readonly string[];
  /** Key of the configuration file, or several of which the last one found wins. Default: the flag's name. `[]`: none. */
  key?: string | readonly string[];
  /** `false`: not a flag (a setting of the file alone). */
  flag?: false;
  /** `false`: not read from the environment. */
  environment?: false;
  /** The value is never printed. */
  secret?: boolean;
  /** For a limit: what happens beyond it. Such an option is a row of docs/limits.md. */
  beyond?: string;
  /** What else a value must satisfy: answers what is wrong with it, or nothing. */
  validate?(value: T): string | undefined;
}

/** How text becomes one value and back. */
interface Form<T> {
  kind: Option<T>["kind"];
  placeholder: string;
  parse(text: string): T;
  format(value: T): string;
}

/** Where a default comes from when it is no constant. */
export interface ComputedDefault<T> {
  /** The value, from the environment. */
  compute(environment: Environment): T;
  /** How `--help` describes it. */
  text: string;
}

/** Longer durations are taken for mistakes; about 300 years. */
const MAX_DURATION_MS = 1e13;
const TRUE_WORDS = ["true", "yes", "on", "1"];
const FALSE_WORDS = ["false", "no", "off", "0"];

/** Text, as it is. */
export function text(words: OptionWords<string> & { default: string | ComputedDefault<string> }): Option<string> {
  return scalar(words, { kind: "string", placeholder: "TEXT", parse: (value) => value, format: (value) => value });
}

/** `true` or `false`; as a flag the name alone is `true`. */
export function boolean(words: OptionWords<boolean> & { default: boolean }): Option<boolean> {
  const parse = (value: string) => {
    const word = value.toLowerCase();
    if (TRUE_WORDS.includes(word)) return true;
    if (FALSE_WORDS.includes(word)) return false;
    throw new RangeError(`Cannot read "${value}": expected true or false`);
  };
  return scalar(words, { kind: "boolean", placeholder: "", parse, format: String });
}

/** A whole number from `min` (default 0) to `max` (default: what a number holds exactly). */
export function integer(
  words: OptionWords<number> & { default: number; min?: number; max?: number },
): Option<number> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = words;
  const parse = (value: string) => {
    const number = /^[+-]?\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a whole number ${range(min, max)}`);
  };
  return scalar(words, { kind: "integer", placeholder: "N", parse, format: String });
}

/** A power of two from `min` to `max`. */
export function powerOfTwo(words: OptionWords<number> & { default: number; min: number; max: number }): Option<number> {
  const { min, max } = words;
  const parse = (value: string) => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max && Number.isInteger(Math.log2(number))) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a power of two ${range(min, max)}`);
  };
  return scalar(words, { kind: "integer", placeholder: "N", parse, format: String });
}

/** A number, fractions allowed, from `min` (default 0) to `max` (default: no bound). */
export function number(words: OptionWords<number> & { default: number; min?: number; max?: number }): Option<number> {
  const { min = 0, max = Number.MAX_VALUE } = words;
  const parse = (value: string) => {
    const number = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value) ? Number(value) : NaN;
    if (number >= min && number <= max) return number;
    throw new RangeError(`Cannot read the number "${value}": expected a number ${range(min, max)}`);
  };
  return scalar(words, { kind: "number", placeholder: "N", parse, format: String });
}

/** A time span, kept in milliseconds, written `5m` or `PT5M`. `minMs` defaults to 0. */
export function duration(
  words: OptionWords<number> & { default: number; minMs?: number; maxMs?: number },
): Option<number> {
  const { minMs = 0, maxMs = MAX_DURATION_MS } = words;
  const parse = (value: string) => {
    const ms = parseDuration(value);
    if (ms >= minMs && ms <= maxMs) return ms;
    const upTo = maxMs === MAX_DURATION_MS ? "or longer, within 300 years" : `to ${formatDuration(maxMs)}`;
    throw new RangeError(`Cannot read the duration "${value}": expected ${formatDuration(minMs)} ${upTo}`);
  };
  return scalar(words, { kind: "duration", placeholder: "DURATION", parse, format: formatDuration });
}

/** An amount of bytes, written `4096`, `10GB` or `512KiB`. */
export function size(
  words: OptionWords<number> & { default: number | ComputedDefault<number>; minBytes?: number; maxBytes?: number },
): Option<number> {
  const { minBytes = 0, maxBytes = Number.MAX_SAFE_INTEGER } = words;
  const parse = (value: string) => {
    const bytes = parseSize(value);
    if (bytes >= minBytes && bytes <= maxBytes) return bytes;
    throw new RangeError(`Cannot read the size "${value}": expected bytes ${range(minBytes, maxBytes)}`);
  };
  return scalar(words, { kind: "size", placeholder: "SIZE", parse, format: formatSize });
}

/** One of a few words. */
export function oneOf<T extends string>(
  words: OptionWords<T> & { default: T | ComputedDefault<T>; choices: readonly T[] },
): Option<T> {
  const parse = (value: string) => {
    const choice = words.choices.find((one) => one === value.toLowerCase());
    if (choice !== undefined) return choice;
    throw new RangeError(`Cannot read "${value}": expected ${words.choices.join(", ")}`);
  };
  return scalar(words, { kind: "enum", placeholder: words.choices.join("|"), parse, format: (value) => value });
}

/** `host:port`, `[ipv6]:port`, or `:port` for all addresses. Nothing by default. */
export function address(words: OptionWords<ListenAddress | undefined>): Option<ListenAddress | undefined> {
  return optional(scalar({ ...words, default: { hostname: "", port: 0 } }, {
    kind: "address",
    placeholder: "HOST:PORT",
    parse: parseAddress,
    format: formatAddress,
  }));
}

/** Several texts: a flag given several times, a list in the file. `commas`: one flag may hold several as well. */
export function list(
  words: OptionWords<string> & { default: readonly string[]; commas?: boolean },
): Option<readonly string[]> {
  const item = (value: string) => checked(value, words);
  const split = (value: string) => value.split(",").map((part) => part.trim()).filter((part) => part !== "");
  const fromConfig = (value: unknown): readonly string[] => {
    if (Array.isArray(value)) return value.map((one: unknown) => item(scalarText(one)));
    return (words.commas ? split(scalarText(value)) : [scalarText(value)]).map(item);
  };
  return {
    ...common<readonly string[]>(words, { kind: "list", placeholder: "NAME" }),
    default: () => words.default,
    defaultText: words.default.join(","),
    fromFlags: (values) => values.flatMap((value) => (words.commas ? split(value) : [value])).map(item),
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
  words: OptionWords<T> & {
    default: T;
    parse(value: unknown): T;
    parseText?: (text: string) => T;
    format(value: T): string | undefined;
  },
): Option<T> {
  const { parseText } = words;
  const fromText = (value: string) => {
    if (parseText === undefined) throw new RangeError(`Cannot read "${value}": only the configuration file sets this`);
    return checked(parseText(value), words);
  };
  const filed = common(words, { kind: "structured", placeholder: "TEXT" });
  return {
    ...filed,
    onCommandLine: filed.onCommandLine && parseText !== undefined,
    inEnvironment: filed.inEnvironment && parseText !== undefined,
    default: () => words.default,
    defaultText: words.format(words.default) ?? "",
    fromFlags: (values) => fromText(values.at(-1) ?? ""),
    fromEnvironment: fromText,
    fromConfig: (value) => checked(words.parse(value), words),
    format: (value) => words.format(value),
  };
}

/** A time in RFC 3339: microseconds since 1970. */
export function readTimestamp(value: string): number {
  const timeUs = parseTimestamp(value);
  if (timeUs !== undefined) return timeUs;
  throw new RangeError(`Cannot read the time "${value}": expected RFC 3339, such as 2024-06-01T12:00:00Z`);
}

/** The same option without a value unless one is given; an empty text takes a value away again. */
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

/** The same option where 0, too, means that there is no value: what is off has one form, whichever way it was said. */
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

function scalar<T>(words: OptionWords<T> & { default: T | ComputedDefault<T> }, form: Form<T>): Option<T> {
  const read = (value: string) => checked(form.parse(value), words);
  const computed = isComputed(words.default) ? words.default : undefined;
  return {
    ...common(words, form),
    default: (environment) => isComputed(words.default) ? words.default.compute(environment) : words.default,
    defaultText: computed?.text ?? (isComputed(words.default) ? "" : form.format(words.default)),
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
  words: Omit<OptionWords<T>, "validate">,
  { kind, placeholder }: { kind: Option<T>["kind"]; placeholder: string },
): Omit<Option<T>, Common> {
  return {
    kind,
    name: words.name,
    aliases: words.aliases ?? [],
    keys: typeof words.key === "string" ? [words.key] : words.key ?? [words.name],
    onCommandLine: words.flag ?? true,
    inEnvironment: words.environment ?? true,
    placeholder: words.placeholder ?? placeholder,
    help: words.help,
    group: words.group,
    secret: words.secret ?? false,
    reloadable: false,
    beyond: words.beyond,
  };
}

function checked<T>(value: T, { validate }: Pick<OptionWords<T>, "validate">): T {
  const wrong = validate?.(value);
  if (wrong !== undefined) throw new RangeError(wrong);
  return value;
}

/** Text of a value of the file: whoever writes `port = 8089` and whoever writes `port = "8089"` mean the same. */
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
