import assert from "node:assert/strict";
import {
  backfillStatusCodec,
  backfillUpstreamCodec,
  type Codec,
  handshakeRequestCodec,
  handshakeResponseCodec,
  type LiveFrame,
  liveStatusCodec,
  liveUpstreamCodec,
  MAX_BATCH_FRAMES,
  MAX_DIGESTS,
  MAX_FORMER_EPOCHS,
  MAX_FRAME_DATA_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_RANGES,
  MAX_TEXT_BYTES,
  MAX_TEXTS,
  WireError,
} from "../../src/replication/mod.ts";

const REQUEST = {
  instanceId: "boat-001",
  headSeq: 50_000,
  journalBytes: 52_428_800,
  epoch: undefined,
  features: [],
  void: [],
  oldestSeq: 0,
  busNames: [],
  lost: [],
};
const RESPONSE = {
  cursor: 48_000,
  holes: [{ start: 48_001, end: 50_000 }],
  liveStartFrom: 50_000,
  features: [],
  known: false,
  durableThrough: 0,
  rateLimit: 0,
  rateBurst: 0,
};
const FRAME: LiveFrame = {
  seq: 50_001,
  timestampUs: 1_749_988_800_000_000,
  canId: 0x09f80101,
  data: fromHex("10270000d0490100"),
};
const CLAIM: LiveFrame = { ...FRAME, seq: 0, canId: 0x18eeff05, data: fromHex("010000000000a000") };

/** What the peer's software was computed to send: vectors of the protocol's reference. */
const VECTORS = [
  vector("a handshake request", "0a08626f61742d30303110d086031880808019", handshakeRequestCodec, REQUEST),
  vector("a handshake response", "0880f70212080881f70210d0860318d08603", handshakeResponseCodec, RESPONSE),
  vector("a frame", "0a1c08d186031080e0a3a6b0f38d03188182e04f220810270000d0490100", liveUpstreamCodec, {
    kind: "frame",
    frame: FRAME,
  }),
  vector("a device snapshot", "0a191080e0a3a6b0f38d031885febbc7012208010000000000a000", liveUpstreamCodec, {
    kind: "frame",
    frame: CLAIM,
  }),
  vector("a boat's status", "120908d386031080808019", liveUpstreamCodec, {
    kind: "status",
    status: { headSeq: 50_003, journalBytes: 52_428_800 },
  }),
  vector("an acknowledgement", "08d38603", liveStatusCodec, { ackSeq: 50_003, receivedThrough: 0 }),
  vector("a backfill status", "089aff021208089bff0210d08603", backfillStatusCodec, {
    continuousThrough: 49_050,
    remaining: [{ start: 49_051, end: 50_000 }],
    filled: [],
    rejected: [],
  }),
];

function vector<T>(...[what, hex, codec, message]: [string, string, Codec<T>, T]): [what: string, test: () => void] {
  return [what, () => {
    assert.equal(codec.encode(message).toHex(), hex);
    assert.deepEqual(codec.decode(fromHex(hex)), message);
  }];
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.fromHex(hex.replaceAll(" ", ""));
}

for (const [what, test] of VECTORS) Deno.test(`${what} has the peer's bytes, in both directions`, test);

Deno.test("a block has the peer's bytes, and ours behind them", () => {
  const block = {
    baseSeq: 1,
    baseTimeUs: 2,
    frameCount: 3,
    data: fromHex("28b52ffd"),
    compressed: true,
    blockSize: 262_144,
    fileOffset: 16,
    length: 300,
  };
  const hex = "0a19 0801 1002 1803 2204 28b52ffd 2801 30808010 a00610 a806ac02".replaceAll(" ", "");
  assert.equal(backfillUpstreamCodec.encode({ block }).toHex(), hex);
  assert.deepEqual(backfillUpstreamCodec.decode(fromHex(hex)), { block });
});

