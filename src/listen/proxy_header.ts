import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type { ListenAddress } from "../base/mod.ts";

/** Result of {@linkcode readProxyHeader}. */
export type ProxyHeaderReading =
  /** More bytes are needed. */
  | { kind: "partial" }
  /**
   * `length` bytes are the header, 0 if the connection has none. `client` is undefined if the header names none: then it
   * is the peer.
   */
  | { kind: "whole"; length: number; client: ListenAddress | undefined }
  | { kind: "bad"; reason: string };

/** Maximum length of a header with its TLVs. Senders keep it below the size of a segment. */
export const MAX_PROXY_HEADER_BYTES = 4096;

/** Version 2 of the PROXY protocol: haproxy's proxy-protocol.txt, section 2.2. */
const SIGNATURE = Uint8Array.of(0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a);
const VERSION = 2;
const LOCAL = 0;
const PROXY = 1;
const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;
const MAX_FAMILY = 3;
const MAX_TRANSPORT = 2;
/** Signature, version and command, family and transport, length of the rest. */
const FIXED_BYTES = 16;
/** Two addresses and two ports. */
const IPV4_BYTES = 12;
const IPV6_BYTES = 36;
/** RFC 4291 §2.5.5.2. */
const MAPPED_IPV4 = /^::ffff:(?:[\da-f]{1,4}):(?:[\da-f]{1,4})$/;

/**
 * Parses the header that a connection may begin with. TLVs are skipped.
 *
 * @param bytes everything from the first byte on
 */
export function readProxyHeader(bytes: Uint8Array): ProxyHeaderReading {
  if (!SIGNATURE.subarray(0, bytes.length).every((byte, at) => bytes[at] === byte)) return whole(0);
  if (bytes.length < FIXED_BYTES) return { kind: "partial" };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [version, command] = halves(view.getUint8(12));
  const length = FIXED_BYTES + view.getUint16(14);
  if (version !== VERSION) return bad(`version ${version}: expected ${VERSION}`);
  if (command !== LOCAL && command !== PROXY) return bad(`unknown command ${command}`);
  if (length > MAX_PROXY_HEADER_BYTES) return bad(`${length} bytes: expected at most ${MAX_PROXY_HEADER_BYTES}`);
  if (bytes.length < length) return { kind: "partial" };
  return command === LOCAL ? whole(length) : readClient(view, length);
}

function readClient(view: DataView, length: number): ProxyHeaderReading {
  const protocol = view.getUint8(13);
  const [family, transport] = halves(protocol);
  if (family > MAX_FAMILY || transport > MAX_TRANSPORT) return bad(`unknown family 0x${protocol.toString(16)}`);
  // The section permits to ignore the addresses of other protocols.
  if (protocol !== TCP_OVER_IPV4 && protocol !== TCP_OVER_IPV6) return whole(length);
  const isIpv4 = protocol === TCP_OVER_IPV4;
  const addressBytes = isIpv4 ? IPV4_BYTES : IPV6_BYTES;
  const given = length - FIXED_BYTES;
  if (given < addressBytes) return bad(`${given} bytes of addresses: expected ${addressBytes}`);
  const hostname = isIpv4 ? ipv4Of(view, FIXED_BYTES) : ipv6Of(view);
  return whole(length, { hostname, port: view.getUint16(FIXED_BYTES + addressBytes - 4) });
}

function ipv4Of(view: DataView, at: number): string {
  return [0, 1, 2, 3].map((index) => view.getUint8(at + index)).join(".");
}

/** The address as the system writes it, so that both compare equal. */
function ipv6Of(view: DataView): string {
  const groups = [0, 2, 4, 6, 8, 10, 12, 14].map((at) => view.getUint16(FIXED_BYTES + at).toString(16));
  const address = new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
  return MAPPED_IPV4.test(address) ? ipv4Of(view, FIXED_BYTES + 12) : address;
}

function halves(byte: number): [high: number, low: number] {
  return [byte >> 4, byte & 0xf];
}

function whole(length: number, client?: ListenAddress): ProxyHeaderReading {
  return { kind: "whole", length, client };
}

function bad(reason: string): ProxyHeaderReading {
  return { kind: "bad", reason };
}

/** Options of {@linkcode receiveProxyHeader}. */
export interface ProxyHeaderReceiver {
  /** Serves the connection; `client` is undefined if it is the peer. */
  serve: (client: ListenAddress | undefined) => void;
  refuse: (reason: string) => void;
}

/**
 * Reads the header that a new connection may begin with. `serve` gets the socket paused, with the bytes after the header
 * to be read from it.
 */
export function receiveProxyHeader(socket: Socket, { serve, refuse }: ProxyHeaderReceiver): void {
  let received = Buffer.alloc(0);
  const onData = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    const reading = readProxyHeader(received);
    if (reading.kind === "partial") return;
    socket.off("data", onData).pause();
    if (reading.kind === "bad") return refuse(reading.reason);
    if (received.length > reading.length) socket.unshift(received.subarray(reading.length));
    serve(reading.client);
  };
  socket.on("data", onData);
}
