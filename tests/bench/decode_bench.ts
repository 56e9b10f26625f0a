import { MAX_MESSAGE_BYTES } from "../../src/frame/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { type Payload, recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { rate, report } from "./figure.ts";

const ROUNDS = 20;
/** Most layouts are rare: it takes so many runs until they are compiled as they are in a server that has run for a while. */
const RUNS = 100;

/** Time of the first decoding of each PGN: the slowest, which compiles the most. */
function slowestFirstUse(payloads: readonly Payload[]): number {
  let slowest = 0;
  for (const { pgn, payload } of payloads) {
    const start = performance.now();
    decode(pgn, payload);
    slowest = Math.max(slowest, performance.now() - start);
  }
  return slowest;
}

/** The longest message there is: a command to a PGN of some hundred layouts, of which none fits. */
function longestCommand(): number {
  const command = new Uint8Array(MAX_MESSAGE_BYTES).fill(2);
  command.set(Uint8Array.fromHex("0104ff01f8ff"));
  return 1000 / rate(10, () => {
    for (let count = 0; count < 10; count++) decode(126208, command);
  });
}

/** Fetched when this bench runs, and only then: it brings a hundred packages. */
const CANBOATJS = "npm:@canboat/canboatjs@3.20.0";

/** What of it is used. */
interface CanboatJs {
  FromPgn: new (options: { format: number; checkForInvalidFields: boolean }) => {
    on(event: "error", listener: () => void): void;
    parseString(line: string): unknown;
  };
}

/** Rates of canboatjs: of its objects, and of their JSON. */
async function benchCanboatjs(payloads: readonly Payload[]): Promise<{ object: number; text: number }> {
  const { FromPgn }: CanboatJs = await import(CANBOATJS);
  const parser = new FromPgn({ format: 1, checkForInvalidFields: false });
  parser.on("error", () => {});
  const stamp = "2026-01-01T00:00:00.000Z";
  const lines = payloads.map(({ pgn, payload }) =>
    [stamp, 6, pgn, 1, 255, payload.length, ...Array.from(payload, (byte) => byte.toString(16).padStart(2, "0"))].join(
      ",",
    )
  );
  let fields = 0;
  const object = rate(payloads.length, () => {
    for (const line of lines) fields += parser.parseString(line) ? 1 : 0;
  }, RUNS);
  const text = rate(payloads.length, () => {
    for (const line of lines) fields += JSON.stringify(parser.parseString(line))?.length ?? 0;
  }, RUNS);
  if (fields === 0) throw new Error("canboatjs decoded nothing");
  return { object, text };
}

/** Decoding of all recorded payloads and vectors: as objects, as JSON, and beside canboatjs in the same run. */
export async function decodeBench(): Promise<void> {
  const payloads = [...await recordedPayloads(), ...vectorPayloads()];
  report({ name: "first use of a PGN, slowest", value: slowestFirstUse(payloads), unit: "ms", bar: "< 5" });
  let keys = 0;
  const count = payloads.length * ROUNDS;
  const each = (run: (pgn: number, payload: Uint8Array) => void) => {
    for (let round = 0; round < ROUNDS; round++) for (const { pgn, payload } of payloads) run(pgn, payload);
  };
  const object = rate(count, () => each((pgn, payload) => keys += decode(pgn, payload) ? 1 : 0), RUNS);
  const toText = (pgn: number, payload: Uint8Array) => keys += JSON.stringify(decode(pgn, payload))?.length ?? 0;
  const text = rate(count, () => each(toText), RUNS);
  report({ name: "longest command", value: longestCommand(), unit: "ms", bar: "< 10" });
  if (keys === 0) throw new Error("Nothing was decoded");
  report({ name: "decode", value: object, unit: "messages/s", bar: ">= 12000000" });
  report({ name: "decode + JSON.stringify", value: text, unit: "messages/s", bar: ">= 4000000" });
  const other = await benchCanboatjs(payloads);
  report({ name: "canboatjs", value: other.object, unit: "messages/s" });
  report({ name: "decode / canboatjs", value: object / other.object, unit: "times", bar: ">= 20" });
  report({ name: "canboatjs + JSON.stringify", value: other.text, unit: "messages/s" });
  report({
    name: "decode + JSON.stringify / canboatjs + JSON.stringify",
    value: text / other.text,
    unit: "times",
    bar: ">= 20",
  });
}
