import {
  type BeginFile,
  type ExportFormat,
  MESSAGES,
  type MessageWriter,
  type Origins,
  PgnFiles,
  tableOf,
} from "@vessel/gateway/export";
import type { StoredFrame } from "@vessel/gateway/frame";
import type { Output } from "../../program/terminal.ts";
import type { OutputFiles } from "./output_files.ts";

/** Bytes that are written at a time. */
const CHUNK_BYTES = 262_144;
/** The same for each of several files. */
const SHARED_CHUNK_BYTES = 65_536;

/** Where messages go. */
export interface Target {
  /** Adds a message. A returned promise must be awaited before the next one. */
  add(frame: StoredFrame): Promise<void> | void;
  originsChanged(): void;
  /** Writes the rest, and gives files their names. Returns the files, each with the number of its messages. */
  finish(): Promise<TargetFile[]>;
  /** After an error: removes what was written. */
  abandon(): Promise<void>;
}

/** A file that was written. */
export interface TargetFile {
  /** Name in the directory; undefined: standard output. */
  name: string | undefined;
  messages: number;
}

/** The format and what its files need. */
export interface TargetParts {
  format: ExportFormat;
  begin: BeginFile;
  origins: Origins;
}

/** One file, or standard output. */
export class SingleTarget implements Target {
  readonly #writer: MessageWriter;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #files: { files: OutputFiles; name: string } | undefined;
  #messages = 0;

  private constructor(writer: MessageWriter, to: Output | { files: OutputFiles; name: string }) {
    this.#writer = writer;
    this.#files = "files" in to ? to : undefined;
    this.#write = "files" in to ? (bytes) => to.files.append(to.name, bytes) : (bytes) => to.writeBytes(bytes);
  }

  /**
   * Begins it. Of a single PGN its fields are columns.
   *
   * @throws {SettingsError} the file exists
   * @throws {FileError} it cannot be written
   */
  static async open(
    to: Output | { files: OutputFiles; name: string },
    { begin, origins, pgns }: TargetParts & { pgns: readonly number[] },
  ): Promise<SingleTarget> {
    const [pgn, ...others] = pgns;
    const table = pgn === undefined || others.length > 0 ? MESSAGES : tableOf(pgn);
    if ("files" in to) await to.files.begin(to.name);
    return new SingleTarget(begin(origins, table), to);
  }

  add(frame: StoredFrame): Promise<void> | void {
    const writer = this.#writer;
    if (writer.add(frame)) this.#messages++;
    if (writer.waitingBytes >= CHUNK_BYTES) return this.#write(writer.take());
  }

  originsChanged(): void {
    this.#writer.originsChanged();
  }

  async finish(): Promise<TargetFile[]> {
    for (const bytes of this.#writer.end()) await this.#write(bytes);
    await this.#files?.files.finish();
    return [{ name: this.#files?.name, messages: this.#messages }];
  }

  async abandon(): Promise<void> {
    await this.#files?.files.abandon();
  }
}

/** A directory with a file for each PGN. */
export class DirectoryTarget implements Target {
  readonly #pgns: PgnFiles;
  readonly #files: OutputFiles;
  readonly #ending: string;
  readonly #begun = new Set<string>();

  constructor(files: OutputFiles, { format, begin, origins }: TargetParts) {
    this.#files = files;
    this.#pgns = new PgnFiles(begin, { origins });
    [this.#ending] = format.endings;
  }

  add(frame: StoredFrame): Promise<void> | void {
    const { name, writer } = this.#pgns.add(frame);
    if (!this.#begun.has(name)) return this.#begin(name);
    if (writer.waitingBytes >= SHARED_CHUNK_BYTES) return this.#files.append(name + this.#ending, writer.take());
  }

  originsChanged(): void {
    this.#pgns.originsChanged();
  }

  async finish(): Promise<TargetFile[]> {
    const files: TargetFile[] = [];
    for (const { name: base, writer, messages } of this.#pgns.all) {
      const name = base + this.#ending;
      for (const bytes of writer.end()) await this.#files.append(name, bytes);
      files.push({ name, messages });
    }
    await this.#files.finish();
    return files;
  }

  async abandon(): Promise<void> {
    await this.#files.abandon();
  }

  async #begin(name: string): Promise<void> {
    await this.#files.begin(name + this.#ending);
    this.#begun.add(name);
  }
}