Deno.test("former epochs and digests have our bytes, in both directions", () => {
  const epoch = fromHex("00112233445566778899aabbccddeeff");
  const digests = [
    { firstSeq: 1, lastSeq: 65_535, hash: fromHex("0102030405060708") },
    { firstSeq: 65_536, lastSeq: 65_540, hash: fromHex("1112131415161718") },
  ];
  const former = [{
    ...{ epoch, head: 300, oldest: 2, void: [{ start: 5, end: 9 }] },
    ...{
      lost: [{ start: 9, end: 11, reason: "old" }],
      digests: [{ firstSeq: 3, lastSeq: 4, hash: new Uint8Array(8) }],
    },
  }];
  const bytes = {
    former: "d206 38 0a1000112233445566778899aabbccddeeff 10ac02 1802 2204 0805 1009 2a09 0809 100b 1a03 6f6c64" +
      "320e 0803 1208 0000000000000000 1804",
    digests: "da06 0c 0801 1208 0102030405060708 da06 12 08808004 1208 1112131415161718 18848004",
  };
  const wire = fromHex("0a08626f61742d303031" + "10d086031880808019" + bytes.former + bytes.digests);
  const message = { ...REQUEST, former, digests };
  assert.equal(handshakeRequestCodec.encode(message).toHex(), wire.toHex());
  assert.deepEqual(handshakeRequestCodec.decode(wire), message);

  const formerHoles = [{ epoch, holes: [{ start: 7, end: 8 }], refused: "no" }, { epoch, holes: [], isUnstored: true }];
  const asked = "ca06 1c 0a1000112233445566778899aabbccddeeff 1204 0807 1008 1a02 6e6f" +
    "ca06 14 0a1000112233445566778899aabbccddeeff 2001";
  const plain = handshakeResponseCodec.encode(RESPONSE).toHex();
  const answer = { ...RESPONSE, formerHoles };
  assert.equal(handshakeResponseCodec.encode(answer).toHex(), plain + asked.replaceAll(" ", ""));
  assert.deepEqual(handshakeResponseCodec.decode(fromHex(plain + asked)), answer);

  const status = { continuousThrough: 0, remaining: [], filled: [], rejected: [], epoch };
  const named = "b206 10 00112233445566778899aabbccddeeff";
  assert.equal(backfillStatusCodec.encode(status).toHex(), named.replaceAll(" ", ""));
  assert.deepEqual(backfillStatusCodec.decode(fromHex(named)), status);
});

Deno.test("nothing stored yet is sent as 0, which is not the same as a cloud without a store", () => {
  const response = handshakeResponseCodec.encode(RESPONSE).toHex();
  for (const [storedThrough, hex] of [[0, "00"], [300, "ac02"]] as const) {
    const answer = { ...RESPONSE, storedThrough };
    assert.equal(handshakeResponseCodec.encode(answer).toHex(), `${response}d006${hex}`);
    assert.deepEqual(handshakeResponseCodec.decode(fromHex(`${response}d006${hex}`)), answer);
    const status = { ackSeq: 5, receivedThrough: 0, storedThrough };
    assert.equal(liveStatusCodec.encode(status).toHex(), `0805a806${hex}`);
    assert.deepEqual(liveStatusCodec.decode(fromHex(`0805a806${hex}`)), status);
  }
  assert.equal(handshakeResponseCodec.decode(fromHex(response)).storedThrough, undefined);
  assert.equal(liveStatusCodec.decode(fromHex("0805")).storedThrough, undefined);
  assert.throws(() => liveStatusCodec.encode({ ackSeq: 5, receivedThrough: 0, storedThrough: -1 }), WireError);
});

