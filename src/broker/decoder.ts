import { type Logger, silentLogger } from "../base/mod.ts";
import {
  decode as decodeByDefinitions,
  type Decoded,
  describePayload,
  type Labels,
  labelsOfPayload,
} from "../pgn/mod.ts";

/** Decodes a payload; undefined when nothing describes it. */
export type Decode = (pgn: number, payload: Uint8Array) => Decoded | undefined;

/** Decodes for whoever asks. A fault of ours costs the decoding, never the frame: it is counted, and logged once. */
export class Decoder {
  readonly #decode: Decode;
  readonly #log: Logger;
  /** Payloads that a fault of ours left undecoded, with the newest fault in words. */
  readonly fault = { count: 0, message: "" };

  /**
   * @param options.decode default: by the definitions of the PGNs
   * @param options.log default silent
   */
  constructor(
    { decode = decodeByDefinitions, log = silentLogger }: { decode?: Decode | undefined; log?: Logger } = {},
  ) {
    this.#decode = decode;
    this.#log = log;
  }

  /** Decoded fields of a payload; undefined when nothing describes it. */
  decode(pgn: number, payload: Uint8Array): Decoded | undefined {
    return this.#guard(pgn, () => this.#decode(pgn, payload));
  }

  /** The same as JSON. */
  json(pgn: number, payload: Uint8Array): string | undefined {
    return this.#guard(pgn, () => {
      const decoded = this.#decode(pgn, payload);
      return decoded && JSON.stringify(decoded);
    });
  }

  /** Labels of the codes in a payload; undefined where it has none that are known. */
  labels(pgn: number, payload: Uint8Array): Labels | undefined {
    return this.#guard(pgn, () => {
      const decoded = this.#decode(pgn, payload);
      return decoded && labelsOfPayload(pgn, payload, decoded);
    });
  }

  /** What a message is called; undefined when nobody has described it. */
  describe(pgn: number, payload: Uint8Array): string | undefined {
    return this.#guard(pgn, () => describePayload(pgn, payload));
  }

  #guard<T>(pgn: number, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.fault.count++;
      this.fault.message = `PGN ${pgn}: ${error}`;
      if (this.fault.count > 1) return undefined;
      const stack = error instanceof Error ? error.stack : undefined;
      this.#log.error("a payload is not decoded by a fault of the server", { pgn, error: String(error), stack });
      return undefined;
    }
  }
}
