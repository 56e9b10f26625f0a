import { BstReader, GatewayClock } from "./bst.ts";
import { BstLine } from "./bst_line.ts";
import type { Reading, RecordingContext, RecordingReader } from "./recording.ts";

/** Reads the serial line of an Actisense gateway (NGT-1, W2K-1, NGX-1), without the records of a log. */
export class ActisenseReader implements RecordingReader {
  readonly #line: BstLine;
  #readings: Reading[] = [];

  constructor(context: RecordingContext) {
    const messages = new BstReader(context, new GatewayClock(context));
    this.#line = new BstLine(messages, (reading) => this.#readings.push(reading));
  }

  push(chunk: Uint8Array): Iterable<Reading> {
    for (const byte of chunk) this.#line.push(byte);
    return this.#take();
  }

  end(): Iterable<Reading> {
    this.#line.end();
    return this.#take();
  }

  #take(): Reading[] {
    const readings = this.#readings;
    this.#readings = [];
    return readings;
  }
}
