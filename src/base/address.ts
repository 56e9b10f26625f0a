/** Where a server listens. */
export interface ListenAddress {
  /** Name or address; {@linkcode ALL_ADDRESSES} is every one. */
  hostname: string;
  /** 0 takes any free port. */
  port: number;
}

/** All addresses of the machine, IPv6 and IPv4. */
export const ALL_ADDRESSES = "::";

/** Highest port there is. */
export const MAX_PORT = 65_535;

/**
 * Reads `host:port`, `[::1]:port`, or `:port` for all addresses.
 *
 * @throws {RangeError} the text is none of these
 */
export function parseAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:\[([\da-f:.%]+)\]|([\w.-]*)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits ?? NaN);
  if (port <= MAX_PORT) return { hostname: bracketed ?? (plain || ALL_ADDRESSES), port };
  throw new RangeError(
    `Cannot read the address "${text}": expected host:port such as 127.0.0.1:8089, [::1]:8089 or :8089, port 0 to ${MAX_PORT}`,
  );
}

/** `host:port`, an IPv6 address in brackets. */
export function formatAddress({ hostname, port }: ListenAddress): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
