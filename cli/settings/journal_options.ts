import { BOAT_DEFAULTS, type RetentionSettings } from "@vessel/gateway/boat";
import type { CloudRecordingOptions } from "@vessel/gateway/cloud-server";
import { optional, OptionGroup, reloadable } from "./option_types.ts";
import { type Check, definedOnly, refuse, type SettingsOf, warn } from "./options.ts";

const journal = new OptionGroup("Journal", { section: "journal" });
const MIN_SYNC_INTERVAL_MS = 50;
const MAX_PGN = 0x3ffff;
/** One block being written and one that waits. */
const MIN_BACKLOG_BLOCKS = 2;

/** Options of the journal, the same for boat and cloud. */
export const journalOptions = {
  journalDir: journal.text({
    name: "journal-dir",
    placeholder: "DIR",
    help: "Directory of the journal, which records every frame. Empty: nothing is recorded, and there is no /history.",
  }),
  journalPrefix: journal.text({
    name: "journal-prefix",
    placeholder: "PREFIX",
    default: "nmea2k",
    help: "First part of the names of journal files.",
    validate: (value) =>
      /^[A-Za-z0-9_-]{1,32}$/.test(value)
        ? undefined
        : `Cannot name files after "${value}": expected 1 to 32 letters, digits, - or _`,
  }),
  journalBlockBytes: journal.powerOfTwo({
    name: "journal-block-size",
    default: 262_144,
    min: 4096,
    max: 16 * 1024 * 1024,
    help: "Bytes of a block before compression. A power of two.",
  }),
  journalCompression: journal.oneOf({
    name: "journal-compression",
    default: "zstd",
    choices: ["none", "zstd", "zstd-dict"],
    help: "Compression of blocks. zstd-dict can be read but not written.",
  }),
  journalRotateDurationMs: journal.duration({
    name: "journal-rotate-duration",
    key: ["journal.rotate.duration", "journal.rotate-duration"],
    default: 3_600_000,
    help: "Longest time span of one file. 0: no limit.",
  }),
  journalRotateBytes: journal.size({
    name: "journal-rotate-size",
    key: ["journal.rotate.size", "journal.rotate-size"],
    default: 0,
    help: "Size after which a new file starts. 0: no limit.",
  }),
  journalSyncIntervalMs: journal.duration({
    name: "journal-sync-interval",
    default: 1000,
    minMs: MIN_SYNC_INTERVAL_MS,
    help: "Longest time that a frame is only in memory: a power cut loses at most this.",
  }),
  journalBacklogBytes: journal.size({
    name: "journal-backlog-size",
    beyond: "Frames are not recorded; the journal notes the gap, and vbg_journal_lost_frames_total counts them.",
    default: 32 * 1024 * 1024,
    minBytes: 1024 * 1024,
    maxBytes: 2 ** 30,
    help: "Memory for frames that wait while the disk is full or slow.",
  }),
  journalPackAfterMs: journal.duration({
    name: "journal-pack-after",
    default: 30_000,
    help:
      "Blocks that took at least this time to fill are compressed harder, which costs some seconds of CPU time an hour. " +
      "A day: none.",
  }),
  retentionMaxAgeMs: journal.duration({
    name: "journal-retention-max-age",
    beyond: "The file is deleted.",
    key: "journal.retention.max-age",
    default: 0,
    help: "Files that started longer ago are deleted. 0: no limit.",
  }),
  retentionMinKeepMs: journal.duration({
    name: "journal-retention-min-keep",
    key: "journal.retention.min-keep",
    default: 0,
    help: "Files that started more recently are not deleted for their age; the size limit still applies.",
  }),
  retentionMaxBytes: journal.size({
    name: "journal-retention-max-size",
    beyond: "The oldest files are deleted, or recording pauses: see -journal-retention-overflow-policy.",
    key: "journal.retention.max-size",
    default: 0,
    help: "Most bytes of all files and their sidecars together; beyond it the oldest are deleted. 0: no limit.",
  }),
  retentionSoftPercent: journal.integer({
    name: "journal-retention-soft-pct",
    key: "journal.retention.soft-pct",
    default: 80,
    min: 1,
    max: 99,
    help: "Share of the size limit, in percent, at which files are archived.",
  }),
  retentionOverflow: journal.oneOf({
    name: "journal-retention-overflow-policy",
    key: "journal.retention.overflow-policy",
    default: "delete-unarchived",
    choices: ["delete-unarchived", "pause-recording"],
    help: "At the size limit, if files could not be archived: delete the oldest anyway, or pause recording.",
  }),
  keepUnacknowledged: optional(journal.boolean({
    name: "journal-keep-unacknowledged",
    key: "journal.retention.keep-unacknowledged",
    help:
      "Files that are too old stay until the cloud has stored them, or acknowledged them if it has no store: at most up " +
      "to -journal-retention-max-size, and until the disk is 90 % full. Not set: only for a cloud with a store.",
  })),
  archiveCommand: journal.text({
    name: "journal-archive-command",
    key: "journal.archive.command",
    placeholder: "COMMAND",
    help: "Program that archives files: paths as arguments, JSON lines on its input and output. Requires " +
      "-journal-archive-trigger.",
  }),
  archiveTrigger: journal.oneOf({
    name: "journal-archive-trigger",
    key: "journal.archive.trigger",
    default: "disabled",
    choices: ["disabled", "on-rotate", "before-expire"],
    help: "When files are archived: when they are complete, or before they are deleted.",
  }),
  journalEvidence: journal.boolean({
    name: "journal-evidence",
    key: "journal.evidence.enabled",
    default: true,
    help: "Sign complete files (Ed25519), so that vbg verify -evidence finds any change.",
  }),
  journalEvidenceKey: journal.text({
    name: "journal-evidence-key",
    key: "journal.evidence.key",
    placeholder: "FILE",
    help: "Private key that signs files, PEM (PKCS #8), created if missing. Default: evidence.pem in -state-dir.",
  }),
  maxHistory: reloadable(journal.integer({
    name: "history-max-limit",
    beyond: "400 naming the parameter.",
    key: "history.max-limit",
    default: 1_000_000,
    min: 1,
    max: 1_000_000_000,
    help: "Most frames of one reply to /history.",
  })),
  seriesPgns: journal.list({
    name: "series-pgns",
    placeholder: "PGN",
    key: "series.pgns",
    commas: true,
    default: BOAT_DEFAULTS.seriesPgns.map(String),
    defaultText: "navigation, wind, environment, engines, batteries, tanks",
    help:
      "PGNs whose values are kept in small files beside the journal, from which /series and /voyages answer for long times " +
      "at once. Other PGNs are read from the journal. Empty: none.",
    validate: (pgn) =>
      /^\d{1,6}$/.test(pgn) && Number(pgn) <= MAX_PGN
        ? undefined
        : `Cannot read the PGN "${pgn}": expected a number from 0 to ${MAX_PGN}`,
  }),
  maxSeriesPoints: reloadable(journal.integer({
    name: "series-max-points",
    beyond: "400 naming the parameter.",
    key: "series.max-points",
    default: BOAT_DEFAULTS.maxSeriesPoints,
    min: 1,
    max: 100_000,
    help: "Most points of each series in a reply to /series.",
  })),
  maxSeriesScan: reloadable(journal.integer({
    name: "series-max-scan",
    beyond: "400 with the number of frames.",
    key: "series.max-scan",
    default: BOAT_DEFAULTS.maxSeriesScan,
    min: 1,
    max: 1_000_000_000_000,
    help: "Most frames that one request for /series or /voyages may read.",
  })),
};

