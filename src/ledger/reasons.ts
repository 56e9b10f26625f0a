/** Why frames became no message, for people. */
export const INCOMPLETE_TEXTS: Readonly<Record<string, string>> = {
  timeout: "a part of the message did not arrive in time",
  replaced: "the next message began before the last part",
  overflow: "too many incomplete messages",
  malformed: "too short, or with an invalid length",
  unexpected: "a part beyond the end of its message",
  tp_timeout: "ISO transport: the next packet did not arrive in time",
  tp_aborted: "ISO transport: aborted by the sender or the receiver",
  tp_unexpected: "ISO transport: a packet out of order or without a session",
  tp_control: "ISO transport: frames that only control a transfer",
};

/** Why messages are not recorded, for people. */
export const MISSING_TEXTS: Readonly<Record<string, string>> = {
  disk: "the disk was full, failed or could not keep up",
  fault: "lost by a fault of the server",
  pruned: "their files were deleted",
  damaged: "their blocks are damaged",
  not_recorded: "recording is off",
  link: "the boat has not sent them yet",
};

/** Why it is not known what came, for people. */
export const UNKNOWN_TEXTS: Readonly<Record<string, string>> = {
  stopped: "the server was not running",
  crashed: "the server crashed",
  pruned: "the files were deleted",
  no_counters: "the files have no counters",
  before_journal: "the journal begins later",
  after_journal: "the journal ends earlier",
  frames_on_boat: "only the boat counts frames",
};
