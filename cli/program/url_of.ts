import { ALL_ADDRESSES, formatAddress, type ListenAddress } from "@vessel/gateway/base";

/** An address that a person can open: this machine stands for all addresses. */
export function urlOf({ hostname, port }: ListenAddress, { tls = false }: { tls?: boolean } = {}): string {
  const isAny = hostname === ALL_ADDRESSES || hostname === "0.0.0.0";
  return `${tls ? "https" : "http"}://${formatAddress({ hostname: isAny ? "localhost" : hostname, port })}`;
}
