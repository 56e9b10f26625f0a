import { backoffMs } from "../../base/mod.ts";

/** Limits of the boat's link to its cloud. */
export interface LinkLimits {
  /** Maximum lag of live frames behind the newest frame; 0: unlimited. */
  maxLiveLagFrames: number;
  /** Frames between lag checks. */
  lagCheckFrames: number;
  /** Minimum time between reconnects because of lag, milliseconds. */
  minLagReconnectMs: number;
  /** Maximum time between connection attempts, milliseconds; at least {@linkcode FIRST_RECONNECT_MS}. */
  maxReconnectMs: number;
}

/** Default limits. */
export const LINK_LIMITS: Readonly<LinkLimits> = {
  maxLiveLagFrames: 10_000,
  lagCheckFrames: 1000,
  minLagReconnectMs: 30_000,
  maxReconnectMs: 60_000,
};

/** Time before the second attempt, before jitter, milliseconds. */
export const FIRST_RECONNECT_MS = 1000;
/** Part of a wait that varies, so that boats do not reconnect at the same time; the limit still holds. */
const JITTER = 0.2;
/** After a connection of this duration, the wait starts again at its minimum, milliseconds. */
const HEALTHY_MS = 30_000;
/** Maximum silence of the cloud, milliseconds. */
const WATCHDOG_MS = 20_000;
/**
 * Interval of the cloud's statuses, milliseconds. Without `quiet-status` it sends them only after frames, at most this
 * often.
 */
const STATUS_INTERVAL_MS = 5000;

/** Phase of the link. Times are monotonic milliseconds. */
export type LinkPhase =
  | { readonly kind: "disconnected" }
  | { readonly kind: "handshaking"; readonly sinceMs: number }
  | ConnectedPhase
  | { readonly kind: "reconnecting"; readonly atMs: number; readonly reason: string };

/** Live frames are sent, and blocks if frames are missing. */
export interface ConnectedPhase {
  readonly kind: "connected";
  readonly sinceMs: number;
  readonly backfill: BackfillPhase;
  /** The cloud sends statuses on a quiet bus, too: the feature `quiet-status`. */
  readonly hasQuietStatus: boolean;
  readonly silence: Silence;
  /** Live frames sent since the last lag check. */
  readonly uncheckedFrames: number;
}

/** Progress of the backfill. */
export type BackfillPhase =
  | { readonly kind: "backfilling"; readonly missingFrames: number }
  | { readonly kind: "complete" };

/** Whether silence of the cloud counts towards the watchdog. */
export type Silence =
  | { readonly kind: "counts"; readonly sinceMs: number }
  /** Nothing was sent yet that requires a status. */
  | { readonly kind: "allowed"; readonly receivedMs: number };

/** The phase, and values kept across connections. */
export interface LinkState {
  readonly phase: LinkPhase;
  /** Failed attempts since the last healthy connection. */
  readonly failures: number;
  readonly lagReconnectedMs: number | undefined;
}

/** Input of {@linkcode stepLink}. */
export type LinkEvent =
  | { readonly kind: "start" }
  | { readonly kind: "stop" }
  /** The cloud accepted the handshake. */
  | { readonly kind: "accepted"; readonly missingFrames: number; readonly hasQuietStatus: boolean }
  /** Live frames were sent. `headSeq` is the newest sequence number of the boat, `cursor` the last sent one. */
  | { readonly kind: "sent"; readonly frames: number; readonly headSeq: number; readonly cursor: number }
  /** A message of the cloud arrived. */
  | { readonly kind: "received" }
  /** Number of frames still to be sent as blocks. */
  | { readonly kind: "missing"; readonly frames: number }
  /** The handshake failed, the connection broke, or the cloud closed a stream. */
  | {
    readonly kind: "lost";
    readonly reason: string;
    /** The cloud asks the boat to connect again: that is no failure. */
    readonly isRequested?: boolean;
  }
  /** The deadline of {@linkcode linkDeadlineMs} may have passed. */
  | { readonly kind: "tick" };

/** Output of {@linkcode stepLink}, to be executed in order. */
export type LinkEffect =
  | { readonly kind: "connect" }
  | { readonly kind: "start_live" }
  | { readonly kind: "start_backfill" }
  /** Ends the backfill stream regularly. */
  | { readonly kind: "finish_backfill" }
  /** Closes the connection. */
  | { readonly kind: "close"; readonly reason: string };

