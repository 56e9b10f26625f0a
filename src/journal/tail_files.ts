import type { Message } from "../frame/mod.ts";
import { readTail, type Tail, TailBuffer, type TailHeader } from "./tail.ts";

/** Names of the two tails, beside the journal's files. */
export const TAIL_NAMES = ["tail-a", "tail-b"] as const;

const EMPTY = new Uint8Array(0);

/** One tail file and what waits to be written to it. */
class TailFile {
  readonly #path: string;
  readonly #buffer = new TailBuffer();
  #file: Deno.FsFile | undefined;
  /** Counts the blocks that this file began with; a write that outlives its block changes nothing. */
  #generation = 0;
  /** Taken from the buffer and not known to be on disk: written again, at the same place, after an error. */
  #unsynced: Uint8Array = EMPTY;
  /** Bytes of this block that are on disk. */
  #synced = 0;
  #lastSeq = 0;
  #durableSeq = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get durableSeq(): number {
    return this.#durableSeq;
  }

  begin(header: TailHeader, opening: unknown): void {
    this.#buffer.begin(header);
    this.#buffer.addOpening(opening);
    this.#generation++;
    this.#unsynced = EMPTY;
    this.#synced = 0;
    this.#lastSeq = header.firstSeq - 1;
    this.#durableSeq = this.#lastSeq;
  }

  add(seq: number, message: Message): void {
    this.#buffer.addFrame(message);
    this.#lastSeq = seq;
  }

  /** Writes and syncs what waits. */
  async flush(): Promise<void> {
    const taken = this.#buffer.take();
    const bytes = new Uint8Array(this.#unsynced.length + taken.length);
    bytes.set(this.#unsynced);
    bytes.set(taken, this.#unsynced.length);
    this.#unsynced = bytes;
    if (bytes.length === 0) return;
    const { generation, place, lastSeq } = {
      generation: this.#generation,
      place: this.#synced,
      lastSeq: this.#lastSeq,
    };
    this.#file ??= await Deno.open(this.#path, { write: true, create: true, mode: 0o644 });
    if (place === 0) await this.#file.truncate(0);
    await this.#file.seek(place, Deno.SeekMode.Start);
    for (let done = 0; done < bytes.length;) done += await this.#file.write(bytes.subarray(done));
    await this.#file.syncData();
    if (generation !== this.#generation) return;
    this.#unsynced = EMPTY;
    this.#synced = place + bytes.length;
    this.#durableSeq = lastSeq;
  }

  /** Closes the file; the next flush opens it again. */
  close(): void {
    try {
      this.#file?.close();
    } catch {
      // Closed by the system already.
    }
    this.#file = undefined;
  }
}

/**
 * The two tails: while the frames of one block wait in the journal's memory to be written, those of the next go to the
 * other tail, so that neither is overwritten before its block is safe.
 */
export class TailFiles {
  readonly #files: readonly [TailFile, TailFile];
  #current = 0;

  constructor(directory: string) {
    const [first, second] = TAIL_NAMES;
    this.#files = [new TailFile(`${directory}/${first}`), new TailFile(`${directory}/${second}`)];
  }

  get #tail(): TailFile {
    return this.#files[this.#current] ?? this.#files[0];
  }

  /** Last frame of the open block that a power cut leaves; before its first one when there is none. */
  get durableSeq(): number {
    return this.#tail.durableSeq;
  }

  /** Begins the tail of a block, in the file that the block before did not use. */
  begin(header: TailHeader, opening: unknown): void {
    this.#current = 1 - this.#current;
    this.#tail.begin(header, opening);
  }

  /** Takes a frame of the open block; it is safe after the next flush. */
  add(seq: number, message: Message): void {
    this.#tail.add(seq, message);
  }

  /** Writes and syncs what waits. */
  async flush(): Promise<void> {
    await this.#tail.flush();
  }

  /** Closes both files; flushing opens them again. */
  close(): void {
    for (const file of this.#files) file.close();
  }
}

/** Reads the tails of a directory, the older one first. */
export async function readTails(directory: string): Promise<Tail[]> {
  const tails: Tail[] = [];
  for (const name of TAIL_NAMES) {
    const bytes = await Deno.readFile(`${directory}/${name}`).catch((error) => {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    });
    const tail = bytes && readTail(bytes);
    if (tail) tails.push(tail);
  }
  return tails.sort((one, other) => one.firstSeq - other.firstSeq);
}

/** Removes the tails: all their frames are in blocks. */
export async function removeTails(directory: string): Promise<void> {
  for (const name of TAIL_NAMES) {
    await Deno.remove(`${directory}/${name}`).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}
