const UNIT_BYTES = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1e3],
  ["mb", 1e6],
  ["gb", 1e9],
  ["tb", 1e12],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
  ["tib", 2 ** 40],
]);

/**
 * Bytes of a size such as `4096`, `10GB` (powers of ten) or `512KiB` (powers of two).
 *
 * @throws {RangeError} the text is no size
 */
export function parseSize(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const unitBytes = UNIT_BYTES.get(unit?.toLowerCase() ?? "none");
  if (amount === undefined || unitBytes === undefined) {
    throw new RangeError(
      `Cannot read the size "${text}": expected bytes, or a number with kB, MB, GB, KiB, MiB or GiB`,
    );
  }
  return Math.round(Number(amount) * unitBytes);
}