Deno.test("digests that leave their window, or have no 8 bytes, and epochs without a name are refused", () => {
  const hash = new Uint8Array(8);
  const request = (digest: { firstSeq: number; lastSeq: number; hash: Uint8Array<ArrayBuffer> }) =>
    handshakeRequestCodec.encode({ ...REQUEST, digests: [digest] });
  assert.throws(() => request({ firstSeq: 0, lastSeq: 5, hash }), /digest of 0 to 5 is not within one window/);
  assert.throws(() => request({ firstSeq: 65_535, lastSeq: 65_536, hash }), /not within one window/);
  assert.throws(() => request({ firstSeq: 9, lastSeq: 8, hash }), /not within one window/);
  assert.throws(() => request({ firstSeq: 1, lastSeq: 8, hash: hash.slice(1) }), /digest has 7 bytes instead of 8/);
  for (const hex of ["da060a 12080000000000000000", "da060c 0801 1201 00 18", "d206021005", "ca060412021005"]) {
    const decode = hex.startsWith("ca") ? handshakeResponseCodec.decode : handshakeRequestCodec.decode;
    assert.throws(() => decode(fromHex(hex)), WireError, hex);
  }
  const many = (count: number, field: string) => fromHex(field.repeat(count));
  const digest = "da060c 0801 1208 0000000000000000".replaceAll(" ", "");
  assert.equal(handshakeRequestCodec.decode(many(MAX_DIGESTS, digest)).digests?.length, MAX_DIGESTS);
  assert.throws(() => handshakeRequestCodec.decode(many(MAX_DIGESTS + 1, digest)), /more than 128 times/);
  const former = "d206 12 0a10 00112233445566778899aabbccddeeff".replaceAll(" ", "");
  assert.equal(handshakeRequestCodec.decode(many(MAX_FORMER_EPOCHS, former)).former?.length, MAX_FORMER_EPOCHS);
  assert.throws(() => handshakeRequestCodec.decode(many(MAX_FORMER_EPOCHS + 1, former)), /more than 64 times/);
});

Deno.test("fields from newer sides are passed over, whatever their type", () => {
  const unknown = [
    "9813 ffffffffffffffffff01", // varint of 64 bits
    "9913 0102030405060708",
    "9a13 03 aabbcc",
    "9d13 01020304",
  ].join("");
  for (const hex of [unknown + "0805", "0805" + unknown]) {
    assert.deepEqual(liveStatusCodec.decode(fromHex(hex)), { ackSeq: 5, receivedThrough: 0 });
  }
  assert.deepEqual(liveUpstreamCodec.decode(fromHex(unknown)), { kind: "unknown" });
  assert.deepEqual(backfillUpstreamCodec.decode(fromHex(unknown)), { block: undefined });
  const within = fromHex("0a0d" + "9813 ffffffffffffffffff01" + "1807");
  assert.throws(() => liveUpstreamCodec.decode(within), WireError, "its last byte is outside");
  within[1] = 14;
  assert.deepEqual(liveUpstreamCodec.decode(within), {
    kind: "frame",
    frame: { seq: 0, timestampUs: 0, canId: 7, data: new Uint8Array(0) },
  });
});

Deno.test("of a field that is there twice the last counts", () => {
  assert.equal(liveStatusCodec.decode(fromHex("08010802")).ackSeq, 2);
  assert.deepEqual(liveUpstreamCodec.decode(fromHex("0a0208011202 0807")), {
    kind: "status",
    status: { headSeq: 7, journalBytes: 0 },
  });
});

Deno.test("the highest number is 2^53 - 1; what is above or negative is refused in both directions", () => {
  const highest = { ackSeq: Number.MAX_SAFE_INTEGER, receivedThrough: 0 };
  assert.equal(liveStatusCodec.encode(highest).toHex(), "08ffffffffffffff0f");
  assert.deepEqual(liveStatusCodec.decode(fromHex("08ffffffffffffff0f")), highest);
  for (const hex of ["0880808080808080 10", "08ffffffffffffffffff01", "08ffffffffffffffff7f"]) {
    assert.throws(() => liveStatusCodec.decode(fromHex(hex)), WireError, hex);
  }
  for (const ackSeq of [-1, 2 ** 53, 0.5, NaN, Infinity]) {
    assert.throws(() => liveStatusCodec.encode({ ackSeq, receivedThrough: 0 }), WireError, String(ackSeq));
  }
  assert.throws(() => liveUpstreamCodec.decode(fromHex("0a06188080808010")), /above 32 bits/);
  assert.throws(
    () => liveUpstreamCodec.encode({ kind: "frame", frame: { ...FRAME, canId: 2 ** 32 } }),
    /above 32 bits/,
  );
});

