/** The members of an object; none of any other value. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** A text. @throws {TypeError} the member is none */
export function readText(found: Record<string, unknown>, key: string): string {
  const value = found[key];
  if (typeof value === "string") return value;
  throw new TypeError(`"${key}" is not a text`);
}

/** A list. @throws {TypeError} the member is none */
export function readList(found: Record<string, unknown>, key: string): readonly unknown[] {
  const value = found[key];
  if (!Array.isArray(value)) throw new TypeError(`"${key}" is not a list`);
  return value;
}

/** A number from 0. @throws {TypeError} the member is none */
export function readNumber(found: Record<string, unknown>, key: string): number {
  const value = found[key];
  if (typeof value === "number" && value >= 0) return value;
  throw new TypeError(`"${key}" is not a number`);
}

/** A whole number from 0. @throws {TypeError} the member is none */
export function readCount(found: Record<string, unknown>, key: string): number {
  const value = found[key];
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`"${key}" is not a whole number`);
}
