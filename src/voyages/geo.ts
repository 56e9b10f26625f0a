/** A geographic position, degrees. */
export interface Position {
  /** Positive to the north. */
  latitude: number;
  /** Positive to the east. */
  longitude: number;
}

/** Mean radius of the earth, metres (IUGG). */
const EARTH_RADIUS_M = 6_371_008.8;
const RADIANS = Math.PI / 180;

/** Great circle distance, metres. */
export function distanceM(a: Position, b: Position): number {
  const halfLatitude = (b.latitude - a.latitude) * RADIANS / 2;
  const halfLongitude = (b.longitude - a.longitude) * RADIANS / 2;
  const chord = Math.sin(halfLatitude) ** 2 +
    Math.cos(a.latitude * RADIANS) * Math.cos(b.latitude * RADIANS) * Math.sin(halfLongitude) ** 2;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/** Offset of `to` from `from`, metres to the east and to the north: for some kilometres. */
export function offsetM(from: Position, to: Position): { x: number; y: number } {
  let east = to.longitude - from.longitude;
  if (east > 180) east -= 360;
  else if (east < -180) east += 360;
  return {
    x: east * RADIANS * EARTH_RADIUS_M * Math.cos(from.latitude * RADIANS),
    y: (to.latitude - from.latitude) * RADIANS * EARTH_RADIUS_M,
  };
}

/** Mean length of a degree of latitude, metres. */
const DEGREE_M = EARTH_RADIUS_M * RADIANS;
/** At the poles a degree of longitude has no length. */
const MIN_COSINE = 1e-6;

/** The position at an offset, metres to the east and to the north: the inverse of {@linkcode offsetM}. */
export function moved({ latitude, longitude }: Position, { x, y }: { x: number; y: number }): Position {
  const east = longitude + x / (DEGREE_M * Math.max(MIN_COSINE, Math.cos(latitude * RADIANS)));
  return { latitude: latitude + y / DEGREE_M, longitude: east > 180 ? east - 360 : east < -180 ? east + 360 : east };
}

const DIAGONAL = Math.SQRT1_2;

/** How far points are apart, at most: their widths in four directions, which is accurate to 8 %. */
export class Extent {
  #west = Infinity;
  #east = -Infinity;
  #south = Infinity;
  #north = -Infinity;
  #southwest = Infinity;
  #northeast = -Infinity;
  #northwest = Infinity;
  #southeast = -Infinity;

  /** Adds a point, metres. */
  add(x: number, y: number): void {
    this.#west = Math.min(this.#west, x);
    this.#east = Math.max(this.#east, x);
    this.#south = Math.min(this.#south, y);
    this.#north = Math.max(this.#north, y);
    const [sum, difference] = [(x + y) * DIAGONAL, (x - y) * DIAGONAL];
    this.#southwest = Math.min(this.#southwest, sum);
    this.#northeast = Math.max(this.#northeast, sum);
    this.#northwest = Math.min(this.#northwest, difference);
    this.#southeast = Math.max(this.#southeast, difference);
  }

  /** The largest width with another point, metres. */
  widthWith(x: number, y: number): number {
    const [sum, difference] = [(x + y) * DIAGONAL, (x - y) * DIAGONAL];
    return Math.max(
      Math.max(this.#east, x) - Math.min(this.#west, x),
      Math.max(this.#north, y) - Math.min(this.#south, y),
      Math.max(this.#northeast, sum) - Math.min(this.#southwest, sum),
      Math.max(this.#southeast, difference) - Math.min(this.#northwest, difference),
    );
  }
}

/** How much directions differ. */
export class Directions {
  #cos = 0;
  #sin = 0;
  #count = 0;

  /** Number of directions. */
  get count(): number {
    return this.#count;
  }

  /** Adds a direction, radians. */
  add(radians: number): void {
    this.#cos += Math.cos(radians);
    this.#sin += Math.sin(radians);
    this.#count++;
  }

  /** Their standard deviation, radians; Infinity if they cancel out. */
  get deviation(): number {
    const length = Math.min(1, Math.hypot(this.#cos, this.#sin) / this.#count);
    return length > 0 ? Math.sqrt(-2 * Math.log(length)) : Infinity;
  }
}
