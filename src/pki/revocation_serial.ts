/** Longest serial number, hex digits: X.509 allows 20 bytes, and some authorities a leading zero. */
const MAX_SERIAL_DIGITS = 42;

/**
 * A certificate's serial number in the one form that can be compared: lower-case hex without leading zeros. Takes what
 * tools print, `0A:3F` or `0x0a3f`; nothing when it is none.
 */
export function normalSerial(text: string): string | undefined {
  const digits = text.trim().toLowerCase().replace(/^0x/, "").replaceAll(":", "");
  if (!/^[0-9a-f]+$/.test(digits) || digits.length > MAX_SERIAL_DIGITS) return undefined;
  return digits.replace(/^0+(?=.)/, "");
}
