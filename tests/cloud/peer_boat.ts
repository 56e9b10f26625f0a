import { Buffer } from "node:buffer";
import type { Client, ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import {
  backfillUpstreamCodec,
  handshakeRequestCodec,
  handshakeResponseCodec,
  liveStatusCodec,
  type LiveUpstream,
  liveUpstreamCodec,
  type Range,
  SERVICE_NAMES,
} from "../../src/replication/mod.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { liveFrame } from "./cloud_fixture.ts";

type Call = ClientDuplexStream<Buffer, Buffer>;

/** Frames of a block. */
const BLOCK_FRAMES = 100;
/** What a block adds to the size of the journal. */
const BLOCK_BYTES = 1000;

/**
 * A boat of the peer's make: counts from 1, has the newest frames in its ring and in its open block, and serves as blocks
 * only what is written. One live stream at a time; when it ends, the backfill ends, too.
 */
export class PeerBoat implements Disposable {
  readonly #client: Client;
  readonly #metadata: Metadata;
  readonly #id: string;
  #live: Call | undefined;
  #sentThrough = 0;
  /** Number of its newest frame. */
  head = 0;
  /** How its live streams have ended. */
  readonly ends: string[] = [];
  /** Where the live streams began. */
  readonly starts: number[] = [];
  /** What it was asked for at each handshake. */
  readonly asked: Range[][] = [];
  /** Statuses that came on its live streams. */
  statuses = 0;

  private constructor(client: Client, { metadata, id }: { metadata: Metadata; id: string }) {
    this.#client = client;
    this.#metadata = metadata;
    this.#id = id;
  }

  static async start(port: number, id: string): Promise<PeerBoat> {
    const grpc = await import("@grpc/grpc-js");
    const metadata = new grpc.Metadata();
    metadata.set("x-instance-id", id);
    const client = new grpc.Client(`localhost:${port}`, grpc.credentials.createInsecure());
    return new PeerBoat(client, { metadata, id });
  }

  get isStreaming(): boolean {
    return this.#live !== undefined;
  }

  /** The bus brings so many frames; they are sent where there is a stream. */
  bring(count: number): void {
    this.head += count;
    this.#send();
  }

  /** Says how far it is and how large its journal is. */
  tellStatus(): void {
    this.#write({ kind: "status", status: { headSeq: this.head, journalBytes: this.#journalBytes } });
  }

  /** Shakes hands, begins to stream, and sends what is written of what is missing. */
  async connect(): Promise<void> {
    const request = handshakeRequestCodec.encode({
      ...{ instanceId: this.#id, headSeq: this.head, journalBytes: this.#journalBytes, epoch: undefined },
      ...{ features: [], void: [], lost: [], oldestSeq: 0, busNames: [] },
    });
    const { holes, liveStartFrom } = handshakeResponseCodec.decode(await this.#unary(request));
    this.asked.push([...holes]);
    const from = liveStartFrom === 0 || liveStartFrom > this.head + 1 ? this.head + 1 : liveStartFrom;
    this.starts.push(from);
    this.#sentThrough = from - 1;
    const live = this.#live = this.#stream("Live");
    live.on("data", (bytes: Buffer) => {
      liveStatusCodec.decode(bytes);
      this.statuses++;
    });
    live.on("error", () => {});
    live.on("status", ({ details }: { details: string }) => {
      this.ends.push(details);
      if (this.#live === live) this.#live = undefined;
    });
    this.tellStatus();
    this.#send();
    if (holes.length > 0) this.#backfill([...holes].sort((a, b) => b.start - a.start));
  }

  [Symbol.dispose](): void {
    this.#client.close();
  }

  get #blocks(): number {
    return Math.floor(this.head / BLOCK_FRAMES);
  }

  get #journalBytes(): number {
    return this.#blocks * BLOCK_BYTES;
  }

  #send(): void {
    if (!this.#live) return;
    while (this.#sentThrough < this.head) this.#write({ kind: "frame", frame: liveFrame(++this.#sentThrough) });
  }

  #write(message: LiveUpstream): void {
    this.#live?.write(Buffer.from(liveUpstreamCodec.encode(message)));
  }

  #backfill(holes: readonly Range[]): void {
    const call = this.#stream("Backfill");
    call.on("data", () => {});
    call.on("error", () => {});
    for (const { start, end } of holes) {
      for (let block = 0; block < this.#blocks; block++) {
        const firstSeq = block * BLOCK_FRAMES + 1;
        if (firstSeq >= end || firstSeq + BLOCK_FRAMES <= start) continue;
        const sent = wireBlock({ firstSeq, frames: BLOCK_FRAMES, epoch: undefined });
        call.write(Buffer.from(backfillUpstreamCodec.encode({ block: sent })));
      }
    }
    call.end();
  }

  #stream(method: string): Call {
    const same = (bytes: Buffer) => bytes;
    return this.#client.makeBidiStreamRequest(`/${SERVICE_NAMES[1]}/${method}`, same, same, this.#metadata);
  }

  #unary(request: Uint8Array): Promise<Buffer> {
    const same = (bytes: Buffer) => bytes;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const path = `/${SERVICE_NAMES[1]}/Handshake`;
    this.#client.makeUnaryRequest(path, same, same, Buffer.from(request), this.#metadata, (error, bytes) => {
      if (bytes) resolve(bytes);
      else reject(error);
    });
    return promise;
  }
}