Deno.test("the highest number of a frame is 2^53 - 2: a range that it ends has an end after it", () => {
  const request = (headSeq: number, head: number) => ({
    ...{ instanceId: "a", headSeq, journalBytes: 0, epoch: undefined, features: [], void: [], oldestSeq: 0 },
    ...{ busNames: [], lost: [], former: [{ epoch: new Uint8Array(16).fill(1), head, oldest: 1, void: [], lost: [] }] },
  });
  const status = (headSeq: number) => ({ kind: "status", status: { headSeq, journalBytes: 0 } }) as const;
  const [highest, above] = [2 ** 53 - 2, 2 ** 53 - 1];
  assert.deepEqual(
    handshakeRequestCodec.decode(handshakeRequestCodec.encode(request(highest, highest))).headSeq,
    highest,
  );
  assert.deepEqual(liveUpstreamCodec.decode(liveUpstreamCodec.encode(status(highest))), status(highest));
  const why = /above 2\^53 - 2/;
  assert.throws(() => handshakeRequestCodec.encode(request(above, 1)), why);
  assert.throws(() => handshakeRequestCodec.encode(request(1, above)), why);
  assert.throws(() => liveUpstreamCodec.encode(status(above)), why);
  for (const hex of ["10 ffffffffffffff0f", "d206 1b 0a10 01010101010101010101010101010101 10 ffffffffffffff0f"]) {
    assert.throws(() => handshakeRequestCodec.decode(fromHex(hex)), why, hex);
  }
  assert.throws(() => liveUpstreamCodec.decode(fromHex("12 09 08 ffffffffffffff0f")), why);
});

Deno.test("a number that does not end, a field without number, a group and a wrong type are refused", () => {
  for (
    const [hex, why] of [
      ["08", /does not end/],
      ["08808080808080808080808001", /does not end/],
      ["9813 ffffffffffffffffffffff01", /does not end/],
      ["0001", /invalid field tag 0/],
      ["f8ffffffff0100", /field tag/],
      ["0b0c", /wire type 3/],
      ["9b13", /wire type 3/],
      ["9f13", /wire type 7/],
      ["0a0101", /wire type 2 instead of 0/],
      ["9a13 05 0102", /truncated/],
      ["9913 01", /truncated/],
    ] as const
  ) {
    assert.throws(
      () => liveStatusCodec.decode(fromHex(hex)),
      (error) => error instanceof WireError && why.test(error.message),
      hex,
    );
  }
});

Deno.test("a range that ends before it starts is refused in both directions", () => {
  assert.throws(() => handshakeResponseCodec.decode(fromHex("12040805 1004")), /range ends before it starts: 5 to 4/);
  assert.throws(
    () => handshakeResponseCodec.encode({ ...RESPONSE, holes: [{ start: 5, end: 4 }] }),
    /range ends before it starts: 5 to 4/,
  );
});

Deno.test("an epoch has 16 bytes or is not there", () => {
  const epoch = new Uint8Array(16).fill(7);
  assert.deepEqual(handshakeRequestCodec.decode(handshakeRequestCodec.encode({ ...REQUEST, epoch })).epoch, epoch);
  assert.throws(() => handshakeRequestCodec.encode({ ...REQUEST, epoch: epoch.slice(1) }), /epoch has 15 bytes/);
  assert.throws(() => handshakeRequestCodec.decode(fromHex("a2060101")), /epoch has 1 bytes/);
});

Deno.test("a text that is not UTF-8 is refused", () => {
  assert.throws(() => handshakeRequestCodec.decode(fromHex("0a02c328")), /field 1 is not UTF-8/);
});

