import type { DiskSpace } from "../../base/mod.ts";
import { parseFileName } from "../file/name.ts";
import { EARLIEST_MS } from "./clock_sanity.ts";

/** Policy when the size limit is exceeded and only unarchived files could be deleted. */
export type OverflowPolicy = "delete-unarchived" | "pause-recording";

/** When files are archived: never, after completion, or before deletion. */
export type ArchiveTrigger = "off" | "on-rotate" | "before-expire";

/** Retention limits. Zero or omitted: no limit. */
export interface RetentionSettings {
  /** Maximum age of a file since its first frame, milliseconds. */
  maxAgeMs?: number | undefined;
  /** Minimum age before deletion, milliseconds; `maxBytes` takes precedence. */
  minKeepMs?: number | undefined;
  /** Maximum total size of the files with their sidecars, bytes. */
  maxBytes?: number | undefined;
  /** Percentage of `maxBytes` above which files are archived, so that they can be deleted in time. */
  softPercent: number;
  /** Policy when `maxBytes` is exceeded and files could not be archived. */
  overflow: OverflowPolicy;
  /** Must be `off` without an archive command. */
  archive: ArchiveTrigger;
}

/** A journal file. */
export interface RetentionFile {
  name: string;
  bytes: number;
  /** Size of its sidecar, which is deleted with it and counts toward `maxBytes`; default none. */
  sidecarBytes?: number;
  /** Paths of the files that are archived with it. */
  evidence?: readonly string[];
  /** Modification time, milliseconds since 1970; omitted if unknown. */
  modifiedMs?: number | undefined;
  /** The true time of its first frame, milliseconds since 1970, where the name has that of a wrong clock. */
  correctedMs?: number | undefined;
  /** True while the file is being written. */
  isOpen: boolean;
  /** State of archiving: not attempted, last attempt failed, or archived. */
  archive: "new" | "failed" | "done";
  /** False: its age does not delete it while there is room, because it has frames that the cloud has not stored. Default true. */
  isStored?: boolean;
}

/** A file that is neither archived nor deleted by age: it has a foreign name or an implausible time. */
export interface StrangeFile {
  /** Name. */
  name: string;
  /** Size, bytes. */
  bytes: number;
  /** Whether the name or the time is strange. */
  why: "name" | "clock";
}

/** Actions that are due now. */
export interface RetentionPlan {
  /** `disk`: too old, and no longer kept for lack of space. */
  remove: { file: RetentionFile; why: "age" | "size" | "disk" }[];
  /** Files that are too old, and kept because they are not stored, oldest first. */
  kept: RetentionFile[];
  /** Files to archive for the first time, oldest first. */
  archive: RetentionFile[];
  /** Files to archive again at the next retry. */
  retry: RetentionFile[];
  /** True if the size limit is exceeded, and only unarchived files could be deleted. */
  isPaused: boolean;
  strange: StrangeFile[];
  /** Files without a plausible time in name and modification time: their age counts from now. */
  undated: RetentionFile[];
  /** Total size of the journal's files with their sidecars before these actions, bytes. */
  totalBytes: number;
}

/** A file further in the future was recorded with a wrong clock. */
const FUTURE_MS = 24 * 3_600_000;
/** Files that are too old are not kept beyond this share of the disk in use, percent: recording needs the rest. */
export const MAX_KEPT_DISK_PERCENT = 90;

interface DatedFile extends RetentionFile {
  timeMs: number;
}

/**
 * Decides which files to delete and to archive. The maximum size takes precedence over the minimum age, and that over the
 * maximum age. Files are processed in the order of their names, which is the order of recording even if the clock was
 * wrong. Open files count but are never changed. Files with a foreign name neither count nor are changed. A file with an
 * implausible time has the age of its last modification; if that is implausible, too, its age is unknown. The size limit
 * applies to such files as well: otherwise a boat without a clock would fill its disk.
 *
 * A file that is too old but not stored is kept, as long as neither the maximum size is exceeded nor the disk is more than
 * {@linkcode MAX_KEPT_DISK_PERCENT} full. Beyond it the oldest files go, stored or not.
 *
 * @param options.nowMs undefined while the clock is not trusted: then no file is too old
 * @param options.disk undefined: its space is unknown, and limits nothing
 */
export function planRetention(
  files: readonly RetentionFile[],
  { settings, nowMs, disk }: {
    settings: RetentionSettings;
    nowMs: number | undefined;
    disk?: DiskSpace | undefined;
  },
): RetentionPlan {
  const { dated, foreign } = sortOut(files);
  const isSane = (timeMs: number) => timeMs >= EARLIEST_MS && !(isKnown(nowMs) && timeMs > nowMs + FUTURE_MS);
  const isStrange = ({ timeMs }: DatedFile) => !isSane(timeMs);
  const dateOf = ({ correctedMs, timeMs, modifiedMs }: DatedFile) =>
    [correctedMs, timeMs, modifiedMs].find((each) => each !== undefined && isSane(each));
  const sizeOf = ({ bytes, sidecarBytes = 0 }: RetentionFile) => bytes + sidecarBytes;
  const totalBytes = dated.reduce((sum, file) => sum + sizeOf(file), 0);
  const plan: RetentionPlan = {
    remove: [],
    kept: [],
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
  const diskLimit = disk
    ? totalBytes + disk.freeBytes - disk.totalBytes * (100 - MAX_KEPT_DISK_PERCENT) / 100
    : Infinity;
  let kept = totalBytes;
  // Bytes that the next check deletes once they are archived: no newer files are deleted instead.
  let promised = 0;
  let isBlocked = false;
  for (const file of dated) {
    if (file.isOpen) continue;
    const isOver = kept - promised > limit;
    const isTooOld = isExpired(dateOf(file), { settings, nowMs });
    const isUnstored = file.isStored === false;
    const isKept = isTooOld && isUnstored && !isOver && kept - promised <= diskLimit;
    const isDue = isOver || (isTooOld && !isKept);
    const mayGo = trigger === "off" || file.archive === "done" ||
      (isOver && file.archive === "failed" && overflow === "delete-unarchived");
    if (isDue && mayGo) {
      plan.remove.push({ file, why: isOver ? "size" : isUnstored ? "disk" : "age" });
      kept -= sizeOf(file);
      continue;
    }
    if (isKept) plan.kept.push(file);
    if (file.archive !== "done" && (isDue || trigger === "on-rotate" || kept - promised > softLimit)) {
      plan[file.archive === "new" ? "archive" : "retry"].push(file);
      if (isDue && file.archive === "new") promised += sizeOf(file);
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
