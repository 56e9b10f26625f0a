import { basename } from "node:path";
import { FileError, type Logger, removeIfExists, replaceFile, syncDirectory, writeAll } from "../base/mod.ts";
import {
  compress,
  DEFAULT_BLOCK_BYTES,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  FILE_HEADER_BYTES,
  JOURNAL_DIRECTORY_MODE,
  JOURNAL_EXTENSION,
  JOURNAL_FILE_MODE,
  parseFileName,
  type SealedBlock,
} from "../journal/mod.ts";
import { parseStoredEvent, type StoredEvent } from "./record.ts";

const EVENT_EXTENSION = ".json";
const COMPRESSION = "zstd";

/** An event with the size of its files; 0 bytes: its frames are not written yet. */
export interface ListedEvent {
  event: StoredEvent;
  bytes: number;
}

/**
 * The directory of a black box: for each event a JSON file, written at once, and the journal file of its frames. The JSON
 * file has the figures of the frames before these get their name; so every file with frames is complete, and its figures are
 * known.
 */
export class BoxFiles {
  readonly directory: string;
  readonly #log: Logger;

  private constructor(directory: string, log: Logger) {
    this.directory = directory;
    this.#log = log;
  }

  /** Opens the directory; it is created with the first event. */
  static open(directory: string, { log }: { log: Logger }): BoxFiles {
    return new BoxFiles(directory, log);
  }

  /** All events, oldest first. Removes what a crash has left. @throws {FileError} the directory cannot be read */
  async load(): Promise<ListedEvent[]> {
    const names = new Set<string>();
    try {
      for await (const { name, isFile } of Deno.readDir(this.directory)) if (isFile) names.add(name);
    } catch (cause) {
      if (cause instanceof Deno.errors.NotFound) return [];
      throw new FileError("read the black box", { path: this.directory, cause });
    }
    const events: ListedEvent[] = [];
    for (const name of [...names].sort(byTime)) {
      if (name.endsWith(".tmp") || (isFrames(name) && !names.has(eventFileOf(name)))) await this.#discard(name);
      if (!name.endsWith(EVENT_EXTENSION)) continue;
      const event = await this.#read(name);
      if (event) events.push({ event, bytes: names.has(event.name) ? await this.#bytesOf(event.name) : 0 });
    }
    return events;
  }

  /** Stores an event whose frames are not written yet. @throws {FileError} */
  async store(event: StoredEvent): Promise<void> {
    await Deno.mkdir(this.directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE }).catch((cause: unknown) => {
      throw new FileError("make the black box", { path: this.directory, cause });
    });
    const target = { directory: this.directory, name: eventFileOf(event.name), mode: JOURNAL_FILE_MODE };
    await replaceFile(target, (file) => writeAll(file, new TextEncoder().encode(JSON.stringify(event) + "\n")));
  }

  /** Stores an event and its frames. Returns the size of both. @throws {FileError} */
  async complete(event: StoredEvent, blocks: readonly SealedBlock[]): Promise<number> {
    await this.store(event);
    const target = { directory: this.directory, name: event.name, mode: JOURNAL_FILE_MODE };
    await replaceFile(target, (file) => writeBlocks(file, blocks));
    return await this.#bytesOf(event.name);
  }

  /** Removes an event and its frames. @throws {FileError} */
  async remove({ name }: StoredEvent): Promise<void> {
    try {
      // The frames last: without their event they are removed by the next start.
      await removeIfExists(`${this.directory}/${eventFileOf(name)}`);
      await removeIfExists(`${this.directory}/${name}`);
      await syncDirectory(this.directory);
    } catch (cause) {
      throw new FileError("delete", { path: `${this.directory}/${name}`, cause });
    }
  }

  async #read(name: string): Promise<StoredEvent | undefined> {
    const path = `${this.directory}/${name}`;
    try {
      const event = parseStoredEvent(await Deno.readTextFile(path));
      if (eventFileOf(event.name) === name && isFrames(event.name)) return event;
      throw new TypeError("it has another file's name");
    } catch (error) {
      this.#log.warn("event of the black box not readable", { path, error: String(error) });
      return undefined;
    }
  }

  async #bytesOf(name: string): Promise<number> {
    const sizes = await Promise.all([name, eventFileOf(name)].map((each) => Deno.stat(`${this.directory}/${each}`)));
    return sizes.reduce((sum, { size }) => sum + size, 0);
  }

  async #discard(name: string): Promise<void> {
    await removeIfExists(`${this.directory}/${name}`).catch((error) => {
      this.#log.warn("file of the black box not removed", { name, error: String(error) });
    });
  }
}

function isFrames(name: string): boolean {
  return basename(name) === name && parseFileName(name) !== undefined;
}

function eventFileOf(name: string): string {
  return name.slice(0, -JOURNAL_EXTENSION.length) + EVENT_EXTENSION;
}

/** Names begin with the kind of the event; the rest is its time. */
function byTime(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => name.slice(name.lastIndexOf("-")));
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

async function writeBlocks(file: Deno.FsFile, blocks: readonly SealedBlock[]): Promise<void> {
  const kind = { version: 2, compression: COMPRESSION } as const;
  const epochWord = blocks[0]?.epochWord ?? 0;
  await writeAll(file, encodeFileHeader({ ...kind, blockBytes: DEFAULT_BLOCK_BYTES, epochWord }));
  const offsets: number[] = [];
  let end = FILE_HEADER_BYTES;
  for (const { bytes, firstTimeUs: baseTimeUs, firstSeq: baseSeq } of blocks) {
    const data = compress(bytes, COMPRESSION);
    const head = encodeBlockHeader({ baseTimeUs, baseSeq, dictionaryBytes: 0, dataBytes: data.length }, kind);
    await writeAll(file, head);
    await writeAll(file, data);
    offsets.push(end);
    end += head.length + data.length;
  }
  await writeAll(file, encodeIndex(offsets));
}
