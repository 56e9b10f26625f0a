import { type DurableFile, FileError } from "../../src/base/mod.ts";
import type { Random } from "../support/random.ts";

/** How a write fails: before anything is changed, or after, when nobody knows. */
export type WriteFailure = "untouched" | "unknown";

/**
 * A small file on a disk that can lose power. What is read is `visible`; a power cut leaves what was synced, or anything
 * that was on its way there.
 */
export class FakeDisk implements DurableFile {
  readonly path = "head.json";
  failure: WriteFailure | undefined;
  /** Writes wait until they are let go. */
  held = false;
  writes = 0;
  readonly #random: Random;
  #visible: string | undefined;
  /** What a power cut may leave; one of them. */
  #survivors: (string | undefined)[] = [undefined];
  #waiting: { content: string; go: PromiseWithResolvers<void> } | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  get content(): string | undefined {
    return this.#visible;
  }

  read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return Promise.resolve(this.#visible === undefined ? undefined : new TextEncoder().encode(this.#visible));
  }

  async write(content: Uint8Array | string): Promise<void> {
    const text = String(content);
    if (this.held) {
      const go = Promise.withResolvers<void>();
      this.#waiting = { content: text, go };
      await go.promise;
      this.#waiting = undefined;
    }
    this.writes++;
    const cause = new Error("Read-only file system");
    if (this.failure === "untouched") throw new FileError("write", { path: this.path, cause });
    if (this.failure === "unknown") {
      this.#mayLand(text);
      throw new FileError("write", { path: this.path, cause, content: "unknown" });
    }
    this.put(text);
  }

  /** Lets the writes go that wait. */
  release(): void {
    this.held = false;
    this.#waiting?.go.resolve();
  }

  /** Replaces the content as somebody does who copies a file there. */
  put(content: string | undefined): void {
    this.#visible = content;
    this.#survivors = [content];
  }

  /** The process ends in the middle of whatever it does. Its write may be done all the same, synced or not. */
  kill(): void {
    if (this.#waiting && this.failure !== "untouched" && this.#random.chance(0.5)) this.#mayLand(this.#waiting.content);
    // The promise stays as it is: nobody is there any more to go on.
    this.#waiting = undefined;
    this.held = false;
  }

  /** The power goes, and the process with it. */
  cutPower(): void {
    this.kill();
    this.put(this.#random.pick(this.#survivors));
  }

  #mayLand(content: string): void {
    this.#survivors.push(content);
    if (this.#random.chance(0.5)) this.#visible = content;
  }
}
