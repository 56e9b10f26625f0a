import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import { once } from "node:events";
import { Duplex } from "node:stream";
import {
  commonFeatures,
  FEATURES,
  handshakeResponseCodec,
  MAX_MESSAGE_BYTES,
  SERVICE_NAMES,
} from "../../src/replication/mod.ts";
import { needs } from "../support/needs.ts";
import { code, frame, REQUEST, RESPONSE, ServerFixture, service, TIMEOUT } from "./fixture.ts";
import { RawCaller, REQUEST_BYTES } from "./raw_caller.ts";
import { GoawayFilter, withoutGoaway } from "../../src/replication/grpc/goaway.ts";
import { Random } from "../support/random.ts";
import { plainReason } from "../../src/replication/grpc/grpc.ts";

const GRPC = needs({ permissions: ["env", "net", "read"] });
const [OURS, PEERS] = SERVICE_NAMES;

/** A cloud that is not ours: knows one path, answers with the peer's bytes, notes what it hears. */
class PeerCloud implements AsyncDisposable {
  readonly heard: string[] = [];
  #stop: () => void = () => {};
  port = 0;

  static async start(service: string): Promise<PeerCloud> {
    const cloud = new PeerCloud();
    const grpc = await import("@grpc/grpc-js");
    const server = new grpc.Server();
    const same = (bytes: Buffer) => bytes;
    const bytes = {
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const method = (name: string, isStream: boolean) => {
      return { path: `/${service}/${name}`, requestStream: isStream, responseStream: isStream, ...bytes };
    };
    server.addService({ handshake: method("Handshake", false), live: method("Live", true) }, {
      handshake: (call: ServerUnaryCall<Buffer, Buffer>, reply: (error: null, bytes: Buffer) => void) => {
        cloud.heard.push(call.request.toString("hex"));
        reply(null, Buffer.from("0880f70212080881f70210d0860318d08603", "hex"));
      },
      live: (call: ServerDuplexStream<Buffer, Buffer>) => {
        cloud.heard.push(String(call.metadata.get("x-instance-id")));
        call.on("data", (bytes: Buffer) => {
          cloud.heard.push(bytes.toString("hex"));
          call.write(Buffer.from("08d38603", "hex"));
        });
        call.on("end", () => call.end());
      },
    });
    await new Promise<void>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
        cloud.port = port;
        if (error) reject(error);
        else resolve();
      });
    });
    cloud.#stop = () => server.forceShutdown();
    return cloud;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#stop());
  }
}

Deno.test("a boat that meets a peer's cloud speaks under the peer's name from the handshake on", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  await using cloud = await PeerCloud.start(PEERS);
  const client = await fixture.client({ port: cloud.port });
  const plain = { ...REQUEST, headSeq: 50_000, journalBytes: 52_428_800, features: [], oldestSeq: 0, busNames: [] };
  const { response, service: name } = await client.handshake(plain, TIMEOUT);
  assert.equal(name, PEERS);
  assert.deepEqual(response, {
    ...RESPONSE,
    ...{ cursor: 48_000, holes: [{ start: 48_001, end: 50_000 }], liveStartFrom: 50_000 },
    ...{ features: [], known: false, durableThrough: 0, rateLimit: 0, rateBurst: 0 },
  });
  const live = client.live();
  await live.send({ kind: "status", status: { headSeq: 50_003, journalBytes: 52_428_800 } });
  live.end();
  assert.deepEqual(await Array.fromAsync(live), [{ ackSeq: 50_003, receivedThrough: 0 }]);
  await client.handshake(plain, TIMEOUT);
  assert.deepEqual(cloud.heard, [
    ...[REQUEST_BYTES.toHex(), "boat-001", "120908d386031080808019", REQUEST_BYTES.toHex()],
  ]);
});

Deno.test("a server that knows no replication at all says so", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  await using cloud = await PeerCloud.start("another.Service");
  const client = await fixture.client({ port: cloud.port });
  await assert.rejects(client.handshake(REQUEST, TIMEOUT), code("UNIMPLEMENTED", /does not support replication/));
  assert.deepEqual(cloud.heard, []);
});

Deno.test("a peer's boat is served under its own name, and told from ours", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const caller = await RawCaller.start(fixture.port);
  const answer = await caller.statusOf(`/${PEERS}/Handshake`, REQUEST_BYTES);
  assert.equal(answer.code, "OK");
  assert.deepEqual(handshakeResponseCodec.decode(answer.messages[0]!), RESPONSE);
  const frames = Uint8Array.fromHex("0a1c08d186031080e0a3a6b0f38d03188182e04f220810270000d0490100");
  const acknowledged = await caller.statusOf(`/${PEERS}/Live`, frames);
  assert.deepEqual([acknowledged.code, acknowledged.messages.map((bytes) => bytes.toHex())], ["OK", ["08d18603"]]);
  await caller.statusOf(`/${OURS}/Handshake`, REQUEST_BYTES);
  assert.deepEqual(fixture.callers.map((caller) => caller.service), [PEERS, PEERS, OURS]);
  assert.deepEqual(fixture.callers.map((caller) => caller.instanceId), Array(3).fill("boat-001"));
  caller.close();
});