/** Settings of the journal. */
export type JournalSettings = SettingsOf<typeof journalOptions>;

/** Settings that a cloud does not have. */
type OnlyOnBoats =
  | "journalDir"
  | "journalPrefix"
  | "journalEvidence"
  | "journalEvidenceKey"
  | "journalPackAfterMs"
  | "keepUnacknowledged";

/** Options of the library that boat and cloud share. */
export type SharedRecordingOptions = Omit<CloudRecordingOptions, "archiveStartTimeoutMs">;

/** The library's options of the journal that boat and cloud share; 0 means no limit. */
export function journalOf(
  settings: Omit<JournalSettings, OnlyOnBoats>,
): SharedRecordingOptions {
  const { archiveTrigger } = settings;
  const retention: RetentionSettings = {
    maxAgeMs: settings.retentionMaxAgeMs || undefined,
    minKeepMs: settings.retentionMinKeepMs || undefined,
    maxBytes: settings.retentionMaxBytes || undefined,
    softPercent: settings.retentionSoftPercent,
    overflow: settings.retentionOverflow,
    archive: archiveTrigger === "disabled" ? "off" : archiveTrigger,
  };
  return definedOnly<SharedRecordingOptions>({
    blockBytes: settings.journalBlockBytes,
    // The checks refuse zstd-dict, which can only be read.
    compression: settings.journalCompression === "none" ? "none" : "zstd",
    rotateDurationMs: settings.journalRotateDurationMs,
    rotateBytes: settings.journalRotateBytes,
    syncIntervalMs: settings.journalSyncIntervalMs,
    maxBacklogBytes: settings.journalBacklogBytes,
    archiveCommand: settings.archiveCommand || undefined,
    retention,
  });
}

