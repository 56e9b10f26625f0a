import { MIN_SPAN_MS, type Span } from "./place.ts";

/** Longest span, milliseconds: ten years. */
const MAX_SPAN_MS = 3653 * 86_400_000;
/** Part of a span that a key or button moves it. */
const STEP = 0.25;

/** What a key does to the charts. */
export type KeyAction =
  | { type: "cursor"; steps: number }
  | { type: "zoom"; factor: number }
  | { type: "move"; part: number }
  | { type: "back" };

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  "ArrowLeft": { type: "cursor", steps: -1 },
  "ArrowRight": { type: "cursor", steps: 1 },
  "Home": { type: "cursor", steps: -Infinity },
  "End": { type: "cursor", steps: Infinity },
  "Shift+ArrowLeft": { type: "move", part: -STEP },
  "Shift+ArrowRight": { type: "move", part: STEP },
  "PageUp": { type: "move", part: -1 },
  "PageDown": { type: "move", part: 1 },
  "+": { type: "zoom", factor: 0.5 },
  "=": { type: "zoom", factor: 0.5 },
  "-": { type: "zoom", factor: 2 },
  "Escape": { type: "back" },
};

/** The action of a key; undefined: it has none. */
export function keyAction({ key, shiftKey, ctrlKey, altKey, metaKey }: {
  key: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
}): KeyAction | undefined {
  if (ctrlKey || altKey || metaKey) return undefined;
  return ACTIONS[shiftKey && key.startsWith("Arrow") ? `Shift+${key}` : key];
}

/** A span that is `factor` times as long; the time `atMs` keeps its place. Not beyond `nowMs`. */
export function zoomed(
  { fromMs, toMs }: Span,
  { factor, atMs = (fromMs + toMs) / 2, nowMs }: { factor: number; atMs?: number | undefined; nowMs: number },
): Span {
  const length = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, (toMs - fromMs) * factor));
  const before = (atMs - fromMs) / (toMs - fromMs);
  return within({ fromMs: atMs - before * length, toMs: atMs + (1 - before) * length }, nowMs);
}

/** A span of the same length, moved by a part of it. */
export function moved({ fromMs, toMs }: Span, { part, nowMs }: { part: number; nowMs: number }): Span {
  const byMs = part * (toMs - fromMs);
  return within({ fromMs: fromMs + byMs, toMs: toMs + byMs }, nowMs);
}

/** The span between two times that somebody marked, which are in any order and may be too close. */
export function marked(aMs: number, bMs: number, nowMs: number): Span {
  const span = { fromMs: Math.min(aMs, bMs), toMs: Math.max(aMs, bMs) };
  return span.toMs - span.fromMs < MIN_SPAN_MS
    ? zoomed({ fromMs: span.fromMs, toMs: span.fromMs + MIN_SPAN_MS }, { factor: 1, nowMs })
    : within(span, nowMs);
}

/** What two fingers do: the times that were under them at the start stay under them. */
export function pinched(
  { fromMs, toMs }: Span,
  { start: [a, b], now: [c, d], nowMs }: {
    /** Places of the fingers, as parts of the width. */
    start: readonly [number, number];
    now: readonly [number, number];
    nowMs: number;
  },
): Span {
  const length = toMs - fromMs;
  const apart = Math.abs(d - c);
  const factor = apart < 0.01 ? 1 : Math.abs(b - a) / apart;
  const atMs = fromMs + (a + b) / 2 * length;
  const zoom = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, length * factor));
  const start = atMs - (c + d) / 2 * zoom;
  return within({ fromMs: start, toMs: start + zoom }, nowMs);
}

/** Whole milliseconds, and no time that is yet to come. */
function within({ fromMs, toMs }: Span, nowMs: number): Span {
  const length = Math.round(toMs - fromMs);
  const end = Math.min(Math.round(toMs), Math.round(nowMs));
  return { fromMs: end - length, toMs: end };
}
