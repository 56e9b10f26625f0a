/** A limit that no setting changes. */
export interface FixedLimit {
  what: string;
  limit: string;
  beyond: string;
}

/** A limit as text. */
export function count(value: number): string {
  return String(value);
}

/** A limit as text. */
export function ms(value: number): string {
  if (value % 60_000 === 0) return `${value / 60_000} min`;
  return value % 1000 === 0 ? `${value / 1000} s` : `${value} ms`;
}

/** A limit as text. */
export function bytes(value: number): string {
  if (value % 2 ** 20 === 0) return `${value / 2 ** 20} MiB`;
  return value % 1024 === 0 ? `${value / 1024} KiB` : `${value} bytes`;
}
