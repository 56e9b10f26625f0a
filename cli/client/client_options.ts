import type { Filter } from "@vessel/gateway";
import { readName } from "@vessel/gateway/frame";
import type { ProgramSettings } from "../settings/common_options.ts";
import { boolean, duration, list, optional, text } from "../settings/option_types.ts";
import { doubtManufacturers } from "../settings/filter_names.ts";
import type { Check, Option, Options } from "../settings/options.ts";
import type { Output } from "../program/terminal.ts";

/** How the server is chosen; see `chooseServer`. */
export interface ServerChoice {
  /** URL of a server. */
  server: string | undefined;
  /** Name of a boat. */
  boat: string | undefined;
  token: string | undefined;
  /** Use the boat's cloud, not its own server. */
  cloud: boolean;
  /** Path of the client's configuration; undefined: the default path. */
  config: string | undefined;
  /** Time of a search for boats, milliseconds; undefined: as in the configuration, else 2 s. */
  mdnsTimeoutMs: number | undefined;
}

/** What is reported on standard error. */
export interface StatusChoice {
  /** Do not report connections, retries and progress. */
  quiet: boolean;
}

/** Format of the output. */
export interface OutputChoice {
  /** Whether JSON is printed; undefined: unless standard output is a terminal. */
  json: boolean | undefined;
}

/** Filter of frames, as given. */
export interface FilterChoice {
  pgn: readonly string[];
  excludePgn: readonly string[];
  manufacturer: readonly string[];
  instance: readonly string[];
  name: readonly string[];
  excludeName: readonly string[];
  bus: readonly string[];
}

/** Settings of every command that uses a server. */
export interface ClientSettings extends ProgramSettings, ServerChoice, StatusChoice, OutputChoice {}

const SERVER = "Server";
const FILTER = "Frames";
const OUTPUT = "Output";
const MAX_PGN = 0x3ffff;
const MAX_INSTANCE = 252;
const MAX_MDNS_TIMEOUT_MS = 60_000;
/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;

/** Rows of ServerChoice and StatusChoice. */
export function serverOptions(): Options<ServerChoice & StatusChoice> {
  const group = SERVER;
  return {
    server: withScheme(optional(text({
      name: "server",
      ...here,
      placeholder: "URL",
      default: "",
      help:
        "Address of the server: boat.local:8089, or https://cloud.example.com/instances/ID. Without https:// it is " +
        "http://.",
      group,
      validate: checkServer,
    }))),
    boat: optional(text({
      name: "boat",
      ...here,
      placeholder: "NAME",
      default: "",
      help:
        "Boat of the configuration, or name of a boat server on the network. The network is searched first, then the " +
        "cloud of the configuration is used. Without -server and -boat: VBG_BOAT, else default-boat of the " +
        "configuration, else its only boat, else the only server on the network, else a server of this machine on " +
        "port 8089 or 8080.",
      group,
    })),
    cloud: boolean({
      name: "cloud",
      ...here,
      default: false,
      help: "Use the boat's cloud; do not search the network for the boat.",
      group,
    }),
    token: optional(text({
      name: "token",
      key: [],
      placeholder: "TOKEN",
      default: "",
      help: "Access token, if the server requires one. Prefer VBG_TOKEN: other users can see command lines.",
      group,
      secret: true,
      validate: (value) => isToken(value) ? undefined : "Cannot use the token: expected ASCII without spaces",
    })),
    config: optional(text({
      name: "config",
      key: [],
      placeholder: "FILE",
      default: "",
      help: "Configuration file (HOCON). Without it: ~/.config/vbg/vbg.conf, if it exists.",
      group,
    })),
    mdnsTimeoutMs: optional(duration({
      name: "mdns-timeout",
      key: [],
      default: 2000,
      minMs: 1,
      maxMs: MAX_MDNS_TIMEOUT_MS,
      help: "Time of a search for boats on the network. Without it: mdns-timeout of the configuration, else 2s.",
      group,
    })),
    quiet: boolean({
      name: "quiet",
      ...here,
      default: false,
      help:
        "Do not report connections, retries and progress on standard error. Failures and missing frames are reported.",
      group: OUTPUT,
    }),
  };
}

