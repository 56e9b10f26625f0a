/** A limit that cannot be configured. */
export interface FixedLimit {
  what: string;
  limit: string;
  beyond: string;
}

/** Formats a number. */
export function count(value: number): string {
  return String(value);
}

/** Formats milliseconds. */
export function ms(value: number): string {
  if (value % 60_000 === 0) return `${value / 60_000} min`;
  return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
}

/** Formats a number of bytes. */
export function bytes(value: number): string {
  if (value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
  return value % 1024 === 0 ? `${value / 1024} KiB` : `${value} bytes`;
}
