import { parseFileName } from "../file/name.ts";
import { EARLIEST_MS } from "./clock_sanity.ts";

/** Policy if space is short and only unarchived files could be deleted. */
export type OverflowPolicy = "delete-unarchived" | "pause-recording";

/** When files are archived: not at all, each when it is finished, or when it is about to be deleted. */
export type ArchiveTrigger = "off" | "on-rotate" | "before-expire";

/** Retention limits. Zero or omitted: no limit. */
export interface RetentionSettings {
  /** Files that begin longer ago are deleted, */
  maxAgeMs?: number | undefined;
  /** but none that begins less long ago than this, unless there is no room. */
  minKeepMs?: number | undefined;
  /** All files together have at most so many bytes, whatever their age. */
  maxBytes?: number | undefined;
  /** At this part of `maxBytes` files are archived, so that they may be deleted when there is no room. */
  softPercent: number;
  /** What happens when there is no room and files could not be archived. */
  overflow: OverflowPolicy;
  /** Must be `off` when there is no command. */
  archive: ArchiveTrigger;
}

/** A journal file as it lies in the directory. */
export interface RetentionFile {
  name: string;
  bytes: number;
  /** Modification time, milliseconds since 1970; omitted if unknown. */
  modifiedMs?: number | undefined;
  /** Somebody still writes it. */
  isOpen: boolean;
  /** `new`: not tried; `failed`: tried in vain; `done`: a copy is somewhere else. */
  archive: "new" | "failed" | "done";
}

/** A file that is left alone: its name is not one of ours, or its time cannot be true. */
export interface StrangeFile {
  /** Its name. */
  name: string;
  /** Its size. */
  bytes: number;
  /** What is strange. */
  why: "name" | "clock";
}

/** What is to be done now. */
export interface RetentionPlan {
  remove: { file: RetentionFile; why: "age" | "size" }[];
  /** To be archived for the first time, oldest first. */
  archive: RetentionFile[];
  /** To be archived again when the time for another try has come. */
  retry: RetentionFile[];
  /** There is no room, and what could make room is not archived. */
  isPaused: boolean;
  strange: StrangeFile[];
  /** Files that neither name nor time of modification date: they are old from now on. */
  undated: RetentionFile[];
  /** Bytes of all our files before anything is done. */
  totalBytes: number;
}

/** Farther in the future than this, a file was recorded with a wrong clock. */
const FUTURE_MS = 24 * 3_600_000;

interface DatedFile extends RetentionFile {
  timeMs: number;
}

/**
 * Decides which files are deleted and archived. Size takes precedence over minimum age, and that over maximum age.
 * Files are looked at in the order of their names, which is the order of recording even where the clock was wrong. An
 * open file is never touched, though it counts. A file with a name that is not ours neither counts nor is touched. A
 * file whose time cannot be true has the age of its last modification; where that cannot be true either it has none
 * yet. When there is no room it goes in its turn: were it kept, a boat without a clock would fill its disk.
 *
 * @param options.nowMs undefined when the clock is not known to be right: then nothing is too old
 */
export function planRetention(
  files: readonly RetentionFile[],
  { settings, nowMs }: { settings: RetentionSettings; nowMs: number | undefined },
): RetentionPlan {
  const { dated, foreign } = sortOut(files);
  const isSane = (timeMs: number) => timeMs >= EARLIEST_MS && !(isKnown(nowMs) && timeMs > nowMs + FUTURE_MS);
  const isStrange = ({ timeMs }: DatedFile) => !isSane(timeMs);
  const dateOf = ({ timeMs, modifiedMs }: DatedFile) =>
    [timeMs, modifiedMs].find((each) => each !== undefined && isSane(each));
  const totalBytes = dated.reduce((sum, { bytes }) => sum + bytes, 0);
  const plan: RetentionPlan = {
    remove: [],
    archive: [],
    retry: [],
    isPaused: false,
    strange: [
      ...foreign,
      ...dated.filter(isStrange).map(({ name, bytes }) => ({ name, bytes, why: "clock" as const })),
    ],
    undated: isKnown(nowMs) ? dated.filter((file) => !file.isOpen && dateOf(file) === undefined) : [],
    totalBytes,
  };
  const { maxBytes = 0, softPercent, overflow, archive: trigger } = settings;
  const limit = maxBytes > 0 ? maxBytes : Infinity;
  const softLimit = trigger === "off" ? Infinity : limit * softPercent / 100;
  let kept = totalBytes;
  // Once archived these are deleted at the next look: newer files need not go for their sake.
  let promised = 0;
  let isBlocked = false;
  for (const file of dated) {
    if (file.isOpen) continue;
    const isOver = kept - promised > limit;
    const isDue = isOver || isExpired(dateOf(file), { settings, nowMs });
    const mayGo = trigger === "off" || file.archive === "done" ||
      (isOver && file.archive === "failed" && overflow === "delete-unarchived");
    if (isDue && mayGo) {
      plan.remove.push({ file, why: isOver ? "size" : "age" });
      kept -= file.bytes;
    } else if (file.archive !== "done" && (isDue || trigger === "on-rotate" || kept - promised > softLimit)) {
      plan[file.archive === "new" ? "archive" : "retry"].push(file);
      if (isDue && file.archive === "new") promised += file.bytes;
      isBlocked ||= isOver && file.archive === "failed";
    }
  }
  plan.isPaused = isBlocked && kept > limit;
  return plan;
}

function sortOut(files: readonly RetentionFile[]): { dated: DatedFile[]; foreign: StrangeFile[] } {
  const dated: DatedFile[] = [];
  const foreign: StrangeFile[] = [];
  for (const file of files) {
    const parsed = parseFileName(file.name);
    if (parsed) dated.push({ ...file, timeMs: parsed.timeMs });
    else foreign.push({ name: file.name, bytes: file.bytes, why: "name" });
  }
  dated.sort((a, b) => a.timeMs - b.timeMs || (a.name < b.name ? -1 : 1));
  return { dated, foreign };
}

function isKnown(nowMs: number | undefined): nowMs is number {
  return nowMs !== undefined && nowMs >= EARLIEST_MS;
}

function isExpired(
  timeMs: number | undefined,
  { settings, nowMs }: { settings: RetentionSettings; nowMs: number | undefined },
): boolean {
  const { maxAgeMs = 0, minKeepMs = 0 } = settings;
  if (timeMs === undefined || !isKnown(nowMs) || maxAgeMs <= 0) return false;
  const ageMs = nowMs - timeMs;
  return ageMs > maxAgeMs && ageMs > minKeepMs;
}