Deno.test("what is at a limit passes, what is one above is refused in both directions", () => {
  const frames = (count: number) => Array<LiveFrame>(count).fill({ ...FRAME, data: new Uint8Array(1) });
  const batch = liveUpstreamCodec.encode({ kind: "batch", frames: frames(MAX_BATCH_FRAMES) });
  assert.equal(liveUpstreamCodec.decode(batch).kind, "batch");
  assert.throws(() => liveUpstreamCodec.encode({ kind: "batch", frames: frames(MAX_BATCH_FRAMES + 1) }), WireError);
  const empty = (count: number, tag: string) => fromHex((tag + "00").repeat(count));
  assert.throws(
    () => liveUpstreamCodec.decode(new Uint8Array([0xa2, 6, 0x82, 0x40, ...empty(MAX_BATCH_FRAMES + 1, "0a")])),
    /more than 4096 times/,
  );
  assert.equal(handshakeResponseCodec.decode(empty(MAX_RANGES, "12")).holes.length, MAX_RANGES);
  assert.throws(() => handshakeResponseCodec.decode(empty(MAX_RANGES + 1, "12")), /more than 100000 times/);
  const holes = Array(MAX_RANGES + 1).fill({ start: 1, end: 2 });
  assert.throws(() => handshakeResponseCodec.encode({ ...RESPONSE, holes }), /over 100000/);
  assert.equal(handshakeRequestCodec.decode(empty(MAX_TEXTS, "aa06")).features.length, MAX_TEXTS);
  assert.throws(() => handshakeRequestCodec.decode(empty(MAX_TEXTS + 1, "aa06")), /more than 64 times/);
  assert.throws(() => handshakeRequestCodec.encode({ ...REQUEST, features: Array(65).fill("a") }), /over 64/);
});

Deno.test("bytes that are more than a field may have are refused in both directions", () => {
  const frame = (size: number) => ({ kind: "frame" as const, frame: { ...FRAME, data: new Uint8Array(size) } });
  const largest = liveUpstreamCodec.encode(frame(MAX_FRAME_DATA_BYTES));
  assert.deepEqual(liveUpstreamCodec.decode(largest), frame(MAX_FRAME_DATA_BYTES));
  assert.throws(() => liveUpstreamCodec.encode(frame(MAX_FRAME_DATA_BYTES + 1)), /1786 bytes, over 1785/);
  const long = new Uint8Array([0x0a, 0xfd, 0x0d, 0x22, 0xfa, 0x0d, ...new Uint8Array(1786)]);
  assert.throws(() => liveUpstreamCodec.decode(long), /1786 bytes, over 1785/);
  const instanceId = "a".repeat(MAX_TEXT_BYTES + 1);
  assert.throws(() => handshakeRequestCodec.encode({ ...REQUEST, instanceId }), /257 bytes, over 256/);
  assert.throws(
    () => handshakeRequestCodec.decode(new Uint8Array([0x0a, 0x81, 0x02, ...new Uint8Array(257)])),
    /257 bytes, over 256/,
  );
  assert.throws(() => liveStatusCodec.decode(new Uint8Array(MAX_MESSAGE_BYTES + 1)), /over 4194304/);
  const block = { ...BLOCK, data: new Uint8Array(MAX_MESSAGE_BYTES - 4) };
  assert.throws(() => backfillUpstreamCodec.encode({ block }), /over 4194304/);
  assert.equal(backfillUpstreamCodec.encode({ block: { ...BLOCK, baseSeq: 1 } }).toHex(), "0a020801");
});

Deno.test("a full handshake of the largest ranges is within the largest message", () => {
  const end = Number.MAX_SAFE_INTEGER;
  const holes = Array.from({ length: MAX_RANGES }, (_, i) => ({ start: end - 2 * i - 1, end: end - 2 * i }));
  const bytes = handshakeResponseCodec.encode({ ...RESPONSE, holes });
  assert.deepEqual(handshakeResponseCodec.decode(bytes).holes, holes);
});

const BLOCK = {
  baseSeq: 0,
  baseTimeUs: 0,
  frameCount: 0,
  data: new Uint8Array(0),
  compressed: false,
  blockSize: 0,
  fileOffset: 0,
  length: 0,
};
