/** Values of decoded payloads as cells of CSV. */
import { type DecodedValue, textOf } from "../pgn/mod.ts";
import type { ByteBuffer } from "./byte_buffer.ts";
import type { FieldColumn } from "./tables.ts";

/** Adds a value of a decoded payload; nothing for null. Makes room itself. */
export type CellWriter = (to: ByteBuffer, value: DecodedValue | undefined) => void;

/** Most bytes of a number: a sign, 16 digits, a point and zeros before and after it. */
const NUMBER_BYTES = 32;
/** Numbers with more digits have no exact decimal places. */
const MAX_EXACT = 1e15;
/** Smaller numbers have an exponent in JSON. */
const MIN_DECIMAL = 1e-6;
const [POINT, MINUS] = [46, 45];
/** What a cell is quoted for (RFC 4180). */
const SPECIAL = /[",\r\n]/;

/** The writer of a column. */
export function cellWriter({ type, places }: FieldColumn): CellWriter {
  if (type === "text") return (to, value) => writeText(to, textOf(value));
  const scale = places === undefined ? undefined : { places, by: 10 ** places };
  return (to, value) => {
    if (typeof value === "number") writeNumber(to, value, scale);
    else writeText(to, textOf(value));
  };
}

/** Adds a text, in quotes if it needs them: an empty one is not null. */
export function writeText(to: ByteBuffer, text: string | undefined): void {
  if (text === undefined) return;
  to.text(text === "" || SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
}

/** Adds a number as JSON has it: in the fewest digits that identify it. */
function writeNumber(to: ByteBuffer, value: number, scale: { places: number; by: number } | undefined): void {
  to.reserve(NUMBER_BYTES);
  const size = Math.abs(value);
  const steps = scale === undefined ? NaN : Math.round(size * scale.by);
  // The value is this number of steps exactly: these are its fewest digits.
  const isExact = scale !== undefined && steps < MAX_EXACT && steps / scale.by === size;
  if (!isExact || (size < MIN_DECIMAL && size > 0)) return to.text(String(value));
  if (value < 0) to.byte(MINUS);
  writeSteps(to, steps, scale);
}

function writeSteps(to: ByteBuffer, steps: number, { places, by }: { places: number; by: number }): void {
  const whole = Math.floor(steps / by);
  to.decimal(whole);
  let rest = steps - whole * by;
  if (rest === 0) return;
  let count = places;
  for (; rest % 10 === 0; rest /= 10) count--;
  to.byte(POINT);
  to.padded(rest, count);
}
