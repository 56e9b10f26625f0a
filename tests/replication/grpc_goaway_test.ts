import assert from "node:assert/strict";
import { once } from "node:events";
import { Duplex } from "node:stream";
import { GoawayFilter, withoutGoaway } from "../../src/replication/grpc/goaway.ts";
import { Random } from "../support/random.ts";

const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const GOAWAY = 7;

function frame(type: number, payload: Uint8Array): Uint8Array {
  const length = payload.length;
  return Uint8Array.of(length >> 16, (length >> 8) & 0xff, length & 0xff, type, 0, 0, 0, 0, 1, ...payload);
}

function joined(parts: readonly Uint8Array[]): string {
  return parts.map((part) => part.toHex()).join("");
}

Deno.test("every frame but GOAWAY passes as it is, wherever the bytes are cut", () => {
  const random = new Random(7);
  for (let round = 0; round < 200; round++) {
    const hasPreface = random.chance(0.5);
    const types = Array.from({ length: random.int(8) }, () => random.pick([0, 1, 3, 4, 6, GOAWAY, 8]));
    const frames = types.map((type) => ({ type, bytes: frame(type, random.bytes(random.int(300))) }));
    const head = hasPreface ? [PREFACE] : [];
    const all = Uint8Array.fromHex(joined([...head, ...frames.map(({ bytes }) => bytes)]));
    const filter = new GoawayFilter({ hasPreface });
    const passed: Uint8Array[] = [];
    for (let at = 0; at < all.length;) {
      const next = at + random.between(1, random.pick([1, 12, 400]));
      passed.push(...filter.push(all.subarray(at, next)));
      at = next;
    }
    const wanted = frames.filter(({ type }) => type !== GOAWAY).map(({ bytes }) => bytes);
    assert.equal(joined(passed), joined([...head, ...wanted]));
  }
});

for (const code of ["EPIPE", "ECONNABORTED", "ENETUNREACH", "ECONNRESET"]) {
  Deno.test(`a connection that ends with ${code}, while writing or not, is one that was reset`, async () => {
    const broken = () => Object.assign(new Error(`write ${code}`), { code });
    const writing = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(broken()) });
    const idle = new Duplex({ read() {} });
    const connections = [writing, idle].map((socket) => withoutGoaway(socket, { side: "client" }));
    const errors = Promise.all(connections.map((each) => once(each, "error")));
    connections[0]?.write(PREFACE);
    idle.destroy(broken());
    for (const [error] of await errors) {
      // The only code by which the library knows that the network is at fault, and not the program.
      assert.equal(error.code, "ECONNRESET");
      assert.match(error.message, new RegExp(code));
    }
  });
}
