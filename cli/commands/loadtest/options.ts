import { outputOptions, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf } from "../../settings/options.ts";

const load = flagGroup("Load");
const fleet = flagGroup("Fleet");
const MAX_SOURCES = 252;
const MAX_RATE = 1_000_000;
const MAX_CONSUMERS = 900;
const MAX_BOATS = 10_000;
const MAX_COLLECT_MS = 60_000;
/** With the number of a boat an instance id has at most 64 characters. */
const PREFIX = /^[A-Za-z0-9][A-Za-z0-9._-]{0,57}$/;

/** Options of a boat server under load. */
const serverLoad = {
  sources: load.integer({
    name: "sources",
    default: 10,
    min: 1,
    max: MAX_SOURCES,
    help: "Number of sending devices.",
  }),
  consumers: load.integer({
    name: "consumers",
    default: 1,
    max: MAX_CONSUMERS,
    help: "Number of clients that read all frames as a live stream.",
  }),
  ringFrames: load.powerOfTwo({
    name: "ring-size",
    default: 65_536,
    min: 16,
    max: 2 ** 24,
    help: "Frames kept in memory. A power of two.",
  }),
  journalDir: optional(load.text({
    name: "journal-dir",
    placeholder: "DIR",
    help: "Record the frames to this directory, which must be empty or missing. Without it nothing is recorded.",
  })),
};

/** Options of a fleet against a cloud. */
const fleetLoad = {
  boats: fleet.integer({
    name: "boats",
    default: 10,
    min: 1,
    max: MAX_BOATS,
    help: "Number of boats, each with a connection of its own.",
  }),
  caDir: optional(fleet.text({
    name: "ca-dir",
    placeholder: "DIR",
    help:
      "Directory of the authority, as vbg-cloud ca makes it: each boat gets a certificate, valid for 90 days and not " +
      "recorded. Use an authority for tests.",
  })),
  certDir: optional(fleet.text({
    name: "cert-dir",
    placeholder: "DIR",
    help: "Existing certificates instead: a folder for each boat with cert.pem, key.pem and ca.pem.",
  })),
  first: fleet.text({
    name: "first",
    placeholder: "PREFIX",
    default: "loadtest",
    help: "Names of the boats: PREFIX-0001 and so on.",
    validate: (prefix) =>
      PREFIX.test(prefix) ? undefined : `Cannot name boats "${prefix}-0001": expected letters, digits, ".", "_" or "-"`,
  }),
  seed: fleet.integer({
    name: "seed",
    default: 1,
    help: "Seed of the frames. Each run begins new epochs, so that it can use the same boats again.",
  }),
  collectMs: fleet.duration({
    name: "collect",
    default: 20,
    minMs: 5,
    maxMs: MAX_COLLECT_MS,
    help: "Time for which a boat collects frames before it sends them. With 200ms, one process manages far more boats.",
  }),
  graceMs: fleet.duration({
    name: "grace",
    default: 120_000,
    minMs: 1000,
    help: "Longest wait for boats to connect, and at the end for the cloud to store all frames.",
  }),
  verify: optional(fleet.text({
    name: "verify",
    placeholder: "URL",
    help: "HTTP address of the cloud: compares what it reports of each boat with what was sent.",
    validate: (url) => URL.canParse(url) ? undefined : `Cannot read the address "${url}"`,
  })),
  token: { ...serverOptions.token, group: "Fleet", help: "Access token for -verify, if the cloud requires one." },
};

/** Options of `vbg loadtest`. */
export const loadtestOptions = {
  rate: optional(load.integer({
    name: "rate",
    default: 1000,
    min: 1,
    max: MAX_RATE,
    help: "Frames per second: of all devices together (default 1000), with -cloud of each boat (default 200).",
  })),
  durationMs: load.duration({
    name: "duration",
    default: 30_000,
    minMs: 1,
    help: "Time of sending; with -cloud it begins when all boats have connected. Ctrl-C ends it sooner.",
  }),
  ...serverLoad,
  cloud: optional(fleet.text({
    name: "cloud",
    placeholder: "HOST:PORT",
    help: "Address of a cloud, for boats: tests this cloud with a fleet. Without it a boat server in this process.",
  })),
  ...fleetLoad,
  ...outputOptions,
  ...programOptions,
};

/** Settings of `vbg loadtest`. */
export type LoadtestSettings = SettingsOf<typeof loadtestOptions>;

const names = <T extends object>(table: T) => Object.keys(table) as (keyof T & string)[];

/** Checks of the options: each belongs to one of the two tests. */
export const loadtestChecks: readonly Check<LoadtestSettings>[] = [
  ...names(serverLoad).map((name) =>
    refuse<LoadtestSettings>(
      ["cloud", name],
      ({ cloud }, isGiven) =>
        cloud !== undefined && isGiven(name) && `Cannot use -${loadtestOptions[name].name} with -cloud`,
    )
  ),
  ...names(fleetLoad).filter((name) => name !== "token").map((name) =>
    refuse<LoadtestSettings>(
      [name, "cloud"],
      ({ cloud }, isGiven) =>
        cloud === undefined && isGiven(name) && `Cannot use -${loadtestOptions[name].name} without -cloud`,
    )
  ),
  refuse(
    ["cloud", "caDir", "certDir"],
    ({ cloud, caDir, certDir }) =>
      cloud !== undefined && (caDir === undefined) === (certDir === undefined) &&
      "A fleet needs certificates: give one of -ca-dir and -cert-dir",
  ),
];
