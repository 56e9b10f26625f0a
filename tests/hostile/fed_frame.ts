/** Identifier of all frames of a feeder, hex: a proprietary single frame, PGN 65280; the feeder is the source. */
export function fedId(feeder: number): string {
  return `1CFF00${(FED_SRC + feeder).toString(16)}`;
}

const FED_PGN = 65280;
const FED_SRC = 0x23;
const MARK = "c0ffee00";

/** Payload of the frame with a number, hex: the number with its lowest byte first, and a mark. */
export function fedData(number: number): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number, true);
  return bytes.toHex() + MARK;
}

/** The number of a frame of a feeder; undefined of any other frame. */
export function fedNumber(
  { pgn, src, data }: { pgn: number; src: number; data: string },
  feeder: number,
): number | undefined {
  if (pgn !== FED_PGN || src !== FED_SRC + feeder || data.length !== 16 || !data.endsWith(MARK)) return undefined;
  return new DataView(Uint8Array.fromHex(data.slice(0, 8)).buffer).getUint32(0, true);
}
