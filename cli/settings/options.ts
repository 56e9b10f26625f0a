import type { LimitInForce } from "@vessel/gateway/boat";
import { hint } from "@vessel/gateway/units";

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** One row of a program's table: a setting and every way to give it. Created by the functions of option_types.ts. */
export interface Option<T> {
  readonly kind:
    | "address"
    | "boolean"
    | "duration"
    | "enum"
    | "integer"
    | "list"
    | "number"
    | "size"
    | "string"
    | "structured";
  /** Name of the flag, without dashes. */
  readonly name: string;
  /** Further names of the flag. When several are given, the last name of this list wins. */
  readonly aliases: readonly string[];
  /** Keys of the configuration file, the documented one first; the last one found wins. */
  readonly keys: readonly string[];
  readonly onCommandLine: boolean;
  readonly inEnvironment: boolean;
  readonly placeholder: string;
  readonly help: string;
  readonly group: string;
  readonly secret: boolean;
  readonly reloadable: boolean;
  /** What happens beyond a limit; undefined for options that are not limits. */
  readonly beyond: string | undefined;
  /** The default as `--help` shows it; empty without one. */
  readonly defaultText: string;
  default(environment: Environment): T;
  /** Value of a flag given once or several times. Like all readers: throws RangeError. */
  fromFlags(values: readonly string[]): T;
  fromEnvironment(value: string): T;
  /** Reads a value as the parser of the file returns it. */
  fromConfig(value: unknown): T;
  /** Text that the readers accept for the same value; undefined if the setting is not set. */
  format(value: T): string | undefined;
}

/** A program's table: one row for each of its settings, in the order of `--help`. */
export type Options<S> = { readonly [K in keyof S]-?: Option<S[K]> };

/** The settings that a table describes. */
export type SettingsOf<Table> = {
  -readonly [K in keyof Table]: Table[K] extends Option<unknown> ? ReturnType<Table[K]["default"]> : never;
};

/** An option whose new value a reload (SIGHUP) applies. */
export type ReloadableOption<T> = Option<T> & { readonly reloadable: true };

/** The settings of a table that a reload applies. */
export type ReloadableOf<Table> = SettingsOf<
  { [K in keyof Table as Table[K] extends ReloadableOption<unknown> ? K : never]: Table[K] }
>;

/** The source of a value: `flag -port`, `environment VBG_PORT`, `config key "port"`, or the default. */
export type Source = { from: "flag" | "environment" | "config"; name: string } | { from: "default" };

/** Result of reading one setting. */
export type Outcome<T> =
  | { ok: true; value: T; source: Source }
  | { ok: false; message: string; source: Source };

/** A check of one or more settings. */
export interface Check<S> {
  /** The settings that it reads; the first gets the problem. The check is skipped if one of them could not be read. */
  settings: readonly [keyof S & string, ...(keyof S & string)[]];
  severity: "error" | "warning";
  /** Returns the problem, or undefined. `isGiven` distinguishes a given setting from a default. */
  test(settings: S, isGiven: (name: keyof S & string) => boolean): string | undefined;
}

/** Result of a test: the problem, or nothing. */
type Test<S> = (settings: S, isGiven: (name: keyof S & string) => boolean) => string | false | undefined;

/** A check whose problem is an error. */
export function refuse<S>(settings: Check<S>["settings"], test: Test<S>): Check<S> {
  return { settings, severity: "error", test: (...given) => test(...given) || undefined };
}

/** A check whose problem is a warning. */
export function warn<S>(settings: Check<S>["settings"], test: Test<S>): Check<S> {
  return { settings, severity: "warning", test: (...given) => test(...given) || undefined };
}

/** An asynchronous check, such as one that reads files as the program will. */
export interface AsyncCheck<S> extends Pick<Check<S>, "settings"> {
  /** Returns an error, or undefined. */
  test(settings: S): Promise<string | undefined>;
}

/** Something wrong with the settings. */
export interface Problem {
  severity: "error" | "warning";
  /** Name of the option, or the key that no option has. */
  name: string;
  /** Where it was given; left out if the configuration file itself is wrong. */
  source?: Source;
  message: string;
}

