import { createParser } from "eventsource-parser";
import type { Frame } from "../../src/frame/mod.ts";
import { eventually } from "./eventually.ts";

/** An event that has a name: `dropped`, `device`, `error`. */
export interface NamedEvent {
  name: string;
  data: unknown;
}

/** How an event stream is read. */
export interface SseClientOptions {
  /** Called for each frame. */
  onFrame?: (frame: Frame, text: string) => void;
  /** Keep frames, events and comments in lists; default true. Turn off in benches. */
  keep?: boolean;
}

/** A client of an event stream, over fetch. */
export class SseClient implements AsyncDisposable {
  readonly response: Response;
  /** Frames in the order of their coming. */
  readonly frames: Frame[] = [];
  /** The same frames as texts. */
  readonly texts: string[] = [];
  /** Events with a name. */
  readonly events: NamedEvent[] = [];
  readonly comments: string[] = [];
  readonly #abort: AbortController;
  readonly #done: Promise<void>;
  #ended = false;
  #paused: PromiseWithResolvers<void> | undefined;

  private constructor(response: Response, abort: AbortController, options: SseClientOptions) {
    this.response = response;
    this.#abort = abort;
    this.#done = this.#read(options).catch(() => {}).finally(() => this.#ended = true);
  }

  /** Opens the stream; resolves when the head of the reply is here. */
  static async open(url: string | URL, options: SseClientOptions = {}): Promise<SseClient> {
    const abort = new AbortController();
    const response = await fetch(url, { signal: abort.signal });
    if (response.ok) return new SseClient(response, abort, options);
    throw new Error(`Cannot open ${url}: ${response.status} ${await response.text()}`);
  }

  /** True when the stream is over, whoever ended it. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Frames lost by the server's own account. */
  get dropped(): { from_seq: number; to_seq: number; count: number }[] {
    return this.named("dropped");
  }

  /** Data of the events of one name. */
  named<T>(name: string): T[] {
    return this.events.filter((event) => event.name === name).map(({ data }) => data as T);
  }

  /** Waits for so many frames, and gives them all. */
  async atLeast(count: number): Promise<Frame[]> {
    await eventually(`${count} frames`, () => this.frames.length >= count);
    return this.frames;
  }

  /** Reads no more until {@linkcode SseClient.resume}. */
  pause(): void {
    this.#paused ??= Promise.withResolvers();
  }

  /** Reads on. */
  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
  }

  /** Leaves. */
  async close(): Promise<void> {
    this.#abort.abort();
    this.resume();
    await this.#done;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #read({ onFrame, keep = true }: SseClientOptions): Promise<void> {
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event !== undefined) {
          this.events.push({ name: event, data: JSON.parse(data) });
          return;
        }
        const frame: Frame = JSON.parse(data);
        if (keep) {
          this.frames.push(frame);
          this.texts.push(data);
        }
        onFrame?.(frame, data);
      },
      onComment: (comment) => this.comments.push(comment),
    });
    const decoder = new TextDecoder();
    for await (const bytes of this.response.body ?? []) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      await this.#paused?.promise;
    }
  }
}
