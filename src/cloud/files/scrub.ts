import { type Clock, errorText, type Logger, pause } from "../../base/mod.ts";
import type { Instance } from "../instance/instance.ts";
import { readBlockFile } from "./stored_files.ts";

/** Options of {@linkcode Scrub}. */
export interface ScrubOptions {
  /** Read at the beginning of each pass. */
  instances: Iterable<Instance>;
  /** Average bytes to read a second; 0: no checks. May change while running. */
  bytesPerSecond: () => number;
  clock: Clock;
  log: Logger;
}

/** Minimum interval between the starts of two passes. */
const PASS_EVERY_MS = 3_600_000;
/** While checks are off, the setting is read at this interval. */
const POLL_EVERY_MS = 1000;

/**
 * Reads the files of all boats again, one after the other and slowly, so that disk damage is found while the boats still
 * have the frames. Changes no file.
 */
export class Scrub {
  readonly #options: ScrubOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  /** Starts the first pass. */
  start(): void {
    this.#running = this.#run().catch((error: unknown) => {
      if (!this.#stop.signal.aborted) {
        this.#options.log.error("file checks stopped", { error: errorText(error) });
      }
    });
  }

  /** Stops; resolves when no file is being read. */
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
        log.warn("boat files not checked", { id: instance.id, error: errorText(error) });
      }
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, bytesPerSecond } = this.#options;
    for (;;) {
      while (bytesPerSecond() === 0) await pause(POLL_EVERY_MS, signal);
      const sinceMs = clock.monoMs();
      await this.pass();
      const restMs = sinceMs + PASS_EVERY_MS - clock.monoMs();
      if (restMs > 0) await pause(restMs, signal);
    }
  }

  async #check(instance: Instance): Promise<void> {
    const { clock, log } = this.#options;
    const { id, record } = instance;
    // Nothing was received yet, or everything is in the object store.
    if (record.epoch === undefined || !instance.hasUnstored) return;
    const files = await instance.withFiles((stored) => stored.list());
    for (const file of files) {
      const read = await readBlockFile(file.path, { pace: (bytes) => this.#pace(bytes) });
      // `findMissing` reports a file that has disappeared.
      if (!read) continue;
      if (read.damaged > 0) log.error("journal file damaged", { id, file: file.name, blocks: read.damaged });
      await instance.withFiles((stored) => stored.compare(file, read));
    }
    await instance.withFiles(async (stored) => {
      await stored.findMissing();
      stored.findUnheld();
    });
    record.checkedMs = Math.floor(clock.wallUs() / 1000);
  }

  /** Waits to keep the average rate. */
  #pace(bytes: number): Promise<void> {
    const rate = this.#options.bytesPerSecond();
    return pause(rate === 0 ? 0 : bytes / rate * 1000, this.#stop.signal);
  }
}
