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
export class ExpectedFrames {
  readonly #indices = new Map<string, number>();
  readonly #sources = new Set<number>();
  readonly #seen: Uint8Array;
  readonly #report = { found: 0, unrecorded: 0, doubled: 0, disordered: 0, strange: 0, others: 0 };
  #last = -1;

  private constructor(lines: Iterable<string>) {
    for (const line of lines) {
      if (this.#indices.has(line)) throw new TypeError(`The truth has ${line} twice`);
      this.#indices.set(line, this.#indices.size);
      this.#sources.add(parseInt(line.slice(0, 8), 16) & 0xff);
    }
    this.#seen = new Uint8Array(this.#indices.size);
  }

  /** Reads a file of expected frames. Ignores an incomplete last line. */
  static async read(path: string): Promise<ExpectedFrames> {
    const text = await Deno.readTextFile(path);
    return new ExpectedFrames(text.slice(0, text.lastIndexOf("\n") + 1).split("\n").filter((line) => line !== ""));
  }

  /** Adds the next frame held. */
  add({ id, data, offset, length }: StoredFrame): void {
    const report = this.#report;
    const index = this.#indices.get(expectedLine(id, data.subarray(offset, offset + length)));
    if (index === undefined) {
      if (this.#sources.has(sourceOfId(id))) report.strange++;
      else report.others++;
      return;
    }
    if (this.#seen[index] === 1) report.doubled++;
    else {
      this.#seen[index] = 1;
      report.found++;
      if (index < this.#last) report.disordered++;
    }
    this.#last = Math.max(this.#last, index);
  }

  /** Result so far. */
  report(): ExpectedReport {
    return { ...this.#report, unrecorded: this.#indices.size - this.#report.found };
  }
}
