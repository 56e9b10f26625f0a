/** Largest drift of a monotonic clock that is believed; quartz oscillators are specified to 200 ppm at most. */
export const MAX_DRIFT = 250e-6;
/** Readings over a shorter time do not determine the drift. */
const MIN_DRIFT_SPAN_MS = 300_000;
/** Parts of the time observed; one with enough readings has some with little latency. */
const PARTS = 8;
/** A part with fewer readings than this, or than a quarter of the mean, is not compared with the line. */
const MIN_PART_READINGS = 20;

/** Points in ascending order of `ms`; `us` is reported minus monotonic time, so that latency only lowers it. */
export interface Points {
  readonly ms: readonly number[];
  readonly us: readonly number[];
  /** Number of readings of which the point is the best. */
  readonly readings: readonly number[];
}

/** Line over the points: `us` = `levelUs` + `drift` · 1000 · (`ms` − first `ms`). */
export interface Line {
  firstMs: number;
  levelUs: number;
  drift: number;
  /** How far the best points of the parts lie apart, measured from the line: noise and change of drift. */
  spreadUs: number;
}

/** Value of a line at a monotonic time. */
export function valueAt({ firstMs, levelUs, drift }: Line, ms: number): number {
  return levelUs + drift * 1000 * (ms - firstMs);
}

/**
 * The line that lies above all points and as close to them as possible in the mean, lowered by half of what the parts
 * of the time observed are below it: a drift that changes with temperature then errs equally to both sides.
 */
export function fitEnvelope(points: Points): Line {
  const firstMs = points.ms[0] ?? 0;
  const lastMs = points.ms.at(-1) ?? 0;
  const isLong = lastMs - firstMs >= MIN_DRIFT_SPAN_MS;
  const drift = isLong ? Math.max(-MAX_DRIFT, Math.min(MAX_DRIFT, middleSlope(points))) : 0;
  const line = { firstMs, levelUs: 0, drift, spreadUs: 0 };
  line.levelUs = highest(points, line);
  if (isLong) line.spreadUs = spreadOf(points, { line, lastMs });
  line.levelUs -= line.spreadUs / 2;
  return line;
}

function highest({ ms, us }: Points, line: Line): number {
  return ms.reduce((most, at, i) => Math.max(most, (us[i] ?? 0) - valueAt(line, at)), -Infinity);
}

/** Slope of the upper convex hull where the points have their mean time. */
function middleSlope({ ms, us }: Points): number {
  const hull: number[] = [];
  const slope = (a: number, b: number) => ((us[b] ?? 0) - (us[a] ?? 0)) / (1000 * ((ms[b] ?? 0) - (ms[a] ?? 0)));
  let sum = 0;
  for (let i = 0; i < ms.length; i++) {
    sum += ms[i] ?? 0;
    for (let n = hull.length; n > 1 && slope(hull[n - 2] ?? 0, hull[n - 1] ?? 0) <= slope(hull[n - 2] ?? 0, i); n--) {
      hull.pop();
    }
    hull.push(i);
  }
  const middleMs = sum / ms.length;
  const right = Math.max(1, hull.findIndex((i) => (ms[i] ?? 0) >= middleMs));
  return slope(hull[right - 1] ?? 0, hull[right] ?? 0);
}

function spreadOf({ ms, us, readings }: Points, { line, lastMs }: { line: Line; lastMs: number }): number {
  const parts = Array.from({ length: PARTS }, () => ({ readings: 0, belowUs: Infinity }));
  const partMs = (lastMs - line.firstMs) / PARTS;
  let sum = 0;
  for (const [i, at] of ms.entries()) {
    const part = parts[Math.min(PARTS - 1, Math.floor((at - line.firstMs) / partMs))];
    if (!part) continue;
    part.readings += readings[i] ?? 0;
    part.belowUs = Math.min(part.belowUs, valueAt(line, at) - (us[i] ?? 0));
    sum += readings[i] ?? 0;
  }
  const least = Math.max(MIN_PART_READINGS, sum / PARTS / 4);
  return Math.max(0, ...parts.filter((part) => part.readings >= least).map(({ belowUs }) => belowUs));
}
