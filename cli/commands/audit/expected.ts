import { sourceOfId, type StoredFrame } from "@vessel/gateway/frame";

/** What a comparison with the truth gave. */
export interface ExpectedReport {
  /** Frames of the truth that were found once. */
  found: number;
  /** Frames of the truth that are nowhere: a boat that was killed had not yet recorded them. */
  unrecorded: number;
  /** Found again. */
  doubled: number;
  /** Found behind one that came later. */
  disordered: number;
  /** From an address of the truth, and not in it. */
  strange: number;
  /** From other addresses. */
  others: number;
}

/** A frame as a line of the truth has it: identifier in eight hexadecimal digits, `#`, payload. */
export function expectedLine(id: number, data: Uint8Array): string {
  return `${id.toString(16).padStart(8, "0")}#${data.toHex()}`;
}

/**
 * What was put on the bus, in order, each frame another one: a line each, as {@linkcode expectedLine} gives it. Frames have
 * no numbers there, so they are told apart by what they are.
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

  /** Reads a file of the truth. A last line that was cut short is left out. */
  static async read(path: string): Promise<Truth> {
    const text = await Deno.readTextFile(path);
    return new Truth(text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== ""));
  }

  /** The next frame that is held. */
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

  /** What was seen so far. */
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
