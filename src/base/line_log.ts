import { crc32 } from "node:zlib";
import { readBounded, replaceFile, type TargetFile, writeAll } from "./atomic_file.ts";
import { FileError } from "./file_error.ts";
import { turn } from "./clock.ts";

/** Default size above which a file is not read. */
const DEFAULT_MAX_BYTES = 64 * 1024 * 1024;
/** Only the owner can read the file. */
const DEFAULT_MODE = 0o600;
/** Digits of a line's checksum. */
const CRC_DIGITS = 8;
/** Characters written at once, about, so that the event loop is not blocked. */
const PIECE_CHARACTERS = 64 * 1024;

/** Content of a line log. */
export interface LogLines {
  /** Values in the order of writing. */
  values: unknown[];
  /** Number of torn or damaged lines, which were skipped. */
  damaged: number;
}

/**
 * A file of JSON values, one per line, each after its CRC-32 in hex: `1c291ca3 [17,4711]`. Lines are appended and synced;
 * the caller compacts the file by replacing it. After a crash at any byte the file holds every line of each append
 * that has returned. Reading skips torn and damaged lines.
 *
 * Calls must not overlap.
 */
export class LineLog {
  /** Path of the file. */
  readonly path: string;
  readonly #target: TargetFile;
  readonly #maxBytes: number;
  /** `whole`: the file ends with a complete line, so lines can be appended. */
  #state: { kind: "whole"; bytes: number; compactBytes: number } | { kind: "unknown" } = { kind: "unknown" };

  /**
   * Refers to a file in an existing directory; nothing is read or written yet.
   *
   * @param options.maxBytes larger files are not read, default 64 MiB
   * @param options.mode permissions of the file, default 0600
   */
  constructor(
    directory: string,
    { name, maxBytes = DEFAULT_MAX_BYTES, mode = DEFAULT_MODE }: { name: string; maxBytes?: number; mode?: number },
  ) {
    this.path = `${directory}/${name}`;
    this.#target = { directory, name, mode };
    this.#maxBytes = maxBytes;
  }

  /** Length of the file; undefined when it must be replaced before lines can be appended. */
  get bytes(): number | undefined {
    return this.#state.kind === "whole" ? this.#state.bytes : undefined;
  }

  /** Length after the last replacement, or when the file was read. */
  get compactBytes(): number {
    return this.#state.kind === "whole" ? this.#state.compactBytes : 0;
  }

  /**
   * Reads the whole file; undefined when it does not exist.
   *
   * @throws {FileError} the file exists and cannot be read
   */
  async read(): Promise<LogLines | undefined> {
    const bytes = await readBounded(this.path, this.#maxBytes);
    if (!bytes) return undefined;
    const decoder = new TextDecoder();
    const found: LogLines = { values: [], damaged: 0 };
    let isWhole = true;
    let sliceEndMs = performance.now() + SLICE_MS;
    for (let from = 0, read = 0; from < bytes.length; read++) {
      const end = bytes.indexOf(0x0a, from);
      if (end < 0) isWhole = false;
      const line = bytes.subarray(from, end < 0 ? bytes.length : end);
      const value = end < 0 ? undefined : parseLine(line, decoder);
      if (value) found.values.push(value.json);
      else found.damaged++;
      from += line.length + 1;
      if (read % LINES_A_CHECK !== 0 || performance.now() < sliceEndMs) continue;
      await turn();
      sliceEndMs = performance.now() + SLICE_MS;
    }
    if (isWhole) this.#state = { kind: "whole", bytes: bytes.length, compactBytes: bytes.length };
    return found;
  }

  /**
   * Appends lines. Resolves when they are synced to disk.
   *
   * @throws {FileError} `content` is unknown: the file must be replaced before lines can be appended
   */
  async append(values: Iterable<unknown>): Promise<void> {
    const { bytes, compactBytes, path } = this;
    if (bytes === undefined) {
      throw new FileError("append to", { path, cause: "the end of the file is unknown", content: "unknown" });
    }
    this.#state = { kind: "unknown" };
    try {
      using file = await Deno.open(path, { append: true });
      const { size } = await file.stat();
      if (size !== bytes) throw new RangeError(`it has ${size} bytes instead of ${bytes}`);
      const added = await writeLines(file, values);
      await file.syncData();
      this.#state = { kind: "whole", bytes: bytes + added, compactBytes };
    } catch (cause) {
      throw new FileError("append to", { path, cause, content: "unknown" });
    }
  }

  /**
   * Replaces all lines. Resolves when they are synced to disk; until then the file holds the old ones.
   *
   * @throws {FileError} the new lines may not be on disk
   */
  async replace(values: Iterable<unknown>): Promise<void> {
    this.#state = { kind: "unknown" };
    const bytes = await replaceFile(this.#target, (file) => writeLines(file, values));
    this.#state = { kind: "whole", bytes, compactBytes: bytes };
  }
}

/** Time after which other work gets its turn, milliseconds, and lines after which it is checked: a line can be long. */
const SLICE_MS = 4;
const LINES_A_CHECK = 16;
const encoder = new TextEncoder();

function parseLine(line: Uint8Array, decoder: TextDecoder): { json: unknown } | undefined {
  const body = line.subarray(CRC_DIGITS + 1);
  if (line.length <= CRC_DIGITS || decoder.decode(line.subarray(0, CRC_DIGITS)) !== crcText(body)) return undefined;
  try {
    return { json: JSON.parse(decoder.decode(body)) };
  } catch {
    return undefined;
  }
}

function crcText(body: Uint8Array | string): string {
  return crc32(body).toString(16).padStart(CRC_DIGITS, "0");
}

/** Writes lines in pieces, to bound the memory. Returns the number of bytes. */
async function writeLines(file: Deno.FsFile, values: Iterable<unknown>): Promise<number> {
  let total = 0;
  let piece = "";
  const flush = async () => {
    const bytes = encoder.encode(piece);
    piece = "";
    await writeAll(file, bytes);
    total += bytes.length;
  };
  for (const value of values) {
    const json = JSON.stringify(value);
    piece += `${crcText(json)} ${json}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    await flush();
    await turn();
  }
  if (piece !== "") await flush();
  return total;
}
