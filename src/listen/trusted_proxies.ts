import { BlockList, isIP, type Socket } from "node:net";
import { errorText, type ListenAddress } from "../base/mod.ts";

/** The proxies that are believed when they name their clients. */
export class TrustedProxies {
  readonly #networks: BlockList;

  /**
   * @param addresses addresses and networks (CIDR)
   * @throws {RangeError} one of them is neither
   */
  constructor(addresses: readonly string[]) {
    this.#networks = parseNetworks(addresses);
  }

  /** True for the address of a trusted proxy. */
  has(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#networks.check(address, family === 6 ? "ipv6" : "ipv4");
  }

  /**
   * The client of a request: the rightmost address of `X-Forwarded-For` that is not a trusted proxy. Each proxy appends the
   * address of its peer, so what is to the left of an address that is not trusted may be forged.
   *
   * @param proxy the proxy that the request comes from
   * @param forwardedFor value of the header; null: none
   */
  clientOf(proxy: ListenAddress, forwardedFor: string | null): ListenAddress {
    let client = proxy;
    for (const text of forwardedFor?.split(",").reverse() ?? []) {
      const hostname = addressIn(text.trim());
      if (hostname === undefined) break;
      client = { hostname, port: 0 };
      if (!this.has(hostname)) break;
    }
    return client;
  }
}

/** The address of an entry of `X-Forwarded-For`, to which some proxies add the port; undefined: not an address. */
function addressIn(text: string): string | undefined {
  const [, bracketed, dotted] = /^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? [];
  const [unscoped = ""] = (bracketed ?? dotted ?? text).split("%");
  const address = withoutMapping(unscoped);
  const family = isIP(address);
  if (family === 0) return undefined;
  return family === 4 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** The address of the peer of a connection; that of an IPv4 client is IPv4 on every port. */
export function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): ListenAddress {
  return { hostname: withoutMapping(remoteAddress), port: remotePort };
}

/** Converts an IPv4-mapped IPv6 address to IPv4. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=[\d.]+$)/i, "");
}

/** Error text for an invalid address or network; undefined if valid. */
export function networksProblem(text: string): string | undefined {
  try {
    parseNetworks([text]);
  } catch (error) {
    return errorText(error);
  }
}

/**
 * Parses addresses and networks such as `10.0.0.0/8`.
 *
 * @throws {RangeError} one of them is neither
 */
function parseNetworks(texts: readonly string[]): BlockList {
  const networks = new BlockList();
  for (const text of texts) {
    const [address = "", bits] = text.split("/");
    const family = isIP(address);
    const most = family === 6 ? 128 : 32;
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
    if (family === 0 || !(prefix <= most)) {
      throw new RangeError(`Cannot read "${text}": expected an address or a network, such as 10.0.0.0/8`);
    }
    networks.addSubnet(address, prefix, family === 6 ? "ipv6" : "ipv4");
  }
  return networks;
}
