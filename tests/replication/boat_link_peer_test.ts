import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Server, ServerDuplexStream, ServerUnaryCall } from "@grpc/grpc-js";
import {
  backfillUpstreamCodec,
  handshakeResponseCodec,
  liveUpstreamCodec,
  Ranges,
  SERVICE_NAMES,
} from "../../src/replication/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { seenOf } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { LinkedBoat } from "./boat_link_fixture.ts";

const GRPC = needs({ permissions: ["env", "net", "read", "write"] });
const RESPONSE = {
  cursor: 0,
  holes: [],
  features: [],
  known: false,
  durableThrough: 0,
  rateLimit: 0,
  rateBurst: 0,
};

/** A cloud of the peer's make: its path, its messages, a hole tracker, nothing of ours. */
class PeerCloud implements AsyncDisposable {
  readonly held = new Ranges();
  /** Live frames: number and identifier. */
  readonly live = new Map<number, number>();
  readonly messages: string[] = [];
  /** What each live message is answered: `LiveDownstream{acked_through}`. */
  ack: Buffer | undefined;
  readonly #server: Server;
  readonly #liveStartFrom: number;
  port = 0;

  private constructor(server: Server, liveStartFrom: number) {
    this.#server = server;
    this.#liveStartFrom = liveStartFrom;
  }

  static async start({ liveStartFrom }: { liveStartFrom: number }): Promise<PeerCloud> {
    const grpc = await import("@grpc/grpc-js");
    const server = new grpc.Server();
    const cloud = new PeerCloud(server, liveStartFrom);
    const same = (bytes: Buffer) => bytes;
    const bytes = {
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const method = (name: string, isStream: boolean) => {
      return { path: `/${SERVICE_NAMES[1]}/${name}`, requestStream: isStream, responseStream: isStream, ...bytes };
    };
    server.addService({
      handshake: method("Handshake", false),
      live: method("Live", true),
      backfill: method("Backfill", true),
    }, {
      handshake: (_: ServerUnaryCall<Buffer, Buffer>, reply: (error: null, bytes: Buffer) => void) =>
        reply(null, cloud.#welcome()),
      live: (call: ServerDuplexStream<Buffer, Buffer>) => {
        call.on("data", (message: Buffer) => {
          cloud.#takeLive(message);
          if (cloud.ack) call.write(cloud.ack);
        });
        call.on("end", () => call.end());
      },
      backfill: (call: ServerDuplexStream<Buffer, Buffer>) => {
        call.on("data", (message: Buffer) => call.write(cloud.#takeBlock(message)));
        call.on("end", () => call.end());
      },
    });
    cloud.port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => {
        if (error) reject(error);
        else resolve(port);
      });
    });
    return cloud;
  }

  #welcome(): Buffer {
    const holes = this.held.holes(this.#liveStartFrom);
    return Buffer.from(handshakeResponseCodec.encode({ ...RESPONSE, holes, liveStartFrom: this.#liveStartFrom }));
  }

  #takeLive(message: Buffer): void {
    const read = liveUpstreamCodec.decode(message);
    this.messages.push(read.kind);
    if (read.kind === "frame") this.live.set(read.frame.seq, read.frame.canId);
  }

  /** Its answer tells what is left, and not what was filled. */
  #takeBlock(message: Buffer): Buffer {
    const { block } = backfillUpstreamCodec.decode(message);
    if (block) this.held.add(block.baseSeq, block.baseSeq + block.frameCount);
    const varint = (value: number): number[] =>
      value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
    const ranges = this.held.holes(this.#liveStartFrom).flatMap(({ start, end }) => {
      const range = [0x08, ...varint(start), 0x10, ...varint(end)];
      return [0x12, range.length, ...range];
    });
    return Buffer.from([0x08, ...varint(this.held.contiguousThrough()), ...ranges]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    return Promise.resolve();
  }
}

Deno.test("a peer's cloud gets single frames without buses, and what it misses as blocks", GRPC, async () => {
  await inFolder(async (journal) => {
    await using cloud = await PeerCloud.start({ liveStartFrom: 2000 });
    await using boat = await LinkedBoat.start({ journal, ringFrames: 64 }, { target: `127.0.0.1:${cloud.port}` });
    boat.bring(2000);
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    boat.bring(100);
    await eventually("all frames", () => cloud.live.size === 101 && cloud.held.covers(1, 2000));
    assert.deepEqual([...cloud.live.keys()], Array.from({ length: 101 }, (_, i) => 2000 + i));
    for (const [seq, canId] of cloud.live) assert.equal(canId, seenOf(seq).id);
    assert.ok(!cloud.messages.includes("batch"));
    await eventually("the end of the backfill", () => boat.link.status().backfill_remaining_seqs === 0);
    assert.equal(boat.link.status().cloud_cursor, cloud.held.contiguousThrough());
    assert.deepEqual(boat.renewals, []);
  });
});

Deno.test("a peer that asks for more than is kept gets what there is", GRPC, async () => {
  await inFolder(async (journal) => {
    await using cloud = await PeerCloud.start({ liveStartFrom: 1 });
    await using boat = await LinkedBoat.start({ journal, ringFrames: 16, firstSeq: 501 }, {
      target: `127.0.0.1:${cloud.port}`,
    });
    boat.bring(400);
    boat.link.start();
    await eventually("all frames that are kept", () => cloud.live.size === 400);
    assert.deepEqual([...cloud.live.keys()][0], 501);
    assert.ok(boat.link.status().connected);
  });
});

Deno.test("towards a peer's cloud no number is called durable, whatever it acknowledges", GRPC, async () => {
  await inFolder(async (journal) => {
    await using cloud = await PeerCloud.start({ liveStartFrom: 2000 });
    await using boat = await LinkedBoat.start({ journal, ringFrames: 64 }, { target: `127.0.0.1:${cloud.port}` });
    const durable = () => boat.link.status().cloud_durable_seq;
    assert.equal(durable(), null, "before the first handshake");
    boat.bring(2000);
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    assert.equal(durable(), null, "after the handshake");
    await eventually("the blocks", () => cloud.held.covers(1, 2000));
    await eventually("the end of the backfill", () => boat.link.status().backfill_remaining_seqs === 0);
    assert.equal(durable(), null, "after the answers to blocks");
    cloud.ack = Buffer.from("08d00f", "hex");
    boat.bring(1);
    await eventually("the acknowledgement", () => boat.link.status().last_ack !== null);
    assert.deepEqual([boat.link.status().cloud_cursor, durable()], [2000, null]);
  });
});
