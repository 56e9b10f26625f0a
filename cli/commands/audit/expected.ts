import { sourceOfId, type StoredFrame } from "@vessel/gateway/frame";

/** Result of the comparison with the expected frames. */
export interface ExpectedReport {
  /** Expected frames that were found. */
  found: number;
  /** Expected frames that were not found: a boat that was killed had not yet recorded them. */
  unrecorded: number;
  /** Found more than once. */
  doubled: number;
  /** Found after a frame that was sent later. */
  disordered: number;
  /** Not expected, from an address that has expected frames. */
  strange: number;
  /** Not expected, from other addresses. */
  others: number;
}

/** Line of an expected frame: identifier in eight hexadecimal digits, `#`, payload. */
export function expectedLine(id: number, data: Uint8Array): string {
  return `${id.toString(16).padStart(8, "0")}#${data.toHex()}`;
}

/**
 * The frames that were sent on the bus, in order, no two the same: one {@linkcode expectedLine} each. Frames have
 * no numbers there, so their content identifies them.
 */
export class Truth {
  readonly #places = new Map<string, number>();
  readonly #sources = new Set<number>();
  readonly #seen: Uint8Array;
  #last = -1;
  #found = 0;
  #doubled = 0;
  #disordered = 0;
  #strange = 0;
  #others = 0;

  private constructor(lines: Iterable<string>) {
    for (const line of lines) {
      if (this.#places.has(line)) throw new TypeError(`The truth has ${line} twice`);
      this.#places.set(line, this.#places.size);
      this.#sources.add(parseInt(line.slice(0, 8), 16) & 0xff);
    }
    this.#seen = new Uint8Array(this.#places.size);
  }

  /** Reads a file of expected frames. Ignores an incomplete last line. */
  static async read(path: string): Promise<Truth> {
    const text = await Deno.readTextFile(path);
    return new Truth(text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== ""));
  }

  /** Adds the next frame held. */
  see({ id, data, offset, length }: StoredFrame): void {
    const place = this.#places.get(expectedLine(id, data.subarray(offset, offset + length)));
    if (place === undefined) {
      if (this.#sources.has(sourceOfId(id))) this.#strange++;
      else this.#others++;
      return;
    }
    if (this.#seen[place] === 1) this.#doubled++;
    else {
      this.#seen[place] = 1;
      this.#found++;
      if (place < this.#last) this.#disordered++;
    }
    this.#last = Math.max(this.#last, place);
  }

  /** Result so far. */
  report(): ExpectedReport {
    return {
      found: this.#found,
      unrecorded: this.#places.size - this.#found,
      doubled: this.#doubled,
      disordered: this.#disordered,
      strange: this.#strange,
      others: this.#others,
    };
  }
}
