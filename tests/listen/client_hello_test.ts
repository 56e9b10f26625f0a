import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { connect, type ConnectionOptions } from "node:tls";
import { type ClientHello, MAX_HELLO_BYTES, readClientHello } from "../../src/listen/mod.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const NETWORK = needs({ permissions: ["net"] });

function u16(value: number): number[] {
  return [value >> 8, value & 255];
}

function vector(lengthBytes: 1 | 2, content: readonly number[]): number[] {
  return [...lengthBytes === 1 ? [content.length] : u16(content.length), ...content];
}

function extension(type: number, content: readonly number[]): number[] {
  return [...u16(type), ...vector(2, content)];
}

function textBytes(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

/** A random hello as the standard has it, in records cut at random, and what is in it. */
function makeHello(random: Random): { bytes: Uint8Array; hello: ClientHello } {
  const noise = (length: number) => Array.from({ length }, () => random.int(256));
  const protocols = Array.from({ length: random.int(4) }, () => "p".repeat(1 + random.int(20)) + random.int(9));
  const serverName = random.int(2) === 0 ? undefined : `boat-${random.int(1000)}.example`;
  const extensions = [
    extension(0xff01, noise(random.int(300))),
    ...protocols.length > 0 ? [extension(16, vector(2, protocols.flatMap((each) => vector(1, textBytes(each)))))] : [],
    ...serverName === undefined ? [] : [extension(0, vector(2, [0, ...vector(2, textBytes(serverName))]))],
    extension(0x2a2a, []),
  ].sort(() => random.int(3) - 1);
  const body = [
    ...[3, 3, ...noise(32)],
    ...vector(1, noise(random.int(33))),
    ...vector(2, noise(2 * (1 + random.int(40)))),
    ...vector(1, [0]),
    ...vector(2, extensions.flat()),
  ];
  const message = [1, 0, ...u16(body.length), ...body];
  const bytes: number[] = [];
  for (let at = 0; at < message.length;) {
    const size = 1 + random.int(random.int(2) === 0 ? 40 : message.length);
    const part = message.slice(at, at + size);
    bytes.push(22, 3, 1, ...vector(2, part));
    at += part.length;
  }
  return { bytes: Uint8Array.from(bytes), hello: { protocols, serverName } };
}

/** What a real client says first. */
async function realHello(options: ConnectionOptions): Promise<Uint8Array> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ host: "127.0.0.1", port, ...options });
  client.on("error", () => {});
  const [socket] = await once(server, "connection");
  const parts: Buffer[] = [];
  while (readClientHello(Buffer.concat(parts)).kind === "partial") {
    const [part] = await once(socket, "data");
    parts.push(part);
  }
  const closed = once(server, "close");
  client.destroy();
  socket.destroy();
  server.close();
  await closed;
  return Buffer.concat(parts);
}

Deno.test("what a real client offers is read from its hello", NETWORK, async () => {
  const hello = { protocols: ["acme-tls/1"], serverName: "boat.example" };
  const options = { ALPNProtocols: hello.protocols, servername: "Boat.Example" };
  assert.deepEqual(readClientHello(await realHello(options)), { kind: "hello", hello });
  const nothing = { protocols: [], serverName: undefined };
  assert.deepEqual(readClientHello(await realHello({})), { kind: "hello", hello: nothing });
});

Deno.test("a hello is read the same wherever it is cut, and never before it is whole", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { bytes, hello } = makeHello(new Random(seed));
    for (let length = 0; length < bytes.length; length++) {
      assert.equal(readClientHello(bytes.subarray(0, length)).kind, "partial", `seed ${seed}, ${length} bytes`);
    }
    assert.deepEqual(readClientHello(bytes), { kind: "hello", hello }, `seed ${seed}`);
    const more = Uint8Array.from([...bytes, 20, 3, 3, 0, 1, 1]);
    assert.deepEqual(readClientHello(more), { kind: "hello", hello }, `seed ${seed}, with what follows`);
  }
});

Deno.test("a hello that is spoiled is read, or refused, and never more", () => {
  for (let seed = 1; seed <= 3000; seed++) {
    const random = new Random(seed);
    const { bytes } = makeHello(random);
    for (let times = 1 + random.int(4); times > 0; times--) bytes[random.int(bytes.length)] = random.int(256);
    const reading = readClientHello(bytes);
    assert.ok(["hello", "partial", "none"].includes(reading.kind), `seed ${seed}`);
  }
});

Deno.test("what is no hello is none at the first byte that shows it", () => {
  const text = new TextEncoder();
  for (
    const [what, bytes] of [
      ["HTTP", text.encode("G")],
      ["HTTP/2 without TLS", text.encode("PRI * HTTP/2.0\r\n")],
      ["SSL 2", Uint8Array.of(0x80, 0x2e, 1, 0, 2)],
      ["another version", Uint8Array.of(22, 2)],
      ["an alert", Uint8Array.of(21, 3, 3, 0, 2, 2, 80)],
      ["a hello of a server", Uint8Array.of(22, 3, 3, 0, 40, 2)],
      ["an empty record", Uint8Array.of(22, 3, 3, 0, 0)],
      ["one that claims to be huge", Uint8Array.of(22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff)],
    ] as const
  ) {
    assert.equal(readClientHello(bytes).kind, "none", what);
  }
  assert.equal(readClientHello(new Uint8Array(0)).kind, "partial");
});

Deno.test("a hello that trickles on in ever more records is given up", () => {
  const records = Array.from({ length: MAX_HELLO_BYTES / 6 + 1 }, (_, at) => [22, 3, 1, 0, 1, [1, 0, 62][at] ?? 0]);
  assert.equal(readClientHello(Uint8Array.from(records.flat())).kind, "none");
});
