import assert from "node:assert/strict";
import {
  type BackfillBlock,
  type LiveStatus,
  ReplicationClient,
  RpcError,
  WireError,
} from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { BlackHole, code, frame, REQUEST, RESPONSE, ServerFixture, service, TIMEOUT } from "./fixture.ts";

/** The library looks at the environment when it loads. */
const GRPC = needs({ permissions: ["env", "net", "read"] });

async function drain(stream: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _message of stream) count++;
  return count;
}

/** A block of so many bytes. */
function block(size: number): BackfillBlock {
  const data = new Uint8Array(size);
  return {
    baseSeq: 1,
    baseTimeUs: 1,
    frameCount: 9,
    data,
    compressed: true,
    blockSize: 4096,
    fileOffset: 0,
    length: 0,
  };
}

Deno.test("a handshake, live frames and blocks go both ways on one connection", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const client = await fixture.client();
  const { response, service: name } = await client.handshake(REQUEST, TIMEOUT);
  assert.deepEqual(response, RESPONSE);
  assert.equal(name, "vessel.replication.v1.Replication");
  const [live, backfill] = [client.live(), client.backfill()];
  const acks: number[] = [];
  const reading = (async () => {
    for await (const { ackSeq } of live) acks.push(ackSeq);
  })();
  for (let seq = 1; seq <= 500; seq++) await live.send({ kind: "frame", frame: frame(seq) });
  await backfill.send({ block: block(200_000) });
  live.end();
  backfill.end();
  await reading;
  assert.deepEqual(acks, Array.from({ length: 500 }, (_, i) => i + 1));
  assert.deepEqual(await Array.fromAsync(backfill), [
    { continuousThrough: 0, remaining: [], filled: [{ start: 1, end: 10 }], rejected: [] },
  ]);
  assert.ok(live.signal.aborted && backfill.signal.aborted);
  await assert.rejects(live.send({ kind: "frame", frame: frame(1) }), code("CANCELLED", /ended the stream/));
  assert.deepEqual(fixture.faults, []);
});

Deno.test("who sends faster than the other side reads has to wait, and nothing is lost", GRPC, async () => {
  const gate = Promise.withResolvers<void>();
  let got = 0;
  await using fixture = await ServerFixture.start(service({
    backfill: async (stream) => {
      await gate.promise;
      got = await drain(stream);
    },
  }));
  const stream = (await fixture.client()).backfill();
  let sent = 0;
  const sending = (async () => {
    for (; sent < 300; sent++) await stream.send({ block: block(64 * 1024) });
    stream.end();
  })();
  await eventually("messages under way", () => sent > 10);
  for (let before = -1; before !== sent; await pause(100)) before = sent;
  assert.ok(sent < 100, `${sent} of 300 sent while nobody reads`);
  gate.resolve();
  await sending;
  await drain(stream);
  assert.equal(got, 300);
});

Deno.test("a server that sends more than the boat reads has to wait, too", GRPC, async () => {
  let sent = 0;
  await using fixture = await ServerFixture.start(service({
    backfill: async (stream) => {
      const reason = "x".repeat(250);
      const rejected = Array.from({ length: 200 }, () => ({ baseSeq: 1, reason }));
      for (; sent < 300; sent++) await stream.send({ continuousThrough: 1, remaining: [], filled: [], rejected });
    },
  }));
  const stream = (await fixture.client()).backfill();
  await eventually("messages under way", () => sent > 10);
  for (let before = -1; before !== sent; await pause(100)) before = sent;
  assert.ok(sent < 200, `${sent} of 300 sent while nobody reads`);
  assert.equal(await drain(stream), 300);
});

