import assert from "node:assert/strict";
import protobuf from "protobufjs";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  type Codec,
  FEATURES,
  handshakeRequestCodec,
  handshakeResponseCodec,
  liveStatusCodec,
  type LiveUpstream,
  liveUpstreamCodec,
} from "../../src/replication/mod.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import {
  randomBackfillStatus,
  randomBackfillUpstream,
  randomLiveStatus,
  randomLiveUpstream,
  randomRequest,
  randomResponse,
} from "./random_messages.ts";

const PROTO = new URL("../../proto/replication/v1/replication.proto", import.meta.url);
const READ = needs({ permissions: ["read"] });

/** The library reads bytes as Buffer and large numbers as objects. */
const COMPARABLE = { longs: Number, bytes: String, defaults: true };

type Plain = Record<string, unknown>;

/** The definition file as a library understands it. */
function definition(): protobuf.Root {
  return protobuf.parse(Deno.readTextFileSync(PROTO)).root;
}

/** Our codec against the library: what one writes, the other reads. */
function agree<T extends object>(name: string, codec: Codec<T>, { make, plain = asItIs }: {
  make: (random: Random) => T;
  /** The message as the library has it. */
  plain?: (message: T) => Plain;
}): void {
  Deno.test(`${name} has the fields of the .proto file`, READ, () => {
    const type = definition().lookupType(`vessel.replication.v1.${name}`);
    const random = new Random(4);
    for (let i = 0; i < 200; i++) {
      const message = make(random);
      assert.deepEqual(codec.decode(type.encode(type.fromObject(plain(message))).finish()), message);
      const read = type.toObject(type.decode(codec.encode(message)), COMPARABLE);
      assert.deepEqual(read, type.toObject(type.fromObject(plain(message)), COMPARABLE));
    }
  });
}

/** A message without what it does not say. */
function asItIs(message: object): Plain {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined));
}

function plainLive(message: LiveUpstream): Plain {
  if (message.kind === "frame") return { frame: message.frame };
  if (message.kind === "status") return { status: message.status };
  if (message.kind === "batch") return { batch: { frames: message.frames } };
  if (message.kind !== "clock") return {};
  const spans = message.spans.map((span) => ({
    ...span,
    lastSeq: span.lastSeq ?? 0,
    rate: Math.round(span.rate * 1e12),
  }));
  return { clock: { spans } };
}

agree("HandshakeRequest", handshakeRequestCodec, { make: randomRequest });
agree("HandshakeResponse", handshakeResponseCodec, { make: randomResponse });
agree("LiveUpstream", liveUpstreamCodec, { make: randomLiveUpstream, plain: plainLive });
agree("LiveStatus", liveStatusCodec, { make: randomLiveStatus });
agree("BackfillUpstream", backfillUpstreamCodec, { make: randomBackfillUpstream });
agree("BackfillStatus", backfillStatusCodec, { make: randomBackfillStatus });

Deno.test("the .proto file explains every feature", READ, () => {
  const text = Deno.readTextFileSync(PROTO);
  for (const feature of FEATURES) assert.match(text, new RegExp(`^ *//   ${feature} {2}`, "m"));
});
