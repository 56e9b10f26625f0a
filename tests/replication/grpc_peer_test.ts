import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
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
