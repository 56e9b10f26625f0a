import { type Logger, silentLogger } from "../base/mod.ts";
import {
  decode as decodeByDefinitions,
  type Decoded,
  describePayload,
  type Labels,
  labelsOfPayload,
} from "../pgn/mod.ts";

/** Decodes a payload; undefined when no definition matches. */
export type Decode = (pgn: number, payload: Uint8Array) => Decoded | undefined;

/** Decodes payloads. An exception in the decoder never costs the frame: it is counted, and the first one is logged. */
export class Decoder {
  readonly #decode: Decode;
  readonly #log: Logger;
  /** Number of payloads that the decoder failed on, and the message of the newest failure. */
  readonly fault = { count: 0, message: "" };

  /**
   * @param options.decode default: decodes by the PGN definitions
   * @param options.log default: no logging
   */
  constructor(
    { decode = decodeByDefinitions, log = silentLogger }: { decode?: Decode | undefined; log?: Logger } = {},
  ) {
    this.#decode = decode;
    this.#log = log;
  }

  /** Decoded fields of a payload; undefined when no definition matches or decoding failed. */
  decode(pgn: number, payload: Uint8Array): Decoded | undefined {
    return this.#guard(pgn, () => this.#decode(pgn, payload));
  }

  /** Decoded fields as JSON text. */
  json(pgn: number, payload: Uint8Array): string | undefined {
    return this.#guard(pgn, () => {
      const decoded = this.#decode(pgn, payload);
      return decoded && JSON.stringify(decoded);
    });
  }

  /** Labels of the lookup values in a payload; undefined when none has a known label. */
  labels(pgn: number, payload: Uint8Array): Labels | undefined {
    return this.#guard(pgn, () => {
      const decoded = this.#decode(pgn, payload);
      return decoded && labelsOfPayload(pgn, payload, decoded);
    });
  }

  /** Description of the message definition; undefined when no definition matches. */
  describe(pgn: number, payload: Uint8Array): string | undefined {
    return this.#guard(pgn, () => describePayload(pgn, payload));
  }

  #guard<T>(pgn: number, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      this.fault.count++;
      this.fault.message = `PGN ${pgn}: ${error}`;
      if (this.fault.count > 1) return undefined;
      const stack = error instanceof Error ? error.stack : undefined;
      this.#log.error("payload decoder failed", { pgn, error: String(error), stack });
      return undefined;
    }
  }
}
