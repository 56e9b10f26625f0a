import { BOAT_DEFAULTS } from "@vessel/gateway/boat";
import { CLOUD_DEFAULTS } from "@vessel/gateway/cloud-server";
import { authOptions, tokenChecks } from "./auth_options.ts";
import { cloudListenChecks, cloudListenOptions, cloudTrustChecks } from "./cloud_listen_options.ts";
import { fileOptions, programOptions, runOptions } from "./common_options.ts";
import { connectionOptions } from "./connection_options.ts";
import { journalFileChecks, journalOptions } from "./journal_options.ts";
import { nodeChecks, nodeOptions } from "./node_options.ts";
import { OptionGroup, reloadable } from "./option_types.ts";
import type { AsyncCheck, Check, SettingsOf } from "./options.ts";
import { sessionOptions } from "./session_options.ts";
import { keptFolder } from "./state_dir.ts";
import { storeChecks, storeOptions } from "./store_options.ts";

const journal = new OptionGroup("Journal");

/** Name of the configuration file that is read without `-config`. */
export const CLOUD_CONFIG_NAME = "vbg-cloud.conf";

const boats = new OptionGroup("Boats");
const memory = new OptionGroup("Memory");
const network = new OptionGroup("Network");
const operation = new OptionGroup("Operation");

/** The data directory of the boats. */
export const dataDirOption = boats.text({
  name: "data-dir",
  placeholder: "DIR",
  default: {
    compute: (environment) => keptFolder(environment, "vbg-cloud"),
    text: "$STATE_DIRECTORY, else ~/.local/state/vbg-cloud",
  },
  help:
    "Directory of the boats' data, with a directory for each boat. Created if missing; used by one process at a time.",
  validate: (dir) => dir === "" ? "Cannot use an empty path as the data directory" : undefined,
});

const boatOptions = {
  dataDir: dataDirOption,
  maxInstances: reloadable(boats.integer({
    name: "max-instances",
    beyond: "The handshake of a further boat is refused with RESOURCE_EXHAUSTED.",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    help: "Most boats.",
  })),
  rateLimit: reloadable(boats.integer({
    name: "replication-rate-limit",
    beyond: "The live stream ends with RESOURCE_EXHAUSTED; the frames come by backfill.",
    key: "replication.rate-limit",
    default: 2000,
    max: 1_000_000,
    help: "Live frames a second that one boat may send on average; more ends its live stream. 0: no limit.",
  })),
  rateBurst: reloadable(boats.integer({
    name: "replication-rate-burst",
    beyond: "As replication-rate-limit.",
    key: "replication.rate-burst",
    default: 500,
    min: 1,
    max: 1_000_000,
    help: "Live frames that one boat may send at once.",
  })),
  collectMs: reloadable(boats.duration({
    name: "replication-collect-time",
    beyond: "The boat sends what it has collected.",
    key: "replication.collect-time",
    default: CLOUD_DEFAULTS.collectMs,
    maxMs: 5000,
    help:
      "Time for which a boat that nobody reads here collects frames before it sends them, which saves data and work: a " +
      "message costs as much as 30 frames. Boats without a journal, and those that are read, send every 20 ms. 0: all do.",
  })),
  maxLiveLagFrames: reloadable(boats.integer({
    name: "replication-max-live-lag",
    beyond: "The live stream ends; the frames come by backfill.",
    key: "replication.max-live-lag",
    default: 10_000,
    help:
      "Most frames that a boat's live stream may be behind; beyond it the stream ends, and backfill sends the rest. 0: no limit.",
  })),
  copyRefuseMs: reloadable(boats.duration({
    name: "copy-refuse-time",
    beyond: "The machine must begin a new epoch, and its frames are stored under that.",
    key: "replication.copy-refuse-time",
    default: CLOUD_DEFAULTS.copyRefuseMs,
    help:
      "A machine with the identity of a boat but other frames, such as a copied disk, is refused while the boat streams " +
      "and for this time after its last message.",
  })),
  scrubBytesPerSecond: reloadable(boats.size({
    name: "scrub-rate",
    beyond: "Checking takes longer.",
    default: CLOUD_DEFAULTS.scrubBytesPerSecond,
    minBytes: 0,
    maxBytes: 2 ** 40,
    help:
      "Bytes a second of the boats' files that are read and checked, each file at most once an hour. Damaged blocks are requested again. 0: off.",
  })),
};