/** Environment of a step. */
export interface LinkContext {
  /** Monotonic milliseconds. */
  nowMs: number;
  /** From 0 (inclusive) to 1 (exclusive). */
  random: number;
  limits: Readonly<LinkLimits>;
}

/** Result of a step. */
export interface LinkStep {
  readonly state: LinkState;
  readonly effects: readonly LinkEffect[];
}

/** Initial state. */
export const DISCONNECTED: LinkState = {
  phase: { kind: "disconnected" },
  failures: 0,
  lagReconnectedMs: undefined,
};

/**
 * One step of the state machine of the link. Pure. Events that do not apply to the current phase, such as those of a
 * closed connection, change nothing.
 *
 * @example
 * ```ts
 * import { DISCONNECTED, LINK_LIMITS, stepLink } from "./link_state.ts";
 *
 * const { state, effects } = stepLink(DISCONNECTED, { kind: "start" }, { nowMs: 0, random: 0.5, limits: LINK_LIMITS });
 * state.phase.kind; // "handshaking"
 * effects; // [{ kind: "connect" }]
 * ```
 */
export function stepLink(state: LinkState, event: LinkEvent, context: LinkContext): LinkStep {
  const { phase } = state;
  if (event.kind === "stop") return stop(state);
  switch (phase.kind) {
    case "disconnected":
      return event.kind === "start" ? connect(state, context) : unchanged(state);
    case "reconnecting":
      return event.kind === "tick" && context.nowMs >= phase.atMs ? connect(state, context) : unchanged(state);
    case "handshaking":
      return stepHandshaking(state, event, context);
    case "connected":
      return stepConnected({ ...state, phase }, event, context);
  }
}

/** Time of the next tick, monotonic milliseconds; undefined: none needed. */
export function linkDeadlineMs({ phase }: LinkState): number | undefined {
  switch (phase.kind) {
    case "disconnected":
      return undefined;
    case "reconnecting":
      return phase.atMs;
    case "handshaking":
      return phase.sinceMs + WATCHDOG_MS;
    case "connected":
      return phase.silence.kind === "counts" ? phase.silence.sinceMs + WATCHDOG_MS : undefined;
  }
}

type Connected = LinkState & { readonly phase: ConnectedPhase };

function stepHandshaking(state: LinkState, event: LinkEvent, context: LinkContext): LinkStep {
  if (event.kind === "lost") return reconnectAfter(state, event, context);
  if (event.kind === "tick") return checkSilence(state, context);
  if (event.kind !== "accepted") return unchanged(state);
  const { missingFrames, hasQuietStatus } = event;
  const { nowMs } = context;
  const phase: ConnectedPhase = {
    kind: "connected",
    sinceMs: nowMs,
    backfill: missingFrames > 0 ? { kind: "backfilling", missingFrames } : { kind: "complete" },
    hasQuietStatus,
    silence: silenceFrom(nowMs, hasQuietStatus),
    uncheckedFrames: 0,
  };
  const effects: LinkEffect[] = [{ kind: "start_live" }];
  if (missingFrames > 0) effects.push({ kind: "start_backfill" });
  return { state: { ...state, phase }, effects };
}

function stepConnected(state: Connected, event: LinkEvent, context: LinkContext): LinkStep {
  const { phase } = state;
  switch (event.kind) {
    case "lost":
      return reconnectAfter(resetFailures(state, context), event, context);
    case "tick":
      return checkSilence(resetFailures(state, context), context);
    case "received":
      return unchanged({ ...state, phase: { ...phase, silence: silenceFrom(context.nowMs, phase.hasQuietStatus) } });
    case "sent":
      return checkLag(state, event, context);
    case "missing": {
      if (phase.backfill.kind === "complete") return unchanged(state);
      if (event.frames === 0) {
        return {
          state: { ...state, phase: { ...phase, backfill: { kind: "complete" } } },
          effects: [{ kind: "finish_backfill" }],
        };
      }
      const backfill: BackfillPhase = { kind: "backfilling", missingFrames: event.frames };
      return unchanged({ ...state, phase: { ...phase, backfill } });
    }
    default:
      return unchanged(state);
  }
}