Deno.test("aborting cancels a stream on both sides, and a sender that waits is told", GRPC, async () => {
  const told = Promise.withResolvers<unknown>();
  await using fixture = await ServerFixture.start(service({
    backfill: async (stream) => {
      stream.signal.addEventListener("abort", () => told.resolve(stream.signal.reason));
      await told.promise;
    },
  }));
  const abort = new AbortController();
  const stream = (await fixture.client()).backfill(abort.signal);
  const sending = (async () => {
    for (;;) await stream.send({ block: block(64 * 1024) });
  })();
  const reading = drain(stream);
  await eventually("the call", () => fixture.server.openCalls === 1);
  abort.abort();
  await assert.rejects(sending, code("CANCELLED"));
  await assert.rejects(reading, code("CANCELLED"));
  assert.ok(code("CANCELLED", /has gone/)(await told.promise));
  await eventually("the answer's end", () => fixture.server.openCalls === 0);
});

Deno.test("a signal that was aborted before cancels at once, handshakes too", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const client = await fixture.client();
  const signal = AbortSignal.abort();
  await assert.rejects(drain(client.live(signal)), code("CANCELLED"));
  await assert.rejects(client.handshake(REQUEST, { ...TIMEOUT, signal }), code("CANCELLED"));
});

Deno.test("what a service throws is the status the boat gets, what it had sent before comes first", GRPC, async () => {
  await using fixture = await ServerFixture.start(service({
    handshake: () => Promise.reject(new RpcError("FAILED_PRECONDITION", "a clone of this boat is here")),
    live: async (stream) => {
      await stream.send({ ackSeq: 7, receivedThrough: 8 });
      throw new RpcError("RESOURCE_EXHAUSTED", "live frame rate exceeded (2000/s max)");
    },
    backfill: () => Promise.reject(new Error("secret")),
  }));
  const client = await fixture.client();
  await assert.rejects(
    client.handshake(REQUEST, TIMEOUT),
    code("FAILED_PRECONDITION", /^a clone of this boat is here$/),
  );
  const got: LiveStatus[] = [];
  const reading = (async () => {
    for await (const status of client.live()) got.push(status);
  })();
  await assert.rejects(reading, code("RESOURCE_EXHAUSTED", /^live frame rate exceeded \(2000\/s max\)$/));
  assert.deepEqual(got, [{ ackSeq: 7, receivedThrough: 8 }]);
  assert.deepEqual(fixture.faults, []);
  await assert.rejects(drain(client.backfill()), code("INTERNAL", /^internal error of the server$/));
  assert.deepEqual(fixture.faults, [new Error("secret")]);
});

Deno.test("a message that cannot be written is refused and the stream goes on", GRPC, async () => {
  await using fixture = await ServerFixture.start(service());
  const live = (await fixture.client()).live();
  await assert.rejects(live.send({ kind: "frame", frame: { ...frame(1), seq: -1 } }), WireError);
  await live.send({ kind: "frame", frame: frame(2) });
  live.end();
  assert.deepEqual(await Array.fromAsync(live), [{ ackSeq: 2, receivedThrough: 0 }]);
});

Deno.test("a server that stops ends streams as unavailable, after their services have finished", GRPC, async () => {
  let finished = false;
  await using fixture = await ServerFixture.start(service({
    live: async (stream) => {
      try {
        await drain(stream);
      } finally {
        await pause(50);
        finished = true;
      }
    },
  }));
  const client = await fixture.client();
  const reading = drain(client.live());
  await eventually("the call", () => fixture.server.openCalls === 1);
  const failed = assert.rejects(reading, code("UNAVAILABLE", /stopping/));
  await fixture.server.stop({ graceMs: 20_000 });
  await failed;
  assert.ok(finished);
  await assert.rejects(client.handshake(REQUEST, TIMEOUT), code("UNAVAILABLE"));
});

