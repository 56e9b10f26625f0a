import { errorText, parseDuration } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import { readName } from "@vessel/gateway/frame";
import { SettingsError } from "../program/program.ts";
import { HoconError, readHocon } from "../settings/hocon.ts";
import type { Environment } from "../settings/options.ts";
import { isToken } from "./client_options.ts";

/** Frames that no command shows. */
export interface Exclusions {
  pgns: readonly number[];
  /** NAMEs in hexadecimal, as written. */
  names: readonly string[];
}

/** A boat of the configuration, with at least one of `mdns` and `cloud`. */
export interface ConfiguredBoat {
  /** Instance name on the network. */
  mdns: string | undefined;
  /** URL in a cloud, `https://cloud.example.com/instances/aurora`, or that of the cloud: then `/instances/NAME` is added. */
  cloud: string | undefined;
  /** For the boat's server and for its cloud. */
  token: string | undefined;
  exclude: Exclusions;
}

/** Contents of `vbg.conf`. */
export interface ClientConfig {
  /** Path of the file; undefined if there is none. */
  path: string | undefined;
  defaultBoat: string | undefined;
  /** Time of a search for boats on the network, milliseconds. */
  mdnsTimeoutMs: number | undefined;
  /** For all boats. */
  exclude: Exclusions;
  boats: ReadonlyMap<string, ConfiguredBoat>;
}

/** The configuration file cannot be used: exit code 2. */
export class ClientConfigError extends SettingsError {}

type Section = Record<string, unknown>;

const KEYS = ["boats", "default-boat", "exclude-name", "exclude-pgn", "mdns-timeout"];
const BOAT_KEYS = ["cloud", "exclude-name", "exclude-pgn", "mdns", "token"];
const MAX_PGN = 0x3ffff;

/** The configuration without a file. */
export const EMPTY_CONFIG: ClientConfig = {
  path: undefined,
  defaultBoat: undefined,
  mdnsTimeoutMs: undefined,
  exclude: { pgns: [], names: [] },
  boats: new Map(),
};

/** Path of the configuration without `-config`; undefined if the environment names no home directory. */
export function defaultConfigPath({ XDG_CONFIG_HOME, HOME, APPDATA }: Environment): string | undefined {
  const folder = XDG_CONFIG_HOME || (HOME ? `${HOME}/.config` : APPDATA);
  return folder ? `${folder}/vbg/vbg.conf` : undefined;
}

/**
 * Reads the client's configuration. The file may be missing unless `path` names it.
 *
 * @throws {ClientConfigError} it cannot be read, or a value cannot be used
 */
export async function loadClientConfig(
  { path, environment }: { path: string | undefined; environment: Environment },
): Promise<ClientConfig> {
  const file = path ?? defaultConfigPath(environment);
  if (file === undefined) return EMPTY_CONFIG;
  try {
    await Deno.stat(file);
    return readClientConfig(await readHocon(file), file);
  } catch (error) {
    if (path === undefined && error instanceof Deno.errors.NotFound) return EMPTY_CONFIG;
    if (error instanceof Deno.errors.NotFound) throw new ClientConfigError(`config file not found: ${file}`);
    const namesFile = error instanceof ClientConfigError || error instanceof HoconError;
    const why = errorText(error);
    throw new ClientConfigError(namesFile ? why : `Cannot read config file "${file}": ${why}`, { cause: error });
  }
}

/** Reads the parsed file. @throws {ClientConfigError} */
export function readClientConfig(tree: unknown, path: string): ClientConfig {
  const fail = (what: string): never => {
    throw new ClientConfigError(`Cannot use config file "${path}": ${what}`);
  };
  const root = sectionOf(tree) ?? fail("expected keys and values");
  checkKeys(root, { known: KEYS, prefix: "", fail });
  const given = root.boats === undefined ? {} : sectionOf(root.boats) ?? fail("boats must be a section of boats");
  const boats = Object.entries(given).map(([name, value]): [string, ConfiguredBoat] => {
    const boat = sectionOf(value) ?? fail(`boats.${name} must be a section`);
    const prefix = `boats.${name}.`;
    checkKeys(boat, { known: BOAT_KEYS, prefix, fail });
    const text = (key: string) => textOf(boat[key], { key: prefix + key, fail });
    const [mdns, cloud, token] = [text("mdns"), text("cloud"), text("token")];
    if (mdns === undefined && cloud === undefined) fail(`boats.${name} has neither mdns nor cloud`);
    if (cloud !== undefined && !isHttpUrl(cloud)) {
      fail(`${prefix}cloud is "${cloud}": expected an address such as https://cloud.example.com`);
    }
    if (token !== undefined && !isToken(token)) fail(`${prefix}token cannot be used: expected ASCII without spaces`);
    return [name, { mdns, cloud, token, exclude: exclusionsOf(boat, { prefix, fail }) }];
  });
  const timeout = textOf(root["mdns-timeout"], { key: "mdns-timeout", fail });
  return {
    path,
    defaultBoat: textOf(root["default-boat"], { key: "default-boat", fail }),
    mdnsTimeoutMs: timeout === undefined ? undefined : durationOf(timeout, fail),
    exclude: exclusionsOf(root, { prefix: "", fail }),
    boats: new Map(boats),
  };
}

type Fail = (what: string) => never;

function checkKeys(section: Section, { known, prefix, fail }: { known: string[]; prefix: string; fail: Fail }): void {
  const unknown = Object.keys(section).find((key) => !known.includes(key));
  if (unknown !== undefined) fail(`unknown key "${prefix}${unknown}": did you mean "${nearest(unknown, known)}"?`);
}

function exclusionsOf(section: Section, { prefix, fail }: { prefix: string; fail: Fail }): Exclusions {
  const texts = (key: string) => {
    const value = section[key] ?? [];
    const list: readonly unknown[] = Array.isArray(value) ? value : [value];
    return list.map((each) => textOf(each, { key: prefix + key, fail }) ?? "");
  };
  const pgns = texts("exclude-pgn").map((text) => {
    const pgn = /^\d+$/.test(text) ? Number(text) : NaN;
    return pgn <= MAX_PGN ? pgn : fail(`${prefix}exclude-pgn has "${text}": expected a PGN from 0 to ${MAX_PGN}`);
  });
  const names = texts("exclude-name");
  const wrong = names.find((name) => readName(name) === undefined);
  if (wrong !== undefined) fail(`${prefix}exclude-name has "${wrong}": expected a NAME of 1 to 16 hex digits`);
  return { pgns, names };
}

function textOf(value: unknown, { key, fail }: { key: string; fail: Fail }): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string" || typeof value === "number") return String(value);
  return fail(`${key} must be a text`);
}

function durationOf(text: string, fail: Fail): number {
  try {
    return parseDuration(text);
  } catch (error) {
    return fail(`mdns-timeout: ${errorText(error)}`);
  }
}

function sectionOf(value: unknown): Section | undefined {
  return isSection(value) ? value : undefined;
}

function isSection(value: unknown): value is Section {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
