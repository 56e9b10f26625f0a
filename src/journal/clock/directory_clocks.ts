import { dirname, join, normalize } from "node:path";
import type { Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import { readClockSpans } from "./clock_file.ts";
import type { ClockSpans } from "./clock_spans.ts";

/** Corrections of the times of journal files, which are in the directory of each file. */
export class DirectoryClocks {
  readonly #byDirectory = new Map<string, ClockSpans>();

  /** True if no time is corrected. */
  get isEmpty(): boolean {
    return [...this.#byDirectory.values()].every(({ all }) => all.length === 0);
  }

  /** Reads the corrections of a directory. What cannot be read is a line in the log. */
  async add(directory: string, { log }: { log: Logger }): Promise<void> {
    const name = directoryOf(join(directory, "file"));
    if (this.#byDirectory.has(name)) return;
    this.#byDirectory.set(name, await readClockSpans(directory, { log }));
  }

  /** The block of a file with its times as corrected. */
  corrected(block: Block, { path, epochWord }: { path: string; epochWord: number }): Block {
    return this.#byDirectory.get(directoryOf(path))?.timed(block, epochWord) ?? block;
  }
}

function directoryOf(path: string): string {
  return dirname(normalize(path));
}
