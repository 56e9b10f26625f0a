/** Our codec beside code that protobufjs generates from the .proto file: `deno bench -A tests/replication/codec_bench.ts`. */
import protobuf from "protobufjs";
import {
  backfillUpstreamCodec,
  type Codec,
  handshakeResponseCodec,
  liveUpstreamCodec,
} from "../../src/replication/mod.ts";
import { Random } from "../support/random.ts";

const PROTO = new URL("../../proto/replication/v1/replication.proto", import.meta.url);
const { root } = protobuf.parse(Deno.readTextFileSync(PROTO));
const random = new Random(1);
const NOW_US = 1_750_000_000_000_000;

function pair<T>(group: string, { codec, type, message, plain }: {
  codec: Codec<T>;
  type: string;
  message: T;
  /** The message as protobufjs has it. */
  plain: Record<string, unknown>;
}): void {
  const theirs = root.lookupType(`vessel.replication.v1.${type}`);
  const bytes = codec.encode(message);
  Deno.bench("own", { group: `encode ${group}`, baseline: true }, () => void codec.encode(message));
  Deno.bench("protobufjs", { group: `encode ${group}` }, () => void theirs.encode(theirs.create(plain)).finish());
  Deno.bench("own", { group: `decode ${group}`, baseline: true }, () => void codec.decode(bytes));
  Deno.bench("protobufjs", { group: `decode ${group}` }, () => void theirs.decode(bytes));
}

for (const count of [30, 4096]) {
  const frames = Array.from({ length: count }, (_, i) => ({
    ...{ seq: 50_000_000 + i, timestampUs: NOW_US + 700 * i },
    ...{ canId: 0x09f80101 + i % 20, data: random.bytes(8) },
  }));
  const message = { kind: "batch", frames } as const;
  pair(`${count} frames`, { codec: liveUpstreamCodec, type: "LiveUpstream", message, plain: { batch: { frames } } });
}

const block = {
  ...{ baseSeq: 50_000_000, baseTimeUs: NOW_US, frameCount: 9000, data: random.bytes(90_000), compressed: true },
  ...{ blockSize: 262_144, fileOffset: 16_777_216, length: 90_016 },
};
pair("block", { codec: backfillUpstreamCodec, type: "BackfillUpstream", message: { block }, plain: { block } });

const holes = Array.from({ length: 1000 }, (_, i) => ({ start: 50_000_000 + 20 * i, end: 50_000_010 + 20 * i }));
const response = {
  ...{ cursor: 0, holes, liveStartFrom: 0, features: [], known: false, durableThrough: 0, rateLimit: 0, rateBurst: 0 },
};
pair("1000 holes", {
  ...{ codec: handshakeResponseCodec, type: "HandshakeResponse" },
  ...{ message: response, plain: { holes } },
});
