import type { Filter } from "@vessel/gateway";
import { readName } from "@vessel/gateway/frame";
import { UNIT_SYSTEMS, type UnitSystem } from "@vessel/gateway/units";
import type { Output } from "../program/terminal.ts";
import type { ProgramSettings } from "../settings/common_options.ts";
import { doubtManufacturers } from "../settings/filter_names.ts";
import { flagGroup, optional } from "../settings/option_types.ts";
import { type Check, type Option, refuse, type SettingsOf, warn } from "../settings/options.ts";

const server = flagGroup("Server");
const frames = flagGroup("Frames");
const output = flagGroup("Output");
const MAX_PGN = 0x3ffff;
const MAX_INSTANCE = 252;
const MAX_MDNS_TIMEOUT_MS = 60_000;

/** Options of the choice of a server (see `chooseServer`), and of what is reported about it. */
export const serverOptions = {
  server: withScheme(optional(server.text({
    name: "server",
    placeholder: "URL",
    help:
      "Address of the server: boat.local:8089, or https://cloud.example.com/instances/ID. Without https:// it is http://.",
    validate: checkServer,
  }))),
  boat: optional(server.text({
    name: "boat",
    help:
      "Boat of the configuration, or name of a boat server on the network. The network is searched first, then the " +
      "cloud of the configuration is used. Without -server and -boat: VBG_BOAT, else default-boat of the " +
      "configuration, else its only boat, else the only server on the network, else a server of this machine on " +
      "port 8089 or 8080.",
  })),
  cloud: server.boolean({ name: "cloud", help: "Use the boat's cloud; do not search the network for the boat." }),
  token: optional(server.text({
    name: "token",
    environment: true,
    placeholder: "TOKEN",
    help: "Access token, if the server requires one. Prefer VBG_TOKEN: other users can see command lines.",
    secret: true,
    validate: (value) => isToken(value) ? undefined : "Cannot use the token: expected ASCII without spaces",
  })),
  config: optional(server.text({
    name: "config",
    environment: true,
    placeholder: "FILE",
    help: "Configuration file (HOCON). Without it: ~/.config/vbg/vbg.conf, if it exists.",
  })),
  mdnsTimeoutMs: optional(server.duration({
    name: "mdns-timeout",
    environment: true,
    default: 2000,
    minMs: 1,
    maxMs: MAX_MDNS_TIMEOUT_MS,
    help: "Time of a search for boats on the network. Without it: mdns-timeout of the configuration, else 2s.",
  })),
  quiet: output.boolean({
    name: "quiet",
    help:
      "Do not report connections, retries and progress on standard error. Failures and missing frames are reported.",
  }),
};

/** How the server is chosen. */
export type ServerChoice = Omit<SettingsOf<typeof serverOptions>, "quiet">;

/** Whether text can be sent as a bearer token. */
export function isToken(text: string): boolean {
  return /^[\x21-\x7e]*$/.test(text);
}

/** Checks of the choice of a server. */
export const serverChecks: readonly Check<ServerChoice>[] = [
  refuse(
    ["boat", "server"],
    ({ boat, server }) => boat !== undefined && server !== undefined && "Cannot use both -boat and -server",
  ),
  refuse(
    ["cloud", "server"],
    ({ cloud, server }) => cloud && server !== undefined && "Cannot use -cloud with -server, which names the server",
  ),
];

/** Option of the output format. */
export const outputOptions = {
  json: optional(output.boolean({
    name: "json",
    help: "Print JSON. Default: unless standard output is a terminal. -json=false prints text.",
  })),
};

/** Settings of the output format: whether JSON is printed; undefined: unless standard output is a terminal. */
export type OutputChoice = SettingsOf<typeof outputOptions>;

/** Settings of every command that uses a server. */
export type ClientSettings = ProgramSettings & SettingsOf<typeof serverOptions> & OutputChoice;

/** Whether JSON is printed. */
export function wantsJson({ json }: OutputChoice, { isTerminal }: Pick<Output, "isTerminal">): boolean {
  return json ?? !isTerminal;
}

/** Option of the units of values in text output. */
export const unitsOptions = {
  units: optional(output.oneOf<UnitSystem>({
    name: "units",
    environment: true,
    default: "nautical",
    choices: UNIT_SYSTEMS,
    help:
      "Units of the values: nautical (kn, nm, degrees and minutes), metric (km/h, km, decimal degrees), or si (as in " +
      "JSON). Without it: nautical on a terminal, else si. JSON is always in SI.",
  })),
};

/** Option of labels in JSON. */
export const labelsOptions = {
  labels: output.boolean({
    name: "labels",
    help: "In JSON: add an object labels with the labels of numbers that are codes. Text output always has them.",
  }),
};

/** The units of an output. */
export function unitsOf(
  { units }: SettingsOf<typeof unitsOptions>,
  { isTerminal }: Pick<Output, "isTerminal">,
): UnitSystem {
  return units ?? (isTerminal ? "nautical" : "si");
}

const pgns = { commas: true, placeholder: "PGN", validate: checkNumber("PGN", MAX_PGN) } as const;

/** Options of the filter of frames. */
export const filterOptions = {
  pgn: frames.list({
    name: "pgn",
    ...pgns,
    help: "Only these PGNs. Several: with commas, or by repeating the flag, as for all these lists.",
  }),
  excludePgn: frames.list({ name: "exclude-pgn", ...pgns, help: "Exclude these PGNs." }),
  manufacturer: frames.list({
    name: "manufacturer",
    commas: true,
    help: "Only devices of these manufacturers: names or codes.",
  }),
  instance: frames.list({
    name: "instance",
    commas: true,
    placeholder: "N",
    help: "Only devices with these device instances.",
    validate: checkNumber("device instance", MAX_INSTANCE),
  }),
  name: frames.list({
    name: "name",
    commas: true,
    help: "Only devices with these NAMEs: hex digits.",
    validate: checkName,
  }),
  excludeName: frames.list({
    name: "exclude-name",
    commas: true,
    help: "Exclude devices with these NAMEs.",
    validate: checkName,
  }),
  bus: frames.list({ name: "bus", commas: true, help: "Only these buses." }),
};

/** The filter as given. */
export type FilterChoice = SettingsOf<typeof filterOptions>;

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

/** Checks of the filter. */
export const filterChecks: readonly Check<FilterChoice>[] = [
  warn(["manufacturer"], ({ manufacturer }) => doubtManufacturers(manufacturer)),
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