function checkLag(
  state: Connected,
  { frames, headSeq, cursor }: Extract<LinkEvent, { kind: "sent" }>,
  context: LinkContext,
): LinkStep {
  const { nowMs, limits } = context;
  const silence = frames > 0 ? silenceAfterSending(state.phase.silence, nowMs) : state.phase.silence;
  const uncheckedFrames = state.phase.uncheckedFrames + frames;
  const isDue = uncheckedFrames >= limits.lagCheckFrames && uncheckedFrames > 0;
  const phase: ConnectedPhase = { ...state.phase, silence, uncheckedFrames: isDue ? 0 : uncheckedFrames };
  const next = { ...state, phase };
  const lagFrames = headSeq - cursor;
  if (!isDue || limits.maxLiveLagFrames === 0 || lagFrames <= limits.maxLiveLagFrames) return unchanged(next);
  if (nowMs - (state.lagReconnectedMs ?? -Infinity) < limits.minLagReconnectMs) return unchanged(next);
  const { state: again, effects } = connect({ ...resetFailures(next, context), lagReconnectedMs: nowMs }, context);
  return {
    state: again,
    effects: [{ kind: "close", reason: `live frames lag by ${lagFrames}` }, ...effects],
  };
}

function silenceFrom(nowMs: number, hasQuietStatus: boolean): Silence {
  return hasQuietStatus ? { kind: "counts", sinceMs: nowMs } : { kind: "allowed", receivedMs: nowMs };
}

function silenceAfterSending(silence: Silence, nowMs: number): Silence {
  if (silence.kind === "counts") return silence;
  // Without `quiet-status`, the first frame after this time requires a status.
  const dueMs = silence.receivedMs + STATUS_INTERVAL_MS;
  return nowMs < dueMs ? silence : { kind: "counts", sinceMs: nowMs - STATUS_INTERVAL_MS };
}

/** Reconnects after too long a silence. */
function checkSilence(state: LinkState, context: LinkContext): LinkStep {
  const deadlineMs = linkDeadlineMs(state);
  if (deadlineMs === undefined || context.nowMs < deadlineMs) return unchanged(state);
  return reconnectLater(state, `no message from the cloud for ${WATCHDOG_MS / 1000} s`, context);
}

/** Resets the failures after a healthy connection. */
function resetFailures<S extends Connected>(state: S, { nowMs }: LinkContext): S {
  return nowMs - state.phase.sinceMs >= HEALTHY_MS ? { ...state, failures: 0 } : state;
}

function connect(state: LinkState, { nowMs }: LinkContext): LinkStep {
  return { state: { ...state, phase: { kind: "handshaking", sinceMs: nowMs } }, effects: [{ kind: "connect" }] };
}

function reconnectAfter(
  state: LinkState,
  { reason, isRequested }: Extract<LinkEvent, { kind: "lost" }>,
  context: LinkContext,
): LinkStep {
  if (!isRequested) return reconnectLater(state, reason, context);
  return reconnectIn(FIRST_RECONNECT_MS, { state, reason }, context);
}

function reconnectLater(state: LinkState, reason: string, context: LinkContext): LinkStep {
  const failures = state.failures + 1;
  const waitMs = backoffMs(failures, { firstMs: FIRST_RECONNECT_MS, capMs: context.limits.maxReconnectMs });
  return reconnectIn(waitMs, { state: { ...state, failures }, reason }, context);
}

/** @param waitMs before jitter, milliseconds */
function reconnectIn(
  waitMs: number,
  { state, reason }: { state: LinkState; reason: string },
  { nowMs, random, limits }: LinkContext,
): LinkStep {
  const shortestMs = waitMs * (1 - JITTER);
  const longestMs = Math.min(limits.maxReconnectMs, waitMs * (1 + JITTER));
  const atMs = nowMs + shortestMs + random * (longestMs - shortestMs);
  return {
    state: { ...state, phase: { kind: "reconnecting", atMs, reason } },
    effects: [{ kind: "close", reason }],
  };
}

function stop(state: LinkState): LinkStep {
  const { kind } = state.phase;
  const isOpen = kind === "handshaking" || kind === "connected";
  return {
    state: { ...state, phase: { kind: "disconnected" }, failures: 0 },
    effects: isOpen ? [{ kind: "close", reason: "the boat stops" }] : [],
  };
}

function unchanged(state: LinkState): LinkStep {
  return { state, effects: [] };
}
