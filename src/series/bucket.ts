import type { DecodedValue } from "../pgn/mod.ts";
import type { SeriesField } from "./fields.ts";

/** Length of the mean vector below which angles cancel out and have no average. */
const MIN_MEAN_VECTOR = 1e-9;

/** The values of a field in one span of time. Numbers use `min`, `max` and `sum`; angles `min`, `max`, `cos` and `sin`. */
export class Bucket {
  /** Number of values. */
  count = 0;
  min = Infinity;
  max = -Infinity;
  sum = 0;
  /** Sums of the unit vectors of angles. */
  cos = 0;
  sin = 0;
  /** The value with the latest time; if several have this time, the one that was recorded last. */
  last: DecodedValue = null;
  /** Its time, microseconds since 1970. */
  lastUs = -Infinity;

  /** Adds a value of a field, which must be a number if the field is a number or an angle. */
  add(value: DecodedValue, { kind, turn }: SeriesField, timeUs: number): void {
    if (kind !== "label" && typeof value === "number") {
      if (value < this.min) this.min = value;
      if (value > this.max) this.max = value;
      if (kind === "number") this.sum += value;
      else {
        const radians = value * (2 * Math.PI / turn);
        this.cos += Math.cos(radians);
        this.sin += Math.sin(radians);
      }
    }
    this.count++;
    if (timeUs >= this.lastUs) {
      this.last = value;
      this.lastUs = timeUs;
    }
  }

  /** Adds the values of another bucket, which were recorded after these. */
  merge(other: Readonly<Bucket>): void {
    this.count += other.count;
    this.min = Math.min(this.min, other.min);
    this.max = Math.max(this.max, other.max);
    this.sum += other.sum;
    this.cos += other.cos;
    this.sin += other.sin;
    if (other.lastUs >= this.lastUs) {
      this.last = other.last;
      this.lastUs = other.lastUs;
    }
  }
}

/** Average of a bucket; null for labels, and for angles that cancel out. */
export function averageOf({ count, sum, cos, sin }: Bucket, { kind, turn, isSigned }: SeriesField): number | null {
  if (kind === "label") return null;
  if (kind === "number") return sum / count;
  if (Math.hypot(cos, sin) < MIN_MEAN_VECTOR * count) return null;
  const angle = Math.atan2(sin, cos) * (turn / (2 * Math.PI));
  return angle < 0 && !isSigned ? (angle + turn) % turn : angle;
}
