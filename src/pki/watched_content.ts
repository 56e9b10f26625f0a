import { errorText } from "../base/mod.ts";

/** Options of {@linkcode WatchedContent}. */
export interface WatchedContentOptions<T> {
  /** Reads the files. Returns `before` itself if they are unchanged; throws if they are invalid. */
  read: (before: T, options: { wasInvalid: boolean }) => Promise<T>;
  /** Interval of checks, milliseconds. */
  intervalMs: number;
  /** Logs a change. */
  onReplaced: (content: T) => void;
  /** Logs why the files are invalid; called once per reason. */
  onRefused: (error: string) => void;
  /** Called after each check. */
  onChecked?: () => void;
}

/** Content of files, reloaded when they change. Invalid files leave the previous content in use. */
export class WatchedContent<T> {
  readonly #options: WatchedContentOptions<T>;
  readonly #listeners = new Set<() => void>();
  #content: T;
  #fault: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param content the valid content at the start */
  constructor(content: T, options: WatchedContentOptions<T>) {
    this.#content = content;
    this.#options = options;
  }

  /** The newest valid content. */
  get content(): T {
    return this.#content;
  }

  /** Why the current files are invalid; undefined if they are valid. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Calls `onChange` after each change. The first call starts checking the files. Returns the unsubscribe function. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#timer ??= setInterval(() => void this.check(), this.#options.intervalMs);
    return () => void this.#listeners.delete(onChange);
  }

  /** Checks the files now. Never rejects. */
  async check(): Promise<void> {
    const { read, onReplaced, onRefused, onChecked } = this.#options;
    try {
      const content = await read(this.#content, { wasInvalid: this.#fault !== undefined });
      this.#fault = undefined;
      if (content !== this.#content) {
        this.#content = content;
        onReplaced(content);
        for (const listener of [...this.#listeners]) listener();
      }
    } catch (error) {
      const fault = errorText(error);
      if (fault !== this.#fault) onRefused(fault);
      this.#fault = fault;
    }
    onChecked?.();
  }

  /** Stops checking the files. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
