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
  | ("EXPRESSION" | "RULES" | "QUANTITY=NAME" | "NAME=DURATION")
  | ("KEY" | "PASSWORD" | "TOKEN");

/** Properties of every kind of option. */
export interface OptionProperties<T> {
  /** Name of the flag, without dashes. The environment variable follows from it. */
  name: string;
  /** Help text: one or two sentences. */
  help: string;
  /** Name of the value in `--help`. Default: that of the type. */
  placeholder?: Placeholder;
  /** Further names of the flag. When several are given, the last name of this list wins. */
  aliases?: readonly string[];
  /** Key of the configuration file, or several of which the last one found wins. Default: see {@linkcode OptionGroup}. */
  key?: string | readonly string[];
  /** `false`: not a flag, only in the file. */
  flag?: false;
  /** Whether an environment variable sets it. Default: that of the group. */
  environment?: boolean;
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

/** Members of an option that depend on its kind. */
type Read = "default" | "defaultText" | "fromFlags" | "fromEnvironment" | "fromConfig" | "format";

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

/**
 * Creates the options under one heading of `--help`. The key of an option in the configuration file is the flag's name;
 * in a section `mqtt`, the key of the flag `mqtt-client-id` is `mqtt.client-id`.
 */
export class OptionGroup {
  readonly #group: string;
  readonly #section: string | undefined;
  readonly #environment: boolean;

  constructor(group: string, { section, environment = true }: { section?: string; environment?: boolean } = {}) {
    this.#group = group;
    this.#section = section;
    this.#environment = environment;
  }

  /** Any text. The default is empty. */
  text(properties: OptionProperties<string> & { default?: string | ComputedDefault<string> }): Option<string> {
    const form = { kind: "string", placeholder: "NAME", parse: same, format: same } as const;
    return this.#scalar<string>({ default: "", ...properties }, form);
  }

  /** `true` or `false` (the default); a flag without a value is `true`. */
  boolean(properties: OptionProperties<boolean> & { default?: boolean }): Option<boolean> {
    const parse = (value: string) => {
      const word = value.toLowerCase();
      if (TRUE_WORDS.includes(word)) return true;
      if (FALSE_WORDS.includes(word)) return false;
      throw new RangeError(`Cannot read "${value}": expected true or false`);
    };
    return this.#scalar({ default: false, ...properties }, { kind: "boolean", placeholder: "", parse, format: String });
  }

  /** A whole number from `min` (default 0) to `max` (default: what a number holds exactly). */
  integer(properties: OptionProperties<number> & { default: number; min?: number; max?: number }): Option<number> {
    return this.#number(properties, { what: "a whole number", pattern: /^[+-]?\d+$/ });
  }

  /** A power of two from `min` to `max`. */
  powerOfTwo(properties: OptionProperties<number> & { default: number; min: number; max: number }): Option<number> {
    return this.#number(properties, { what: "a power of two", pattern: /^\d+$/ });
  }

  /** A number, fractions allowed, from `min` (default 0) to `max` (default: no bound). */
  number(properties: OptionProperties<number> & { default: number; min?: number; max?: number }): Option<number> {
    return this.#number(properties, { what: "a number", pattern: /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i });
  }

  /** A time span, kept in milliseconds, written `5m` or `PT5M`. `minMs` defaults to 0. */
  duration(
    properties: OptionProperties<number> & { default: number; minMs?: number; maxMs?: number },
  ): Option<number> {
    const { minMs = 0, maxMs = MAX_DURATION_MS } = properties;
    const parse = (value: string) => {
      const ms = parseDuration(value);
      if (ms >= minMs && ms <= maxMs) return ms;
      const upTo = maxMs === MAX_DURATION_MS ? "or longer, within 300 years" : `to ${durationText(maxMs)}`;
      throw new RangeError(`Cannot read the duration "${value}": expected ${durationText(minMs)} ${upTo}`);
    };
    return this.#scalar(properties, { kind: "duration", placeholder: "DURATION", parse, format: durationText });
  }

  /** An amount of bytes, written `4096`, `10GB` or `512KiB`. */
  size(
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
    return this.#scalar(properties, { kind: "size", placeholder: "SIZE", parse, format: formatSize });
  }

  /** One of a few words. */
  oneOf<T extends string>(
    properties: OptionProperties<T> & { default: T | ComputedDefault<T>; choices: readonly T[] },
  ): Option<T> {
    const { choices } = properties;
    const parse = (value: string) => {
      const choice = choices.find((one) => one === value.toLowerCase());
      if (choice !== undefined) return choice;
      throw new RangeError(`Cannot read "${value}": expected ${choices.join(", ")}`);
    };
    return this.#scalar(properties, { kind: "enum", placeholder: choices.join("|"), parse, format: same });
  }