Deno.test("bytes that are no message are an invalid argument, the fault of nobody here", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const caller = await RawCaller.start(fixture.port);
  const cut = Uint8Array.fromHex("0a08626f");
  for (const method of ["Handshake", "Live", "Backfill"]) {
    const { code, details } = await caller.statusOf(`/${OURS}/${method}`, cut);
    assert.deepEqual([code, details], ["INVALID_ARGUMENT", "field 1 is truncated"], method);
  }
  const { code: none } = await caller.statusOf(`/${OURS}/Handshake`, new Uint8Array(0));
  assert.equal(none, "INVALID_ARGUMENT", "an empty instance id");
  assert.deepEqual(fixture.faults, []);
  caller.close();
});

Deno.test("a message that is too large is refused before it is taken, and the connection lives on", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const caller = await RawCaller.start(fixture.port);
  const { code } = await caller.statusOf(`/${OURS}/Backfill`, new Uint8Array(MAX_MESSAGE_BYTES + 1));
  assert.equal(code, "RESOURCE_EXHAUSTED");
  assert.equal((await caller.statusOf(`/${OURS}/Handshake`, REQUEST_BYTES)).code, "OK");
  caller.close();
});

Deno.test("one connection cannot hold more calls than a boat needs", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const client = await fixture.client();
  const streams = Array.from({ length: 40 }, () => client.live());
  await client.handshake(REQUEST, { timeoutMs: 300 }).catch(() => {});
  assert.ok(fixture.server.openCalls <= 16, `${fixture.server.openCalls} calls`);
  for (const stream of streams) stream.end();
  for (const stream of streams) await Array.fromAsync(stream);
});

Deno.test("two sides use the features that both have, in the order of ours", () => {
  assert.deepEqual(commonFeatures(FEATURES, ["quiet-status", "another", "batch", "batch"]), ["batch", "quiet-status"]);
  assert.deepEqual(commonFeatures(["void"], ["batch"]), []);
  assert.deepEqual(commonFeatures(FEATURES, []), []);
});

Deno.test("frames keep their payload when its message is long gone", GRPC, async () => {
  const kept: Uint8Array[] = [];
  await using fixture = await ServerFixture.start(service({
    live: async (stream) => {
      for await (const message of stream) {
        if (message.kind === "batch") kept.push(...message.frames.map(({ data }) => data));
      }
    },
  }));
  const live = (await fixture.client()).live();
  const frames = (from: number) => Array.from({ length: 100 }, (_, i) => frame(from + i, 1 + i));
  for (let from = 0; from < 2000; from += 100) await live.send({ kind: "batch", frames: frames(from) });
  live.end();
  await Array.fromAsync(live);
  assert.equal(kept.length, 2000);
  kept.forEach((data, seq) => assert.deepEqual(data, frame(seq, 1 + seq % 100).data));
});

const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const GOAWAY = 7;

function http2Frame(type: number, payload: Uint8Array): Uint8Array {
  const length = payload.length;
  return Uint8Array.of(length >> 16, (length >> 8) & 0xff, length & 0xff, type, 0, 0, 0, 0, 1, ...payload);
}

function joined(parts: readonly Uint8Array[]): string {
  return parts.map((part) => part.toHex()).join("");
}

Deno.test("every http2Frame but GOAWAY passes as it is, wherever the bytes are cut", () => {
  const random = new Random(7);
  for (let round = 0; round < 200; round++) {
    const hasPreface = random.chance(0.5);
    const types = Array.from({ length: random.int(8) }, () => random.pick([0, 1, 3, 4, 6, GOAWAY, 8]));
    const frames = types.map((type) => ({ type, bytes: http2Frame(type, random.bytes(random.int(300))) }));
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

Deno.test("why a connection cannot be made is told without the library's wrapping, and the same each time", () => {
  const wrapped = "No connection established. Last error: connect ECONNREFUSED 127.0.0.1:9443 " +
    "(2026-11-22T03:27:02.678Z). Resolution note: ";
  assert.equal(plainReason(wrapped), "connect ECONNREFUSED 127.0.0.1:9443");
  assert.equal(plainReason("Failed to connect (2026-11-22T03:27:02.678Z)"), "Failed to connect");
  assert.equal(plainReason("live lag 20000 exceeds threshold 10000"), "live lag 20000 exceeds threshold 10000");
});
