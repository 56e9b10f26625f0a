import { backoffMs } from "../../base/mod.ts";

/** Limits of the boat's link. */
export interface LinkLimits {
  /** Most frames that live may be behind the newest; 0 checks nothing. */
  maxLiveLagFrames: number;
  /** Frames sent from one lag check to the next. */
  lagCheckFrames: number;
  /** Least time from one lag reconnect to the next, milliseconds. */
  minLagReconnectMs: number;
  /** Longest wait from one try to the next, milliseconds; at least that of the first, 1 s. */
  maxReconnectMs: number;
}

/** What the specification gives. */
export const LINK_LIMITS: Readonly<LinkLimits> = {
  maxLiveLagFrames: 10_000,
  lagCheckFrames: 1000,
  minLagReconnectMs: 30_000,
  maxReconnectMs: 60_000,
};

/** Wait before the second try, before jitter; the least that {@linkcode LinkLimits.maxReconnectMs} may be. */
export const FIRST_RECONNECT_MS = 1000;
/** A wait is this much shorter or longer, so that boats do not all come back at once; never longer than the limit. */
const JITTER = 0.2;
/** A connection that lasted this long makes waits begin anew. */
const HEALTHY_MS = 30_000;
/** Silence after which a link is dead. */
const WATCHDOG_MS = 20_000;
/** How often a cloud tells what it has. A peer's does so only when a frame comes, and at most this often. */
const STATUS_EVERY_MS = 5000;

/** Where the link is. Times are monotonic milliseconds. */
export type LinkPhase =
  | { readonly kind: "disconnected" }
  | { readonly kind: "handshaking"; readonly sinceMs: number }
  | ConnectedPhase
  | { readonly kind: "reconnecting"; readonly atMs: number; readonly reason: string };

/** Frames go out live, and perhaps blocks for what is missing. */
export interface ConnectedPhase {
  readonly kind: "connected";
  readonly sinceMs: number;
  readonly backfill: BackfillPhase;
  /** Whether the cloud speaks on a quiet bus, too: the feature `quiet-status`. */
  readonly speaksWhenQuiet: boolean;
  readonly silence: Silence;
  /** Live frames sent since the last lag check. */
  readonly uncheckedFrames: number;
}

/** Whether frames are still missing on the cloud. */
export type BackfillPhase =
  | { readonly kind: "backfilling"; readonly missingFrames: number }
  | { readonly kind: "complete" };

/** Whether the cloud's silence says that the link is dead. */
export type Silence =
  | { readonly kind: "counts"; readonly sinceMs: number }
  /** Nothing was sent yet that it would answer. */
  | { readonly kind: "allowed"; readonly heardMs: number };

/** The phase, and what outlasts a connection. */
export interface LinkState {
  readonly phase: LinkPhase;
  /** Tries since a healthy connection. */
  readonly failures: number;
  readonly lagReconnectedMs: number | undefined;
}

/** What happens to a link. */
export type LinkEvent =
  | { readonly kind: "start" }
  | { readonly kind: "stop" }
  /** The cloud took the handshake. */
  | { readonly kind: "welcomed"; readonly missingFrames: number; readonly speaksWhenQuiet: boolean }
  /** Live frames were sent. `headSeq` is the newest of the boat, `cursor` the last that was sent. */
  | { readonly kind: "sent"; readonly frames: number; readonly headSeq: number; readonly cursor: number }
  /** Anything came from the cloud. */
  | { readonly kind: "heard" }
  /** So many frames are still to be sent as blocks. */
  | { readonly kind: "missing"; readonly frames: number }
  /** The handshake failed, the connection broke, or the cloud closed a stream. */
  | { readonly kind: "lost"; readonly reason: string }
  /** Time has passed; see {@linkcode linkDeadlineMs}. */
  | { readonly kind: "tick" };

/** What is to be done, in this order. */
export type LinkEffect =
  | { readonly kind: "connect" }
  | { readonly kind: "start_live" }
  | { readonly kind: "start_backfill" }
  /** Ends the backfill stream in good order. */
  | { readonly kind: "finish_backfill" }
  /** Ends whatever is open. */
  | { readonly kind: "close"; readonly reason: string };