  /** `host:port`, `[ipv6]:port`, or `:port` for all addresses. Nothing by default. */
  address(properties: OptionProperties<ListenAddress | undefined>): Option<ListenAddress | undefined> {
    const form = { kind: "address", placeholder: "HOST:PORT", parse: parseAddress, format: formatAddress } as const;
    return optional(this.#scalar({ ...properties, default: { hostname: "", port: 0 } }, form));
  }

  /**
   * Several texts, none by default: a flag given several times, a list in the file. `commas`: one flag may hold several
   * as well.
   */
  list(
    properties: OptionProperties<string> & { default?: readonly string[]; defaultText?: string; commas?: boolean },
  ): Option<readonly string[]> {
    const { default: standard = [], defaultText = standard.join(","), commas = false } = properties;
    const item = (value: string) => checked(value, properties);
    const split = (value: string) => value.split(",").map((part) => part.trim()).filter((part) => part !== "");
    const fromConfig = (value: unknown): readonly string[] => {
      if (Array.isArray(value)) return value.map((one: unknown) => item(scalarText(one)));
      return (commas ? split(scalarText(value)) : [scalarText(value)]).map(item);
    };
    return {
      ...this.#common<readonly string[]>(properties, { kind: "list", placeholder: "NAME" }),
      default: () => standard,
      defaultText,
      fromFlags: (values) => values.flatMap((value) => (commas ? split(value) : [value])).map(item),
      fromEnvironment: (value) => split(value).map(item),
      fromConfig,
      format: (value) => value.length === 0 ? undefined : value.join(","),
    };
  }

  /**
   * A sub-tree of the configuration file, read by `parse` as the parser delivers it. `parseText` reads the flag and the
   * environment variable; without it, there is neither.
   */
  structured<T>(
    properties: OptionProperties<T> & {
      default: T;
      parse?(value: unknown): T;
      parseText?: (text: string) => T;
      format(value: T): string | undefined;
    },
  ): Option<T> {
    const { parseText, format, default: standard } = properties;
    const fromText = (value: string) => {
      if (parseText === undefined) {
        throw new RangeError(`Cannot read "${value}": only the configuration file sets this`);
      }
      return checked(parseText(value), properties);
    };
    const common = this.#common(properties, { kind: "structured", placeholder: "JSON" });
    return {
      ...common,
      onCommandLine: common.onCommandLine && parseText !== undefined,
      inEnvironment: common.inEnvironment && parseText !== undefined,
      default: () => standard,
      defaultText: format(standard) ?? "",
      fromFlags: (values) => fromText(values.at(-1) ?? ""),
      fromEnvironment: fromText,
      fromConfig: (value) => properties.parse ? checked(properties.parse(value), properties) : fromText(String(value)),
      format,
    };
  }

  /** A time in RFC 3339, kept in microseconds since 1970. None by default. */
  time(properties: OptionProperties<number | undefined>): Option<number | undefined> {
    return this.structured<number | undefined>({
      placeholder: "TIME",
      default: undefined,
      parseText: readTimestamp,
      format: (timeUs) => timeUs === undefined ? undefined : new Date(timeUs / 1000).toISOString(),
      ...properties,
    });
  }

  #number(
    properties: OptionProperties<number> & { default: number; min?: number; max?: number },
    { what, pattern }: { what: "a whole number" | "a power of two" | "a number"; pattern: RegExp },
  ): Option<number> {
    const isWhole = what !== "a number";
    const { min = 0, max = isWhole ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE } = properties;
    const parse = (value: string) => {
      const number = pattern.test(value) ? Number(value) : NaN;
      const isAllowed = what !== "a power of two" || Number.isInteger(Math.log2(number));
      if (isAllowed && number >= min && number <= max) return number;
      throw new RangeError(`Cannot read the number "${value}": expected ${what} ${range(min, max)}`);
    };
    return this.#scalar(properties, { kind: isWhole ? "integer" : "number", placeholder: "N", parse, format: String });
  }

  #scalar<T>(properties: OptionProperties<T> & { default: T | ComputedDefault<T> }, form: Form<T>): Option<T> {
    const read = (value: string) => checked(form.parse(value), properties);
    const { default: standard } = properties;
    return {
      ...this.#common(properties, form),
      default: (environment) => isComputed(standard) ? standard.compute(environment) : standard,
      defaultText: isComputed(standard) ? standard.text : form.format(standard),
      fromFlags: (values) => read(values.at(-1) ?? ""),
      fromEnvironment: read,
      fromConfig: (value) => read(scalarText(value)),
      format: (value) => form.format(value) || undefined,
    };
  }

  #common<T>(
    properties: Omit<OptionProperties<T>, "validate">,
    { kind, placeholder }: { kind: Option<T>["kind"]; placeholder: string },
  ): Omit<Option<T>, Read> {
    const { name, key = this.#keyOf(name), help, beyond } = properties;
    return {
      ...{ kind, name, help, beyond, group: this.#group, reloadable: false },
      aliases: properties.aliases ?? [],
      keys: typeof key === "string" ? [key] : key,
      onCommandLine: properties.flag ?? true,
      inEnvironment: properties.environment ?? this.#environment,
      placeholder: properties.placeholder ?? placeholder,
      secret: properties.secret ?? false,
    };
  }

  #keyOf(name: string): string {
    const section = this.#section;
    return section !== undefined && name.startsWith(`${section}-`)
      ? `${section}.${name.slice(section.length + 1)}`
      : name;
  }
}

/** The options of a command under one heading: without environment variables, unless an option has one. */
export function flagGroup(group: string): OptionGroup {
  return new OptionGroup(group, { environment: false });
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

function isComputed<T>(value: T | ComputedDefault<T>): value is ComputedDefault<T> {
  return typeof value === "object" && value !== null && "compute" in value;
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

function same<T>(value: T): T {
  return value;
}

function formatSize(bytes: number): string {
  const units: [string, number][] = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
  const unit = units.find(([, unitBytes]) => bytes >= unitBytes && bytes % unitBytes === 0);
  return unit === undefined ? String(bytes) : `${bytes / unit[1]}${unit[0]}`;
}

function range(min: number, max: number): string {
  return max >= Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
}