/** Flags of a command line, not yet read as values. */
export interface CommandLine {
  /** By name of the flag as given: every value, in order. */
  flags: ReadonlyMap<string, readonly string[]>;
  /** Words that are not flags. */
  positionals: readonly string[];
  /** Why the rest of the command line could not be parsed. */
  error?: string;
}

/** Sources of settings, in order of precedence. */
export interface Inputs {
  flags?: ReadonlyMap<string, readonly string[]>;
  environment?: Environment;
  /** Values of the configuration file by key, as `flattenConfig` returns them. */
  config?: ReadonlyMap<string, unknown>;
}

/** Settings read as far as they could be. */
export interface Resolution<S> {
  outcomes: { [K in keyof S]: Outcome<S[K]> };
  problems: readonly Problem[];
  /** The values that could be read. */
  values: Partial<S>;
  /** Undefined if a problem is an error. */
  settings: S | undefined;
}

/** `T` whose optional properties may also be undefined. */
type Unset<T> = { [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K] };

/**
 * Options of the library from settings, without those that are undefined. Give `T` and an object literal without spreads:
 * then a name that `T` does not have is a type error.
 */
export function definedOnly<T extends object>(options: Unset<T>): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** The named properties of an object. */
export function pick<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, K>;
}

/** Text printed in place of a secret. */
export const SECRET_TEXT = "****";

/** Keys of a table's settings, in the table's order. */
export function settingNames<S>(table: Options<S>): (keyof S & string)[] {
  return Object.keys(table) as (keyof S & string)[];
}

/** Environment variable of a flag: `ring-size` → `VBG_RING_SIZE`. */
export function environmentName(flag: string): string {
  return `VBG_${flag.replaceAll("-", "_").toUpperCase()}`;
}

/** Splits a command line into flags of the table and other words. Stops at the first error. */
export function parseCommandLine<S>(args: readonly string[], table: Options<S>): CommandLine {
  const known = flagsByName(table);
  const flags = new Map<string, string[]>();
  const positionals: string[] = [];
  const words = args[Symbol.iterator]();
  for (const word of words) {
    if (word === "--") return { flags, positionals: [...positionals, ...words] };
    const [, name, inlineValue] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === undefined) {
      positionals.push(word);
      continue;
    }
    const option = known.get(name);
    if (option === undefined) return { flags, positionals, error: unknownFlag(name, known.keys()) };
    let value = inlineValue ?? (option.kind === "boolean" ? "true" : undefined);
    if (value === undefined) {
      const next = words.next();
      if (next.done) {
        return { flags, positionals, error: `Missing value of flag -${name}: expected ${option.placeholder}` };
      }
      value = next.value;
    }
    flags.set(name, [...flags.get(name) ?? [], value]);
  }
  return { flags, positionals };
}

/** Reads every setting from the source of highest precedence: flag, environment, file, default. */
export function resolveSettings<S>(
  table: Options<S>,
  { checks = [], ...inputs }: Inputs & { checks?: readonly Check<S>[] },
): Resolution<S> {
  const outcomes: Partial<{ [K in keyof S]: Outcome<S[K]> }> = {};
  const values: Partial<S> = {};
  const problems: Problem[] = [];
  const read = <K extends keyof S & string>(name: K) => {
    const outcome = readOption(table[name], inputs);
    outcomes[name] = outcome;
    if (outcome.ok) values[name] = outcome.value;
    else problems.push({ severity: "error", name: table[name].name, source: outcome.source, message: outcome.message });
  };
  const names = settingNames(table);
  names.forEach(read);
  const complete = outcomes as Resolution<S>["outcomes"];
  for (const check of checks) {
    if (!check.settings.every((name) => complete[name].ok)) continue;
    const message = check.test(values as S, (name) => complete[name].source.from !== "default");
    const [blamed] = check.settings;
    const { source } = complete[blamed];
    if (message !== undefined) problems.push({ severity: check.severity, name: table[blamed].name, source, message });
  }
  const failed = problems.some(({ severity }) => severity === "error");
  return { outcomes: complete, problems, values, settings: failed ? undefined : values as S };
}