/** Most buses that a journal distinguishes. */
const MAX_JOURNAL_BUSES = 4;

/** Checks of settings of journal files, for boat and cloud. */
export const journalFileChecks: readonly Check<
  Pick<
    JournalSettings,
    "journalCompression" | "archiveCommand" | "archiveTrigger" | "journalBacklogBytes" | "journalBlockBytes"
  >
>[] = [
  refuse(
    ["journalCompression"],
    ({ journalCompression }) =>
      journalCompression === "zstd-dict" && "Cannot write zstd-dict, which can only be read; use zstd",
  ),
  refuse(
    ["archiveCommand", "archiveTrigger"],
    ({ archiveCommand, archiveTrigger }) =>
      archiveTrigger !== "disabled" && archiveCommand === "" &&
      `Cannot archive ${archiveTrigger} without -journal-archive-command`,
  ),
  warn(
    ["archiveCommand", "archiveTrigger"],
    ({ archiveCommand, archiveTrigger }) =>
      archiveTrigger === "disabled" && archiveCommand !== "" &&
      "Not used: -journal-archive-trigger is disabled, so no file is archived",
  ),
  refuse(
    ["journalBacklogBytes", "journalBlockBytes"],
    ({ journalBacklogBytes, journalBlockBytes }) =>
      journalBacklogBytes < MIN_BACKLOG_BLOCKS * journalBlockBytes &&
      `Cannot keep waiting frames in ${journalBacklogBytes} bytes: that is less than ${MIN_BACKLOG_BLOCKS} blocks`,
  ),
];

/** Checks of settings of a boat's journal. */
export const journalChecks: readonly Check<
  JournalSettings & { interfaces: readonly string[]; replicationTarget: string }
>[] = [
  ...journalFileChecks,
  warn(
    ["keepUnacknowledged", "journalDir", "replicationTarget"],
    ({ keepUnacknowledged, journalDir, replicationTarget }) =>
      keepUnacknowledged === true && (journalDir === "" || replicationTarget === "") &&
      "Not used without -journal-dir and -replication-target",
  ),
  refuse(
    ["journalDir", "interfaces"],
    ({ journalDir, interfaces }) =>
      journalDir !== "" && interfaces.length > MAX_JOURNAL_BUSES &&
      `Cannot record ${interfaces.length} interfaces: a journal distinguishes ${MAX_JOURNAL_BUSES}`,
  ),
];
