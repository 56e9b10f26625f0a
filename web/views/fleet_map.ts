/** A boat on the plot, degrees. */
export interface Place {
  id: string;
  latitude: number;
  longitude: number;
}

/** The plot: places in units of its width, and the lines of its grid. */
export interface FleetMap {
  places: { id: string; x: number; y: number }[];
  /** Degrees between two lines. */
  step: number;
  meridians: { x: number; text: string }[];
  parallels: { y: number; text: string }[];
}

/** Steps of the grid, degrees. */
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30];
/** Smallest height and width shown, degrees: boats in one harbour do not fill the whole plot. */
const MIN_SPAN = 0.04;
const MARGIN = 1.2;
/** Height of the plot in units of its width. */
export const MAP_HEIGHT = 0.5;
const LINES = 5;

/**
 * Puts all boats on one plot, north up. Boats on both sides of the date line are shown side by side. Undefined without a boat.
 */
export function fleetMap(places: readonly Place[]): FleetMap | undefined {
  const [first] = places;
  if (!first) return undefined;
  // Relative to one boat, longitudes have no jump at the date line.
  const east = places.map(({ longitude }) => wrapped(longitude - first.longitude));
  const north = places.map(({ latitude }) => latitude);
  const [west, eastern] = [Math.min(...east), Math.max(...east)];
  const [south, northern] = [Math.min(...north), Math.max(...north)];
  const middle = { east: (west + eastern) / 2, north: (south + northern) / 2 };
  const shrink = Math.max(0.1, Math.cos(middle.north * Math.PI / 180));
  const span = MARGIN * Math.max(MIN_SPAN, (eastern - west) * shrink, (northern - south) / MAP_HEIGHT);
  const x = (degrees: number) => 0.5 + (degrees - middle.east) * shrink / span;
  const y = (degrees: number) => MAP_HEIGHT / 2 - (degrees - middle.north) / span;
  const step = STEPS.find((each) => span / shrink / each <= LINES) ?? 30;
  const lines = (from: number, to: number) => {
    const count = Math.floor(to / step) - Math.ceil(from / step) + 1;
    return Array.from({ length: Math.max(0, count) }, (_, index) => (Math.ceil(from / step) + index) * step);
  };
  const [left, half] = [first.longitude + middle.east - span / shrink / 2, span * MAP_HEIGHT / 2];
  return {
    places: places.map(({ id }, index) => ({ id, x: x(east[index] ?? 0), y: y(north[index] ?? 0) })),
    step,
    meridians: lines(left, left + span / shrink)
      .map((degrees) => ({ x: x(degrees - first.longitude), text: degreesText(wrapped(degrees), "E", "W") })),
    parallels: lines(middle.north - half, middle.north + half)
      .map((degrees) => ({ y: y(degrees), text: degreesText(degrees, "N", "S") })),
  };
}

function wrapped(degrees: number): number {
  return ((degrees + 540) % 360 + 360) % 360 - 180;
}

function degreesText(degrees: number, positive: string, negative: string): string {
  const rounded = Math.round(Math.abs(degrees) * 100) / 100;
  return `${rounded}°${rounded === 0 ? "" : degrees > 0 ? positive : negative}`;
}
