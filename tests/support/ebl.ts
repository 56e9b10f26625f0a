/** Builds Actisense's binary log, from its description. */

const [SOH, STX, ETX, LF, DLE, ESC] = [0x01, 0x02, 0x03, 0x0a, 0x10, 0x1b];

const doubled = (byte: number, bytes: readonly number[]) =>
  bytes.flatMap((each) => each === byte ? [each, each] : [each]);

/** A record of the file. */
export function record(type: number, bytes: readonly number[]): number[] {
  return [ESC, SOH, ...doubled(ESC, [type, ...bytes]), ESC, LF];
}

/** A message on the serial line, with its checksum. */
export function serial(bytes: readonly number[]): number[] {
  const checksum = -bytes.reduce((a, b) => a + b, 0) & 0xff;
  return doubled(ESC, [DLE, STX, ...doubled(DLE, [...bytes, checksum]), DLE, ETX]);
}

/** A record with a time in units of 100 ns since 1601, or since anything. */
export function timeRecord(ticks: bigint): number[] {
  return record(0x03, littleEndian(ticks, 8));
}

/** Units of 100 ns since 1601. */
export function fileTime(date: string): bigint {
  return BigInt(Date.parse(date) - Date.parse("1601-01-01T00:00:00Z")) * 10_000n;
}

/** Form 95: a CAN frame. `control` are the upper three bits. */
export function bst95(
  id: number,
  { stamp, data, control = 0 }: { stamp: number; data: number[]; control?: number },
): number[] {
  return [
    0x95,
    6 + data.length,
    ...littleEndian(BigInt(stamp), 2),
    ...littleEndian(BigInt(id + control * 2 ** 29), 4),
    ...data,
  ];
}

/** What a message needs. */
export interface EblMessage {
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  stamp: number;
  data: readonly number[];
}

/** Form 93: a message of at most 244 bytes. */
export function bst93({ prio, pgn, src, dst, stamp, data }: EblMessage): number[] {
  const header = [prio, ...littleEndian(BigInt(pgn), 3), dst, src, ...littleEndian(BigInt(stamp), 4), data.length];
  return [0x93, header.length + data.length, ...header, ...data];
}

/** Form D0: a message of up to 1785 bytes. */
export function bstD0({ prio, pgn, src, dst, stamp, data }: EblMessage): number[] {
  const [low = 0, format = 0, page = 0] = littleEndian(BigInt(pgn), 3);
  const specific = format < 240 ? dst : low;
  const length = littleEndian(BigInt(13 + data.length), 2);
  return [
    0xd0,
    ...length,
    dst,
    src,
    specific,
    format,
    page | (prio << 2),
    1,
    ...littleEndian(BigInt(stamp), 4),
    ...data,
  ];
}

function littleEndian(value: bigint, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}
