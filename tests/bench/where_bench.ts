import type { WhereFrame } from "../../src/where/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { recordedPayloads } from "../support/payloads.ts";
import { parseWhere } from "../support/where.ts";
import { rate, report } from "./figure.ts";

const ROUNDS = 100;

/** Expressions that ask more and more, with the bar that each has to clear. */
const EXPRESSIONS = [
  { text: "pgn == 127250", bar: ">= 5000000" },
  { text: "depth > 3", bar: ">= 5000000" },
  { text: 'wind_reference == "Apparent"', bar: ">= 5000000" },
  { text: 'src.manufacturer == "garmin" and prio < 4', bar: ">= 5000000" },
  { text: 'pgn in [127250, 130306] and (heading > 1.5 or wind_speed >= 5 and wind_reference == "apparent")' },
  { text: "satellites.snr > 40 and not (sid == null)" },
];

/** Frames as an expression sees them, decoded anew each time that they are asked for their fields. */
class Undecoded implements WhereFrame {
  readonly #payload: Uint8Array;
  readonly seq = 1;
  readonly src = 3;
  readonly dst = 255;
  readonly prio = 2;
  readonly bus = "can0";

  constructor(readonly pgn: number, payload: Uint8Array) {
    this.#payload = payload;
  }

  get decoded(): ReturnType<typeof decode> {
    return decode(this.pgn, this.#payload);
  }
}

/** Evaluation of `--where` alone, on frames that are decoded already, and with decoding. */
export async function whereBench(): Promise<void> {
  const undecoded = (await recordedPayloads()).map(({ pgn, payload }) => new Undecoded(pgn, payload));
  const decoded = undecoded.map(({ seq, src, dst, prio, bus, pgn, decoded }): WhereFrame => {
    return { seq, src, dst, prio, bus, pgn, decoded };
  });
  const device = { manufacturer: "Garmin" };
  let matches = 0;
  const measure = (text: string, frames: readonly WhereFrame[]) => {
    const where = parseWhere(text);
    return rate(frames.length * ROUNDS, () => {
      for (let round = 0; round < ROUNDS; round++) {
        for (const frame of frames) if (where.test(frame, () => device)) matches++;
      }
    });
  };
  for (const { text, ...bar } of EXPRESSIONS) {
    report({ name: `where ${text}`, value: measure(text, decoded), unit: "frames/s", ...bar });
  }
  const text = "depth > 3";
  report({ name: `decode + where ${text}`, value: measure(text, undecoded), unit: "frames/s", bar: ">= 1000000" });
  if (matches === 0) throw new Error("Nothing matched");
}
