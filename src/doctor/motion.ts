import type { Context, Sample, Track } from "./model.ts";
import { angleBetween, newest } from "./values.ts";

/** Values that show that the boat moves or turns. */
const MOTION_KEYS: ReadonlySet<string> = new Set([
  "sog",
  "cog.true",
  "cog.magnetic",
  "rate_of_turn",
  "heading.true",
  "heading.magnetic",
]);
/** A value counts while it is not older, milliseconds. */
const FRESH_MS = 5000;

/** How the boat has moved since a time, by what any of its devices say. */
export class Motion {
  readonly #tracks: Track[];
  readonly #nowMs: number;

  constructor({ buses, nowMs }: Context) {
    this.#nowMs = nowMs;
    this.#tracks = buses.flatMap((bus) =>
      [...bus.all()].flatMap(({ tracks }) => [...MOTION_KEYS].flatMap((key) => tracks.get(key) ?? []))
    ).filter((track) => nowMs - (newest(track)?.atMs ?? -Infinity) <= FRESH_MS);
  }

  /** Distance sailed since a time, metres: the shortest that a device says; 0 without any. */
  movedM(sinceMs: number): number {
    const distances = this.#of("sog").map((track) => integrated(since(track, sinceMs), Math.abs));
    return distances.length === 0 ? 0 : Math.min(...distances);
  }

  /** Lowest speed over ground since a time, metres a second. */
  slowestMps(sinceMs: number): number {
    const speeds = this.#of("sog").flatMap((track) => since(track, sinceMs).map(({ value }) => Number(value)));
    return speeds.length === 0 ? 0 : Math.min(...speeds);
  }

  /** How far the boat has turned since a time, radians: the largest angle that a device says, other than one track. */
  turnedRad(sinceMs: number, except: Track): number {
    const others = this.#tracks.filter((track) => track !== except && track.key.startsWith("heading"));
    const angles = others.map((track) => spread(since(track, sinceMs)));
    const turns = this.#of("rate_of_turn").map((track) => yaw(since(track, sinceMs)));
    // Course over ground is noise while the boat lies.
    const courses = this.slowestMps(sinceMs) < 1
      ? []
      : this.#of("cog").map((track) => spread(since(track, sinceMs)) / 4);
    return Math.max(0, ...angles, ...turns, ...courses);
  }

  #of(key: string): Track[] {
    return this.#tracks.filter((track) => track.key === key || track.key.startsWith(`${key}.`));
  }
}

function since({ samples }: Track, sinceMs: number): Sample[] {
  return samples.filter(({ atMs }) => atMs >= sinceMs);
}

/** Integral of a rate over time. */
function integrated(samples: readonly Sample[], of: (value: number) => number): number {
  return samples.reduce((sum, { value, atMs }, index) => {
    const before = samples[index - 1];
    return before ? sum + of(Number(value)) * (atMs - before.atMs) / 1000 : 0;
  }, 0);
}

/** How far rates of turn swing the heading, without their average: gyros have a bias. */
function yaw(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.atMs <= first.atMs) return 0;
  const bias = integrated(samples, (rate) => rate) * 1000 / (last.atMs - first.atMs);
  let [angle, least, most] = [0, 0, 0];
  for (const [index, { value, atMs }] of samples.entries()) {
    const before = samples[index - 1];
    if (!before) continue;
    angle += (Number(value) - bias) * (atMs - before.atMs) / 1000;
    least = Math.min(least, angle);
    most = Math.max(most, angle);
  }
  return most - least;
}

/** Largest angle between the first sample and another. */
function spread(samples: readonly Sample[]): number {
  const first = samples[0];
  if (!first) return 0;
  return Math.max(...samples.map(({ value }) => angleBetween(Number(value), Number(first.value))));
}
