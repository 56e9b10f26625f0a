import { compile, type Decoder } from "./compile.ts";
import { definitionsOf } from "./model.ts";
import type { Decoded } from "./value.ts";

const decoders = new Map<number, Decoder | undefined>();

/**
 * Decodes the payload of a message into its fields, in SI units (positions in degrees).
 *
 * A payload shorter than its definition is filled up with 0xFF, so that missing fields read as null. The decoder of a
 * PGN is compiled when the first message of it comes.
 *
 * @returns undefined when no definition of the PGN fits: an unknown PGN, or another maker's layout of a proprietary one
 *
 * @example
 * ```ts
 * import { decode } from "@vessel/gateway/pgn";
 *
 * const wind = Uint8Array.of(0x01, 0x26, 0x02, 0x39, 0x30, 0x02, 0xff, 0xff);
 * console.assert(decode(130306, wind)?.wind_speed === 5.5); // m/s
 * console.assert(decode(130306, wind)?.wind_reference === "apparent");
 * ```
 */
export function decode(pgn: number, payload: Uint8Array): Decoded | undefined {
  let decoder = decoders.get(pgn);
  if (decoder === undefined) {
    const definitions = definitionsOf(pgn);
    if (definitions.length === 0) return undefined;
    decoders.set(pgn, decoder = compile(definitions));
  }
  return decoder(payload);
}
