import type { ClientFrame, Reading, StreamEvent } from "../../src/client/mod.ts";
import { eventually } from "../support/eventually.ts";

type Told<Type extends StreamEvent["type"]> = Extract<StreamEvent, { type: Type }>;

/** Reads a stream of the client in the background. */
export class Reader {
  /** All that has come. */
  readonly events: StreamEvent[] = [];
  /** The frames among it. */
  readonly frames: ClientFrame[] = [];
  /** Settles when the reading has ended, with its error. */
  readonly ended: Promise<void>;
  readonly #events: Reading<StreamEvent>;

  constructor(events: Reading<StreamEvent>) {
    this.#events = events;
    this.ended = this.#read();
    // Whoever expects an end looks at it; a test that waits for something else sees that this does not come.
    this.ended.catch(() => {});
  }

  /** Events of one kind. */
  told<Type extends StreamEvent["type"]>(type: Type): Told<Type>[] {
    return this.events.filter((event): event is Told<Type> => event.type === type);
  }

  /** Waits for so many frames, and gives them all. */
  async atLeast(count: number): Promise<ClientFrame[]> {
    await eventually(`${count} frames`, () => this.frames.length >= count);
    return this.frames;
  }

  /** Waits until it was connected so many times. */
  async connections(count: number): Promise<void> {
    await eventually(`connection ${count}`, () => this.told("connected").length >= count);
  }

  /** Leaves, whatever is waited for. */
  async leave(): Promise<void> {
    await this.#events.return();
    await this.ended;
  }

  async #read(): Promise<void> {
    for await (const event of this.#events) {
      this.events.push(event);
      if (event.type === "frame") this.frames.push(event.frame);
    }
  }
}
