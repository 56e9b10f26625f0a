import { type Clock, errorText, type Logger, pause } from "../../base/mod.ts";
import type { Instance } from "../instance/instance.ts";
import { readBlockFile } from "./stored_files.ts";

/** How files are checked. */
export interface ScrubOptions {
  /** The boats that there are now; asked at the beginning of each pass. */
  instances: Iterable<Instance>;
  /** Bytes a second that are read on average; 0: nothing is checked. May change while it runs. */
  bytesPerSecond: () => number;
  /** From the beginning of a pass to that of the next, milliseconds at least; default an hour. */
  passEveryMs?: number;
  clock: Clock;
  log: Logger;
}

const PASS_EVERY_MS = 3_600_000;
/** While nothing is to be checked, the setting is looked at so often. */
const LOOK_EVERY_MS = 1000;

/**
 * Reads the files of all boats again, one after the other and slowly, so that a damaged disk is found while the boats still
 * have the frames. It changes no file.
 */
export class Scrub {
  readonly #options: ScrubOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  /** Reads nothing yet. */
  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  /** Begins the first pass. */
  start(): void {
    this.#running = this.#run().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) {
        this.#options.log.error("files are not checked any more", { error: errorText(error) });
      }
    });
  }

  /** Ends it; resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Checks all files of all boats once. */
  async pass(): Promise<void> {
    const { log, instances } = this.#options;
    for (const instance of [...instances]) {
      try {
        await this.#check(instance);
      } catch (error) {
        this.#stop.signal.throwIfAborted();
        log.warn("files of a boat cannot be checked", { id: instance.id, error: errorText(error) });
      }
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, bytesPerSecond, passEveryMs = PASS_EVERY_MS } = this.#options;
    for (;;) {
      while (bytesPerSecond() === 0) await pause(LOOK_EVERY_MS, signal);
      const sinceMs = clock.monoMs();
      await this.pass();
      const restMs = sinceMs + passEveryMs - clock.monoMs();
      if (restMs > 0) await pause(restMs, signal);
    }
  }

  async #check(instance: Instance): Promise<void> {
    const { clock, log } = this.#options;
    const { id, record } = instance;
    // Nothing has come of it yet.
    if (record.epoch === undefined) return;
    const files = await instance.withFiles((stored) => stored.list());
    for (const file of files) {
      const read = await readBlockFile(file.path, { pace: (bytes) => this.#pace(bytes) });
      // The next look at the directory tells of a file that is gone.
      if (!read) continue;
      if (read.damaged > 0) log.error("journal file is damaged", { id, file: file.name, blocks: read.damaged });
      await instance.withFiles((stored) => stored.compare(file, read));
    }
    await instance.withFiles(async (stored) => {
      await stored.findMissing();
      stored.decide();
    });
    record.checked(Math.floor(clock.wallUs() / 1000));
  }

  /** Waits as long as these bytes may take. */
  #pace(bytes: number): Promise<void> {
    const rate = this.#options.bytesPerSecond();
    return pause(rate === 0 ? 0 : bytes / rate * 1000, this.#stop.signal);
  }
}
