import assert from "node:assert/strict";
import { MAX_PROXY_HEADER_BYTES, type ProxyHeaderReading, readProxyHeader } from "../../src/listen/proxy_header.ts";
import { ipv4Header, ipv6Header, LOCAL, PROXY_SIGNATURE, proxyHeader } from "../support/proxy_header.ts";
import { Random } from "../support/random.ts";

const NOTHING = new Uint8Array();
const PEER = undefined;

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function whole(length: number, client: { hostname: string; port: number } | undefined): ProxyHeaderReading {
  return { kind: "whole", length, client };
}

Deno.test("a header gives the client's address and port, of both families", () => {
  const hostname = "203.0.113.7";
  assert.deepEqual(readProxyHeader(ipv4Header(hostname, { port: 40_001 })), whole(28, { hostname, port: 40_001 }));
  const v6: [sent: string, read: string][] = [
    ["2001:db8:0:0:0:0:0:7", "2001:db8::7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["0:0:0:0:0:ffff:cb00:7107", hostname],
  ];
  for (const [sent, read] of v6) {
    assert.deepEqual(readProxyHeader(ipv6Header(sent, 40_001)), whole(52, { hostname: read, port: 40_001 }), sent);
  }
});

Deno.test("TLVs are skipped, and so is what comes after the header", () => {
  const tlvs = [4, 0, 3, 0, 0, 0, 0xea, 0, 1, 9];
  const header = ipv4Header("203.0.113.7", { more: tlvs });
  const read = whole(28 + tlvs.length, { hostname: "203.0.113.7", port: 50_000 });
  assert.deepEqual(readProxyHeader(header), read);
  assert.deepEqual(readProxyHeader(join(header, Uint8Array.of(22, 3, 1))), read);
});

Deno.test("LOCAL, an unspecified or other family, and UDP name the peer itself", () => {
  const cases: [what: string, header: Uint8Array, length: number][] = [
    ["LOCAL", proxyHeader([], { command: LOCAL, family: 0 }), 16],
    ["LOCAL with an address", proxyHeader(Array(12).fill(1), { command: LOCAL }), 28],
    ["LOCAL with any family", proxyHeader([1, 2, 3], { command: LOCAL, family: 0xff }), 19],
    ["AF_UNSPEC", proxyHeader([], { family: 0 }), 16],
    ["AF_UNSPEC with TLVs", proxyHeader([4, 0, 0], { family: 0 }), 19],
    ["AF_INET without a protocol", proxyHeader(Array(12).fill(1), { family: 0x10 }), 28],
    ["UDP over IPv4", proxyHeader(Array(12).fill(1), { family: 0x12 }), 28],
    ["UDP over IPv6", proxyHeader(Array(36).fill(1), { family: 0x22 }), 52],
    ["AF_UNIX", proxyHeader(Array(216).fill(1), { family: 0x31 }), 232],
  ];
  for (const [what, header, length] of cases) assert.deepEqual(readProxyHeader(header), whole(length, PEER), what);
});

Deno.test("bytes that do not begin with the signature are no header, from the first that differs", () => {
  for (
    const text of ["G", "GET / HTTP/1.1\r\n", "\r\nGET", "PROXY TCP4 203.0.113.7 10.0.0.1 1 2\r\n", "\x16\x03\x01"]
  ) {
    assert.deepEqual(readProxyHeader(new TextEncoder().encode(text)), whole(0, PEER), text);
  }
});

Deno.test("a header is not read before its last byte", () => {
  const header = ipv4Header("203.0.113.7", { more: [4, 0, 1, 0] });
  assert.deepEqual(readProxyHeader(NOTHING), { kind: "partial" });
  for (let length = 1; length < header.length; length++) {
    assert.deepEqual(readProxyHeader(header.subarray(0, length)), { kind: "partial" }, String(length));
  }
});

Deno.test("a header that is not valid is refused with the reason", () => {
  const cases: [header: Uint8Array, reason: RegExp][] = [
    [proxyHeader(Array(12).fill(1), { command: 0x11 }), /version 1/],
    [proxyHeader(Array(12).fill(1), { command: 0x22 }), /command 2/],
    [proxyHeader(Array(12).fill(1), { family: 0x41 }), /family 0x41/],
    [proxyHeader(Array(12).fill(1), { family: 0x13 }), /family 0x13/],
    [proxyHeader(Array(11).fill(1)), /11 bytes/],
    [proxyHeader(Array(12).fill(1), { family: 0x21 }), /12 bytes/],
    [proxyHeader([], { length: MAX_PROXY_HEADER_BYTES - 15 }), /4097 bytes/],
    [proxyHeader([], { command: LOCAL, length: 65_535 }), /65551 bytes/],
  ];
  for (const [header, reason] of cases) {
    const reading = readProxyHeader(header);
    assert.ok(reading.kind === "bad", String(reason));
    assert.match(reading.reason, reason);
  }
  const longest = proxyHeader(Array(MAX_PROXY_HEADER_BYTES - 16).fill(0));
  assert.equal(readProxyHeader(longest).kind, "whole");
});

Deno.test("no bytes after a signature make the reader throw, or read past the header", () => {
  const random = new Random(7);
  for (let round = 0; round < 5000; round++) {
    const bytes = join(PROXY_SIGNATURE, random.bytes(random.int(80)));
    const reading = readProxyHeader(bytes);
    if (reading.kind === "whole") assert.ok(reading.length <= bytes.length);
  }
});
