import type { Journal } from "../../journal/mod.ts";
import type { ComponentHealth } from "../schemas.ts";

/** The part of a journal that health needs. */
export type JournalSource = Pick<Journal, "state" | "lost" | "files" | "unsyncedMs" | "syncIntervalMs" | "damage">;

/** A frame unsynced for this many sync intervals makes the journal degraded: the disk hangs or is too slow. */
export const DEGRADED_SYNC_INTERVALS = 5;
/** Unsynced time that makes the journal unhealthy; for sync intervals above 6 s it is {@linkcode DEGRADED_SYNC_INTERVALS}. */
export const UNHEALTHY_MS = 30_000;

/** Evaluates the journal. Lost frames alone do not degrade it: after recovery only the metrics show them. */
export function evaluateJournal(
  { state, lost, files, unsyncedMs, syncIntervalMs, damage }: JournalSource,
): ComponentHealth {
  const lostText = lost > 0 ? `; ${lost} frames are lost` : "";
  if (state.kind === "failing") {
    return { status: "unhealthy", message: `cannot be written: ${state.reason}${lostText}` };
  }
  if (files?.isPaused) {
    const reason = `its files take up ${files.bytes} bytes, and ${files.failed} of them could not be archived`;
    return { status: "unhealthy", message: `recording is paused: ${reason}${lostText}` };
  }
  const slowMs = DEGRADED_SYNC_INTERVALS * syncIntervalMs;
  if (unsyncedMs >= slowMs) {
    const status = unsyncedMs >= Math.max(UNHEALTHY_MS, slowMs) ? "unhealthy" : "degraded";
    const seconds = Math.floor(unsyncedMs / 1000);
    return {
      status,
      message: `the disk hangs or is too slow: frames of the last ${seconds} s are not synced${lostText}`,
    };
  }
  const [first, ...others] = damage;
  if (first !== undefined) {
    const more = others.length === 0 ? "" : `; and ${others.length} more, see the log`;
    return { status: "degraded", message: first + more };
  }
  if (files?.error !== undefined) {
    return { status: "degraded", message: `file maintenance failed: ${files.error}` };
  }
  if (files && files.failed > 0) return { status: "degraded", message: `${files.failed} files could not be archived` };
  return { status: "ok" };
}