/** Whether text can be sent as a bearer token. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

/** Rules of ServerChoice. */
export const serverChecks: readonly Check<ServerChoice>[] = [
  {
    settings: ["boat", "server"],
    severity: "error",
    test: ({ boat, server }) =>
      boat !== undefined && server !== undefined ? "Cannot use both -boat and -server" : undefined,
  },
  {
    settings: ["cloud", "server"],
    severity: "error",
    test: ({ cloud, server }) =>
      cloud && server !== undefined ? "Cannot use -cloud with -server, which names the server" : undefined,
  },
];

/** Row of OutputChoice. */
export function outputOptions(): Options<OutputChoice> {
  return {
    json: optional(boolean({
      name: "json",
      ...here,
      default: false,
      help: "Print JSON. Default: unless standard output is a terminal. -json=false prints text.",
      group: OUTPUT,
    })),
  };
}

/** Whether JSON is printed. */
export function wantsJson({ json }: OutputChoice, { isTerminal }: Pick<Output, "isTerminal">): boolean {
  return json ?? !isTerminal;
}

/** Rows of FilterChoice. */
export function filterOptions(): Options<FilterChoice> {
  const words = { ...here, default: [], commas: true, group: FILTER };
  const pgn = { ...words, placeholder: "PGN" as const, validate: checkNumber("PGN", MAX_PGN) };
  return {
    pgn: list({
      name: "pgn",
      ...pgn,
      help: "Only these PGNs. Several: with commas, or by repeating the flag, as for all these lists.",
    }),
    excludePgn: list({ name: "exclude-pgn", ...pgn, help: "Exclude these PGNs." }),
    manufacturer: list({
      name: "manufacturer",
      ...words,
      help: "Only devices of these manufacturers: names or codes.",
    }),
    instance: list({
      name: "instance",
      ...words,
      placeholder: "N",
      help: "Only devices with these device instances.",
      validate: checkNumber("device instance", MAX_INSTANCE),
    }),
    name: list({ name: "name", ...words, help: "Only devices with these NAMEs: hex digits.", validate: checkName }),
    excludeName: list({
      name: "exclude-name",
      ...words,
      help: "Exclude devices with these NAMEs.",
      validate: checkName,
    }),
    bus: list({ name: "bus", ...words, help: "Only these buses." }),
  };
}

/** The filter as given, with the exclusions of the configuration. */
export function filterOf(choice: FilterChoice, exclusions: Filter = {}): Filter {
  const filter: Required<Filter> = {
    pgn: choice.pgn.map(Number),
    exclude_pgn: [...choice.excludePgn.map(Number), ...exclusions.exclude_pgn ?? []],
    manufacturer: [...choice.manufacturer],
    instance: choice.instance.map(Number),
    name: [...choice.name],
    exclude_name: [...choice.excludeName, ...exclusions.exclude_name ?? []],
    bus: [...choice.bus],
  };
  return Object.fromEntries(Object.entries(filter).filter(([, values]) => values.length > 0));
}

/** Rules of FilterChoice. */
export const filterChecks: readonly Check<FilterChoice>[] = [
  { settings: ["manufacturer"], severity: "warning", test: ({ manufacturer }) => doubtManufacturers(manufacturer) },
];

/** The same option, which accepts addresses without `http://`. */
function withScheme(option: Option<string | undefined>): Option<string | undefined> {
  const complete = (value: string) => value.trim() === "" || value.includes("://") ? value : `http://${value.trim()}`;
  return { ...option, fromFlags: (values) => option.fromFlags(values.map(complete)) };
}

function checkNumber(what: string, max: number): (text: string) => string | undefined {
  return (text) =>
    /^\d+$/.test(text) && Number(text) <= max
      ? undefined
      : `Cannot read the ${what} "${text}": expected a number from 0 to ${max}`;
}

function checkName(text: string): string | undefined {
  return readName(text) === undefined ? `Cannot read the NAME "${text}": expected 1 to 16 hex digits` : undefined;
}

function checkServer(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "") return undefined;
  return `Cannot read the address "${value}": expected one such as boat.local:8089 or https://boat.local`;
}
