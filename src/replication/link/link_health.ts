import { formatTimeUs } from "../../frame/mod.ts";
import type { LinkPhase } from "./link_state.ts";
import type { LinkHealth } from "./status.ts";

/** Time of a first attempt before health is degraded, milliseconds. */
const FIRST_TRY_MS = 5000;

/** What the health of a link depends on. */
export interface LinkCondition {
  phase: LinkPhase;
  /** Reason of the last disconnection. */
  reason: string | undefined;
  /** Why the certificate files cannot be used. */
  fault: string | undefined;
  /** True if there was no connection yet. */
  isFirst: boolean;
  /** Time of the next attempt, microseconds since 1970. */
  nextTryUs: number;
  /** Frames of former epochs that the cloud refuses. */
  refused: { frames: number; reason: string } | undefined;
  /** Frames deleted before the cloud stored them. */
  lostFrames: number;
  /** Monotonic time. */
  nowMs: number;
}

/** Degraded without a connection (after a grace period at first), with invalid certificate files, or with lost frames. */
export function healthOf(condition: LinkCondition): LinkHealth {
  const { lostFrames } = condition;
  const messages = [
    problemOf(condition),
    lostFrames > 0 ? `${lostFrames} frames were deleted from the journal before the cloud stored them` : undefined,
  ].filter((each) => each !== undefined);
  return messages.length === 0 ? { status: "ok" } : { status: "degraded", message: messages.join("; ") };
}

function problemOf(
  { phase, reason, fault, isFirst, nextTryUs, refused, nowMs }: LinkCondition,
): string | undefined {
  const why = reason === undefined ? "" : `: ${reason}`;
  switch (phase.kind) {
    case "connected":
      if (fault !== undefined) return `${fault}; the previous ones stay in use`;
      // Refused frames stay on this boat.
      return refused && `the cloud refuses ${refused.frames} frames of former epochs: ${refused.reason}`;
    case "reconnecting":
      return `disconnected${why}; next attempt ${formatTimeUs(nextTryUs)}`;
    case "handshaking": {
      const isGrace = reason === undefined && fault === undefined && isFirst && nowMs - phase.sinceMs < FIRST_TRY_MS;
      return isGrace ? undefined : `connecting${why && ` again${why}`}`;
    }
    case "disconnected":
      return "stopped";
  }
}
