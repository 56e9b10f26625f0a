/** Castagnoli's polynomial, bits reversed (RFC 3720 §12.1). */
const POLYNOMIAL = 0x82f63b78;
/** Bytes processed per step. */
const STEP = 8;

/** Row `k`, column `b`: contribution of byte `b` to the checksum when `k` more bytes follow it. */
const TABLE = makeTable();

function makeTable(): Uint32Array {
  const table = new Uint32Array(256 * STEP);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let i = 256; i < table.length; i++) {
    const before = table[i - 256] ?? 0;
    table[i] = (before >>> 8) ^ (table[before & 0xff] ?? 0);
  }
  return table;
}

/**
 * CRC-32C of `data`, eight bytes per step.
 *
 * @param before checksum of the bytes before `data`, to continue from
 */
export function crc32c(data: Uint8Array, before = 0): number {
  const table = TABLE;
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  const whole = data.length - data.length % STEP;
  let crc = ~before;
  let at = 0;
  for (; at < whole; at += STEP) {
    const low = crc ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    crc = (table[1792 + (low & 0xff)] ?? 0) ^ (table[1536 + ((low >>> 8) & 0xff)] ?? 0) ^
      (table[1280 + ((low >>> 16) & 0xff)] ?? 0) ^ (table[1024 + (low >>> 24)] ?? 0) ^
      (table[768 + (high & 0xff)] ?? 0) ^ (table[512 + ((high >>> 8) & 0xff)] ?? 0) ^
      (table[256 + ((high >>> 16) & 0xff)] ?? 0) ^ (table[high >>> 24] ?? 0);
  }
  for (; at < data.length; at++) crc = (crc >>> 8) ^ (table[(crc ^ (data[at] ?? 0)) & 0xff] ?? 0);
  return ~crc >>> 0;
}
