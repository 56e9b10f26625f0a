/** PROXY protocol version 2 as proxies send it: haproxy's proxy-protocol.txt, section 2.2. */
export const PROXY_SIGNATURE = Uint8Array.of(13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10);

/** Version 2 with a command: of a client, and of the proxy's own connection. */
export const PROXY = 0x21;
export const LOCAL = 0x20;
export const TCP4 = 0x11;
export const TCP6 = 0x21;

/** A header with these bytes after the fixed part. */
export function proxyHeader(
  content: readonly number[] | Uint8Array,
  { command = PROXY, family = TCP4, length = content.length } = {},
): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(...PROXY_SIGNATURE, command, family, length >> 8, length & 255, ...content);
}

/** The header of a client with an IPv4 address; `more` are its TLVs. */
export function ipv4Header(
  address: string,
  { port = 50_000, more = [] }: { port?: number; more?: readonly number[] } = {},
): Uint8Array<ArrayBuffer> {
  return proxyHeader([...address.split(".").map(Number), 10, 0, 0, 1, ...ports(port), ...more]);
}

/** The header of a client with an IPv6 address of eight groups. */
export function ipv6Header(address: string, port = 50_000): Uint8Array<ArrayBuffer> {
  const groups = address.split(":").map((group) => Number.parseInt(group, 16));
  const bytes = groups.flatMap((group) => [group >> 8, group & 255]);
  return proxyHeader([...bytes, ...Array<number>(16).fill(1), ...ports(port)], { family: TCP6 });
}

/** Ports of the client and of the server. */
function ports(client: number): number[] {
  return [client >> 8, client & 255, 1, 187];
}
