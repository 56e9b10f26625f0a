import { type UnitSystem, valueText as unitText } from "@vessel/gateway/units";
import type { Vector } from "./geometry.ts";

/** Side of the plot, in its own units; the own vessel is in the middle. */
export const PLOT_SIZE = 360;
/** Radius of the outer range ring, in the units of the plot. */
export const RING_RADIUS = 156;
/** Height of a name, and the usual width of a character. */
const TEXT = { height: 14, character: 8 } as const;

/** Distance of a name from its target. */
const NAME_OFFSET = 9;

/** Radius of the outer ring. */
export interface Range {
  readonly metres: number;
  readonly text: string;
  /** Of the inner ring, at half the radius. */
  readonly halfText: string;
}

const NAUTICAL_MILE_M = 1852;
const RANGES = {
  nautical: { unit: "nm", metres: NAUTICAL_MILE_M, radii: [0.1, 0.2, 0.5, 1, 2, 4, 8, 16, 32] },
  metric: { unit: "km", metres: 1000, radii: [0.2, 0.5, 1, 2, 4, 8, 16, 32, 64] },
  si: { unit: "m", metres: 1, radii: [200, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000] },
} as const;
/** Number of zoom steps. */
export const ZOOM_STEPS = RANGES.nautical.radii.length;
/** The zoom step at the start: 4 nm. */
export const FIRST_ZOOM = 5;

/** Range of a zoom step, 0 being the nearest. */
export function rangeOf(step: number, system: UnitSystem): Range {
  const { unit, metres, radii } = RANGES[system];
  const radius = radii[Math.min(Math.max(step, 0), radii.length - 1)] ?? radii[FIRST_ZOOM];
  return { metres: radius * metres, text: `${radius} ${unit}`, halfText: `${radius / 2} ${unit}` };
}

/** A distance in the preferred unit. */
export function distanceText(metres: number, system: UnitSystem): string {
  const rounded = system === "si" ? Math.round(metres) : metres;
  return unitText(rounded, { name: "distance", unit: "m" }, { system });
}

/** A speed in the preferred unit. */
export function speedText(metresPerSecond: number, system: UnitSystem): string {
  return unitText(metresPerSecond, { name: "sog", unit: "m/s" }, { system });
}

/** A direction from true north, in three digits without decimals; in SI in radians. */
export function bearingText(radians: number, system: UnitSystem): string {
  if (system === "si") return `${radians.toFixed(2)} rad`;
  return `${String(Math.round(radians / Math.PI * 180) % 360).padStart(3, "0")}°T`;
}

/** A time until something happens: `45 s`, `12 min`. */
export function untilText(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

/** Place on the plot of a vector from the own vessel: north is up. */
export function onPlot({ east, north }: Vector, { metres }: Range): { x: number; y: number } {
  const scale = RING_RADIUS / metres;
  return { x: PLOT_SIZE / 2 + east * scale, y: PLOT_SIZE / 2 - north * scale };
}

/** Whether a place is on the plot. */
export function isOnPlot({ x, y }: { x: number; y: number }): boolean {
  return x >= 0 && y >= 0 && x <= PLOT_SIZE && y <= PLOT_SIZE;
}

/** A text on the plot. */
export interface PlacedText {
  text: string;
  x: number;
  y: number;
}

/** Part of a line that must stay free. */
interface Box {
  left: number;
  right: number;
  y: number;
}

/**
 * Where the names of targets can be written beside them so that none covers another, or what is kept free. The first ones
 * go first; undefined: there is no room.
 */
export function placeNames(targets: readonly PlacedText[], kept: readonly Box[] = []): (PlacedText | undefined)[] {
  const written = [...kept];
  return targets.map(({ text, x, y }) => {
    const width = text.length * TEXT.character;
    const places = [x + NAME_OFFSET, x - NAME_OFFSET - width].flatMap((left) =>
      [y - NAME_OFFSET, y + NAME_OFFSET + TEXT.height / 2].map((line) => ({ left, right: left + width, y: line }))
    );
    const box = places.find((each) => isWithin(each) && !written.some(covers(each)));
    if (!box) return undefined;
    written.push(box);
    return { text, x: box.left, y: box.y };
  });
}

function isWithin({ left, right, y }: Box): boolean {
  return left >= 0 && right <= PLOT_SIZE && y >= TEXT.height && y <= PLOT_SIZE;
}

function covers(box: Box): (other: Box) => boolean {
  return (other) => Math.abs(other.y - box.y) < TEXT.height && other.left < box.right && other.right > box.left;
}
