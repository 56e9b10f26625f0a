/** Frames tell where a vessel was and what was aboard: files of frames are for their owner and group. */
export const JOURNAL_FILE_MODE = 0o640;
/** Mode of the directories that are made for them. */
export const JOURNAL_DIRECTORY_MODE = 0o750;