/** What a step needs from outside. */
export interface LinkContext {
  /** Monotonic milliseconds. */
  nowMs: number;
  /** From 0 up to but without 1. */
  random: number;
  limits: Readonly<LinkLimits>;
}

/** Where the link is next, and what is to be done for it. */
export interface LinkStep {
  readonly state: LinkState;
  readonly effects: readonly LinkEffect[];
}

/** A link that was never up. */
export const DISCONNECTED: LinkState = {
  phase: { kind: "disconnected" },
  failures: 0,
  lagReconnectedMs: undefined,
};

/**
 * One step of the link: the specification's table of replication states. Pure. What does not concern the phase that the
 * link is in (news of a connection that is gone) changes nothing.
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

/** When the link wants its next tick, monotonic milliseconds; undefined: it waits for something else. */
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
  if (event.kind === "lost") return reconnectLater(state, event.reason, context);
  if (event.kind === "tick") return watch(state, context);
  if (event.kind !== "welcomed") return unchanged(state);
  const { missingFrames, speaksWhenQuiet } = event;
  const { nowMs } = context;
  const phase: ConnectedPhase = {
    kind: "connected",
    sinceMs: nowMs,
    backfill: missingFrames > 0 ? { kind: "backfilling", missingFrames } : { kind: "complete" },
    speaksWhenQuiet,
    silence: silenceFrom(nowMs, speaksWhenQuiet),
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
      return reconnectLater(rested(state, context), event.reason, context);
    case "tick":
      return watch(rested(state, context), context);
    case "heard":
      return unchanged({ ...state, phase: { ...phase, silence: silenceFrom(context.nowMs, phase.speaksWhenQuiet) } });
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
  const { state: again, effects } = connect({ ...rested(next, context), lagReconnectedMs: nowMs }, context);
  return {
    state: again,
    effects: [{ kind: "close", reason: `live is ${lagFrames} frames behind` }, ...effects],
  };
}

function silenceFrom(nowMs: number, speaksWhenQuiet: boolean): Silence {
  return speaksWhenQuiet ? { kind: "counts", sinceMs: nowMs } : { kind: "allowed", heardMs: nowMs };
}

function silenceAfterSending(silence: Silence, nowMs: number): Silence {
  if (silence.kind === "counts") return silence;
  // A peer answers the first frame after its status is due: only from there on it owes us one.
  const dueMs = silence.heardMs + STATUS_EVERY_MS;
  return nowMs < dueMs ? silence : { kind: "counts", sinceMs: nowMs - STATUS_EVERY_MS };
}

/** Ends what says nothing for too long. */
function watch(state: LinkState, context: LinkContext): LinkStep {
  const deadlineMs = linkDeadlineMs(state);
  if (deadlineMs === undefined || context.nowMs < deadlineMs) return unchanged(state);
  return reconnectLater(state, `no word from the cloud for ${WATCHDOG_MS / 1000} s`, context);
}

/** Forgets failures when the connection was a healthy one. */
function rested<S extends Connected>(state: S, { nowMs }: LinkContext): S {
  return nowMs - state.phase.sinceMs >= HEALTHY_MS ? { ...state, failures: 0 } : state;
}

function connect(state: LinkState, { nowMs }: LinkContext): LinkStep {
  return { state: { ...state, phase: { kind: "handshaking", sinceMs: nowMs } }, effects: [{ kind: "connect" }] };
}

function reconnectLater(state: LinkState, reason: string, { nowMs, random, limits }: LinkContext): LinkStep {
  const failures = state.failures + 1;
  const capMs = limits.maxReconnectMs;
  const waitMs = backoffMs(failures, { firstMs: FIRST_RECONNECT_MS, capMs });
  const shortestMs = waitMs * (1 - JITTER);
  const longestMs = Math.min(capMs, waitMs * (1 + JITTER));
  const atMs = nowMs + shortestMs + random * (longestMs - shortestMs);
  return {
    state: { ...state, failures, phase: { kind: "reconnecting", atMs, reason } },
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