/** Runs asynchronous checks; skips those whose first setting has an error already. */
export async function resolveAsync<S>(
  table: Options<S>,
  { resolution, checks }: { resolution: Resolution<S>; checks: readonly AsyncCheck<S>[] },
): Promise<Resolution<S>> {
  const { outcomes, values } = resolution;
  const problems = [...resolution.problems];
  for (const { settings, test } of checks) {
    const [blamed] = settings;
    const { name } = table[blamed];
    const isWrong = problems.some((problem) => problem.severity === "error" && problem.name === name);
    if (isWrong || !settings.every((each) => outcomes[each].ok)) continue;
    const message = await test(values as S);
    if (message !== undefined) problems.push({ severity: "error", name, source: outcomes[blamed].source, message });
  }
  const failed = problems.some(({ severity }) => severity === "error");
  return { ...resolution, problems, settings: failed ? undefined : resolution.settings };
}

/** `flag -port`, `environment VBG_PORT`, `config key "port"` or `default`. */
export function describeSource(source: Source): string {
  switch (source.from) {
    case "flag":
      return `flag -${source.name}`;
    case "environment":
      return `environment ${source.name}`;
    case "config":
      return `config key "${source.name}"`;
    case "default":
      return "default";
  }
}

/** A problem as one line: the source and the message. */
export function describeProblem({ name, source, message }: Problem): string {
  if (source === undefined) return message;
  return `${source.from === "default" ? `flag -${name}` : describeSource(source)}: ${message}`;
}

/** A setting's value as text, a secret hidden; undefined if it is not set. */
export function formatValue<T>(option: Option<T>, value: T): string | undefined {
  const formatted = option.format(value);
  return option.secret && formatted !== undefined ? SECRET_TEXT : formatted;
}

function flagsByName<S>(table: Options<S>): Map<string, Option<unknown>> {
  const options = settingNames(table).map((name): Option<unknown> => table[name]);
  return new Map(
    options.filter(({ onCommandLine }) => onCommandLine)
      .flatMap((option) => [option.name, ...option.aliases].map((name) => [name, option])),
  );
}

function unknownFlag(name: string, known: Iterable<string>): string {
  return `Unknown flag -${name}${hint(name, { known, prefix: "-" })}`;
}

/** Reads one setting from the source of highest precedence. */
export function readOption<T>(option: Option<T>, { flags, environment = {}, config }: Inputs): Outcome<T> {
  const names = [option.name, ...option.aliases];
  const flag = option.onCommandLine ? names.findLast((name) => flags?.has(name)) : undefined;
  if (flag !== undefined) {
    return attempt(option, { from: "flag", name: flag }, () => option.fromFlags(flags?.get(flag) ?? []));
  }
  // An empty variable is how compose files and unit files say "not set".
  const variable = option.inEnvironment ? names.map(environmentName).findLast((name) => environment[name]) : undefined;
  if (variable !== undefined) {
    const value = environment[variable] ?? "";
    return attempt(option, { from: "environment", name: variable }, () => option.fromEnvironment(value));
  }
  const key = option.keys.findLast((name) => config?.has(name));
  if (key !== undefined) {
    return attempt(option, { from: "config", name: key }, () => option.fromConfig(config?.get(key)));
  }
  return { ok: true, value: option.default(environment), source: { from: "default" } };
}

function attempt<T>(option: Option<T>, source: Source, read: () => T): Outcome<T> {
  try {
    return { ok: true, value: read(), source };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The message of a reader quotes the value.
    return { ok: false, message: option.secret ? "Cannot read the value, which is secret" : error.message, source };
  }
}

/** The settings of a table that are limits, as they are set. */
export function limitsInForce<S extends object>(options: Options<S>, settings: S): LimitInForce[] {
  return settingNames(options).flatMap((key) => {
    const { name, beyond, format } = options[key];
    return beyond === undefined ? [] : [{ name, value: format(settings[key]) ?? "", beyond }];
  });
}
