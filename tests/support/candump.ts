/** One line of a candump recording. */
export interface CandumpFrame {
  /** Microseconds since 1970; undefined in the form without times. */
  timeUs: number | undefined;
  id: number;
  data: Uint8Array<ArrayBuffer>;
}

/** `(1502984866.421964) slcan0 09F112CC#FF725AFF7FFF7FFD` */
const LOG_LINE = /^\((\d+)\.(\d{6})\)\s+\S+\s+([0-9A-F]{8})#([0-9A-F]*)$/i;
/** `<0x18eeff01> [8] 05 a0 be 1c 00 a0 a0 c0` */
const OLD_LINE = /^<0x([0-9a-f]{8})>\s+\[(\d)\]\s+((?:[0-9a-f]{2} ?)*)$/i;

/**
 * Reads what `candump -L` writes, and the form of old candump versions. Comments, empty lines and the old form's
 * heading are passed over.
 *
 * @throws {Error} a line is neither
 */
export function parseCandump(text: string): CandumpFrame[] {
  const frames: CandumpFrame[] = [];
  for (const line of text.split(/\r?\n/).map((each) => each.trim())) {
    if (line === "" || line.startsWith("#") || line.startsWith("interface =")) continue;
    frames.push(parseLine(line));
  }
  return frames;
}

function parseLine(line: string): CandumpFrame {
  const log = LOG_LINE.exec(line);
  if (log) {
    const [, seconds, micros, id, hex] = log;
    return { timeUs: Number(seconds) * 1e6 + Number(micros), id: parseInt(id!, 16), data: bytes(hex!) };
  }
  const old = OLD_LINE.exec(line);
  if (!old) throw new Error(`Cannot read the candump line "${line}"`);
  const [, id, length, hex] = old;
  const data = bytes(hex!.replaceAll(" ", ""));
  if (data.length !== Number(length)) throw new Error(`Cannot read the candump line "${line}": wrong length`);
  return { timeUs: undefined, id: parseInt(id!, 16), data };
}

function bytes(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
