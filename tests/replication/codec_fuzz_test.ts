import assert from "node:assert/strict";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  type Codec,
  handshakeRequestCodec,
  handshakeResponseCodec,
  liveStatusCodec,
  liveUpstreamCodec,
  WireError,
} from "../../src/replication/mod.ts";
import { Random } from "../support/random.ts";
import {
  randomBackfillStatus,
  randomBackfillUpstream,
  randomLiveStatus,
  randomLiveUpstream,
  randomRequest,
  randomResponse,
} from "./random_messages.ts";

/** A kind of message under test, its type hidden. */
interface Kind {
  name: string;
  /** Bytes of a random message, after it has come back from them unchanged. */
  roundTrip: (random: Random) => Uint8Array<ArrayBuffer>;
  /** Reads bytes and writes what was read. Nothing when they are refused. Anything but a WireError is thrown on. */
  rewrite: (bytes: Uint8Array) => Uint8Array<ArrayBuffer> | undefined;
}

const KINDS = [
  kind("HandshakeRequest", handshakeRequestCodec, randomRequest),
  kind("HandshakeResponse", handshakeResponseCodec, randomResponse),
  kind("LiveUpstream", liveUpstreamCodec, randomLiveUpstream),
  kind("LiveStatus", liveStatusCodec, randomLiveStatus),
  kind("BackfillUpstream", backfillUpstreamCodec, randomBackfillUpstream),
  kind("BackfillStatus", backfillStatusCodec, randomBackfillStatus),
];

function kind<T>(...[name, { encode, decode }, make]: [string, Codec<T>, (random: Random) => T]): Kind {
  return {
    name,
    roundTrip: (random) => {
      const message = make(random);
      const bytes = encode(message);
      assert.deepEqual(decode(bytes), message);
      return bytes;
    },
    rewrite: (bytes) => {
      let message: T;
      try {
        message = decode(bytes);
      } catch (error) {
        if (error instanceof WireError) return undefined;
        throw error;
      }
      return encode(message);
    },
  };
}

for (const { name, roundTrip, rewrite } of KINDS) {
  Deno.test(`${name} comes back from its bytes as it was`, () => {
    const random = new Random(1);
    for (let i = 0; i < 400; i++) roundTrip(random);
  });

  Deno.test(`${name} cut short at any byte is refused or is a shorter message`, () => {
    const random = new Random(2);
    for (let i = 0; i < 30; i++) {
      const bytes = roundTrip(random).subarray(0, 600);
      for (let length = 0; length < bytes.length; length++) {
        const rewritten = rewrite(bytes.subarray(0, length));
        if (rewritten) assert.ok(rewritten.length <= length);
      }
    }
  });

  Deno.test(`${name} with bytes changed, or of random bytes, is refused or read, and nothing else`, () => {
    const random = new Random(3);
    let [read, refused] = [0, 0];
    for (let i = 0; i < 3000; i++) {
      const bytes = random.chance(0.7) ? roundTrip(random).slice(0, 400) : random.bytes(random.int(60));
      for (let j = random.int(4); j > 0 && bytes.length > 0; j--) bytes[random.int(bytes.length)] = random.int(256);
      const rewritten = rewrite(bytes);
      if (rewritten) assert.deepEqual(rewrite(rewritten), rewritten);
      if (rewritten) read++;
      else refused++;
    }
    assert.ok(read > 100 && refused > 100, `${read} read, ${refused} refused`);
  });
}