Deno.test(
  "a server that stops has a client read all that was sent, and the status behind it, before it closes",
  GRPC,
  async () => {
    let sent = 0;
    await using fixture = await ServerFixture.start(service({
      backfill: async (stream) => {
        const reason = "x".repeat(250);
        const rejected = Array.from({ length: 200 }, () => ({ baseSeq: 1, reason }));
        for (;; sent++) await stream.send({ continuousThrough: 1, remaining: [], filled: [], rejected });
      },
    }));
    const stream = (await fixture.client()).backfill();
    await eventually("messages under way", () => sent > 10);
    // The client reads nothing: flow control holds the last messages, and the status, back.
    for (let before = -1; before !== sent; await pause(100)) before = sent;
    const stopped = fixture.server.stop({ graceMs: 60_000 });
    await eventually("the end of the service", () => fixture.server.openCalls === 0);
    await pause(200);
    let got = 0;
    const reading = (async () => {
      for await (const _message of stream) got++;
    })();
    await assert.rejects(reading, code("UNAVAILABLE", /stopping/));
    // The message that waited for room was sent, too.
    assert.equal(got, sent + 1);
    await stopped;
  },
);

Deno.test("a boat that has vanished without a word is given up, and so is a cloud", GRPC, async () => {
  const keepalive = { timeMs: 500, timeoutMs: 1000 };
  let reason: unknown;
  await using fixture = await ServerFixture.start(
    service({
      live: (stream) => drain(stream).then(() => {}, (error) => void (reason = error)),
    }),
    { keepalive },
  );
  await using hole = await BlackHole.start(fixture.port);
  const client = await fixture.client({ port: hole.port, keepalive });
  const live = client.live();
  const reading = drain(live);
  await eventually("the call", () => fixture.server.openCalls === 1);
  hole.open();
  await assert.rejects(reading, code("UNAVAILABLE"));
  await eventually("the boat's end", () => reason);
  assert.ok(code("CANCELLED")(reason));
});

Deno.test("a boat may have a megabyte under way before it hears from the cloud, and not more", GRPC, async () => {
  let got = 0;
  await using fixture = await ServerFixture.start(service({
    backfill: async (stream) => {
      for await (const { block } of stream) got += block!.data.length;
    },
  }));
  await using hole = await BlackHole.start(fixture.port);
  const client = await fixture.client({ port: hole.port });
  await client.handshake(REQUEST, TIMEOUT);
  const stream = client.backfill();
  await stream.send({ block: block(10) });
  await eventually("the first block", () => got === 10);
  const { sent } = hole.openBackwards();
  const abort = assert.rejects((async () => {
    for (;;) await stream.send({ block: block(10_000) });
  })());
  await eventually("a megabyte", () => sent() > 1_000_000);
  for (let before = -1; before !== sent(); await pause(100)) before = sent();
  assert.ok(sent() < 1_100_000, `${sent()} bytes`);
  client.close();
  stream.fail(new RpcError("CANCELLED", "enough"));
  await abort;
});

Deno.test("a handshake with a server that is not there, or does not answer, fails in time", GRPC, async () => {
  const never = Promise.withResolvers<typeof RESPONSE>();
  await using fixture = await ServerFixture.start(service({ handshake: () => never.promise }));
  const client = await fixture.client();
  await assert.rejects(client.handshake(REQUEST, { timeoutMs: 100 }), code("DEADLINE_EXCEEDED"));
  never.resolve(RESPONSE);
  const other = await fixture.client({ port: 1 });
  await assert.rejects(other.handshake(REQUEST, TIMEOUT), code("UNAVAILABLE", /ECONNREFUSED|refused/i));
});

Deno.test("a plain connection leads to this machine only", async () => {
  for (const target of ["192.168.1.2:9443", "cloud.example.com:9443", "127.0.0.1.example.com:1", "[fe80::1]:1"]) {
    await assert.rejects(
      ReplicationClient.create({ target, instanceId: "a", security: { kind: "insecure" } }),
      /is another machine/,
    );
  }
});

Deno.test("a target that is no host and port is refused", async () => {
  for (const target of ["", "cloud", "https://cloud:1", "cloud:99999", ":9443"]) {
    const options = { target, instanceId: "a", security: { kind: "insecure" } } as const;
    await assert.rejects(ReplicationClient.create(options), RangeError, target);
  }
});