const memoryOptions = {
  brokerIdleTimeoutMs: reloadable(memory.duration({
    name: "broker-idle-timeout",
    beyond: "The boat leaves memory; the next request or connection loads it from its files.",
    key: "broker.idle-timeout",
    default: 5 * 60_000,
    minMs: 1000,
    help: "A boat that neither sends nor is read for this time leaves memory.",
  })),
  maxIdleBrokers: reloadable(memory.integer({
    name: "max-idle-brokers",
    beyond: "The boats that were used longest ago leave memory first.",
    key: "broker.max-idle",
    default: CLOUD_DEFAULTS.maxIdleBrokers,
    max: 1_000_000,
    help:
      "Most boats in memory that neither send nor are read; beyond it those unused for the longest time leave memory early.",
  })),
  ringFrames: memory.powerOfTwo({
    name: "ring-size",
    beyond: "The oldest frames leave memory; a client that needs them reads the journal.",
    default: BOAT_DEFAULTS.ringFrames,
    min: 16,
    max: 2 ** 22,
    help: "Most frames of one boat kept in memory for clients that catch up. A power of two.",
  }),
  maxValues: memory.integer({
    name: "max-values",
    beyond: "Values of further devices and PGNs are not kept; they are counted in vbg_values_refused_total.",
    default: CLOUD_DEFAULTS.maxValues,
    min: 1,
    max: 2 ** 24,
    help: "Most last values kept of one boat, one for each device and PGN.",
  }),
  deviceIdleTimeoutMs: reloadable(memory.duration({
    name: "device-idle-timeout",
    beyond: "The device and its values leave the tables until it is received again.",
    key: "device.idle-timeout",
    default: BOAT_DEFAULTS.deviceIdleTimeoutMs,
    help: "A device silent for longer while its boat keeps sending is removed. 0: never.",
  })),
};

const streamOptions = {
  maxStreams: reloadable(network.integer({
    name: "max-streams",
    beyond: "503 with Retry-After.",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    help: "Most streams (events, ws and those of sessions together) open at once, of all boats.",
  })),
  streamBufferBytes: network.size({
    name: "stream-buffer-bytes",
    beyond: "The client is skipped, counted, and gets a dropped event with the range.",
    default: BOAT_DEFAULTS.streamBufferBytes,
    minBytes: 16 * 1024,
    maxBytes: 2 ** 30,
    help: "Most bytes that wait for one slow client.",
  }),
};

const { authFile, apiKey, allowOrigins } = authOptions;
const { slots: _slots, ...sessionsOfEach } = sessionOptions;
const {
  journalDir: _dir,
  journalPrefix: _prefix,
  journalPackAfterMs: _pack,
  journalEvidence: _evidence,
  journalEvidenceKey: _evidenceKey,
  keepUnacknowledged: _keep,
  ...journalOfEach
} = journalOptions;

/** Every setting of the cloud server. */
export const cloudOptions = {
  ...cloudListenOptions,
  ...connectionOptions({ most: CLOUD_DEFAULTS.mostConnections }),
  ...streamOptions,
  authFile,
  apiKey,
  allowOrigins,
  ...boatOptions,
  ...storeOptions,
  ...nodeOptions,
  ...memoryOptions,
  ...sessionsOfEach,
  ...journalOfEach,
  journalBacklogBytes: journal.size({
    name: "journal-backlog-size",
    beyond: "The live stream of the boat ends; the frames come by backfill.",
    key: "journal.backlog-size",
    default: CLOUD_DEFAULTS.maxBacklogBytes,
    minBytes: 64 * 1024,
    maxBytes: 2 ** 30,
    help: "Memory for live frames of one boat that wait while the disk is full or slow.",
  }),
  archiveStartTimeoutMs: journal.duration({
    name: "archive-start-timeout",
    beyond: "Boats are served while archiving continues.",
    key: "journal.archive.start-timeout",
    default: CLOUD_DEFAULTS.archiveStartTimeoutMs,
    // systemd ends a start after 120 s.
    maxMs: 100_000,
    help:
      "Longest time that a start archives the remaining journal files, with both triggers, before boats are served.",
  }),
  drainTimeMs: operation.duration({
    name: "drain-time",
    beyond: "The boats that are left are disconnected at the same time.",
    default: 0,
    maxMs: 3_600_000,
    help:
      "Longest time from SIGTERM to the stop, in which boats are disconnected one after the other so that a balancer " +
      "sends them to other nodes; /readyz is 503. A second SIGTERM ends it. 0: all at once.",
  }),
  ...runOptions,
  ...fileOptions(CLOUD_CONFIG_NAME),
  ...programOptions,
};

/** Settings of the cloud server. */
export type CloudSettings = SettingsOf<typeof cloudOptions>;

/** Checks of several settings of the cloud server. */
export const cloudChecks: readonly Check<CloudSettings>[] = [
  ...cloudListenChecks,
  ...journalFileChecks,
  ...tokenChecks,
  ...storeChecks,
  ...nodeChecks,
];

/** Asynchronous checks of the cloud server. */
export const cloudAsyncChecks: readonly AsyncCheck<CloudSettings>[] = cloudTrustChecks;
