import { ALL_ADDRESSES, formatAddress, type ListenAddress } from "@vessel/gateway/base";

/** URL of an address for a browser; `localhost` replaces the wildcard address. */
export function urlOf({ hostname, port }: ListenAddress, { tls = false }: { tls?: boolean } = {}): string {
  const isAny = hostname === ALL_ADDRESSES || hostname === "0.0.0.0";
  return `${tls ? "https" : "http"}://${formatAddress({ hostname: isAny ? "localhost" : hostname, port })}`;
}
