import type { Journal } from "../../journal/mod.ts";
import type { ComponentHealth } from "../schemas.ts";

/** What of a journal tells how it does. */
export type JournalSource = Pick<Journal, "state" | "lost" | "files" | "unsyncedMs" | "syncIntervalMs" | "damage">;

/** A frame that is in memory alone for so many sync intervals degrades health: the disk is too slow, or hangs. */
export const DEGRADED_SYNC_INTERVALS = 5;
/** After so long the server is unhealthy; with a sync interval above 6 s after as many intervals as above. */
export const UNHEALTHY_MS = 30_000;

/** Frames that were lost are lost for good: they stay a matter of the metrics once recording goes on. */
export function evaluateJournal(
  { state, lost, files, unsyncedMs, syncIntervalMs, damage }: JournalSource,
): ComponentHealth {
  const cost = lost > 0 ? `; ${lost} frames are lost` : "";
  if (state.kind === "failing") return { status: "unhealthy", message: `cannot be written: ${state.reason}${cost}` };
  if (files?.isPaused) {
    const room = `its files take up ${files.bytes} bytes, and ${files.failed} of them could not be archived`;
    return { status: "unhealthy", message: `recording is paused: ${room}${cost}` };
  }
  const slowMs = DEGRADED_SYNC_INTERVALS * syncIntervalMs;
  if (unsyncedMs >= slowMs) {
    const status = unsyncedMs >= Math.max(UNHEALTHY_MS, slowMs) ? "unhealthy" : "degraded";
    const seconds = Math.floor(unsyncedMs / 1000);
    return { status, message: `the disk hangs or is too slow: frames of the last ${seconds} s are not synced${cost}` };
  }
  const [first, ...others] = damage;
  if (first !== undefined) {
    const more = others.length === 0 ? "" : `; and ${others.length} more, see the log`;
    return { status: "degraded", message: first + more };
  }
  if (files?.error !== undefined) {
    return { status: "degraded", message: `files cannot be looked after: ${files.error}` };
  }
  if (files && files.failed > 0) return { status: "degraded", message: `${files.failed} files could not be archived` };
  return { status: "ok" };
}
