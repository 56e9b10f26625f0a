import type { Range } from "../../base/mod.ts";
import {
  type ClockSpan,
  DIGEST_BYTES,
  isClockRate,
  MAX_CLOCK_SPANS,
  type WindowDigest,
  windowEnd,
  windowStart,
} from "../../journal/mod.ts";
import {
  BOOL,
  bytes,
  exactBytes,
  type FieldType,
  list,
  message,
  type MessageType,
  nested,
  optional,
  PRESENT_UINT64,
  SEQ,
  text,
  texts,
  UINT32,
  UINT64,
} from "./fields.ts";
import { WireError, WireReader, WireWriter } from "./wire.ts";
import {
  type BackfillBlock,
  type BackfillStatus,
  type BackfillUpstream,
  type BoatStatus,
  EPOCH_BYTES,
  type FormerEpoch,
  type FormerHoles,
  type HandshakeRequest,
  type HandshakeResponse,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  type LostRange,
  MAX_BATCH_FRAMES,
  MAX_DIGESTS,
  MAX_FORMER_EPOCHS,
  MAX_FRAME_DATA_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_RANGES,
  MAX_TEXT_BYTES,
  MAX_TEXTS,
  type RejectedBlock,
} from "./messages.ts";

/**
 * Encodes and decodes one type of message. Field numbers are those of `replication.proto`.
 *
 * Decoding skips unknown fields and takes the last value of a repeated scalar. It refuses truncated messages, values
 * beyond a limit such as {@linkcode MAX_RANGES}, and numbers above 2^53 - 1. Encoding refuses the same values.
 */
export interface Codec<T> {
  /** @throws {WireError} a value that its field cannot have */
  encode(message: T): Uint8Array<ArrayBuffer>;
  /** @throws {WireError} not a valid message; the only error, whatever the bytes are */
  decode(bytes: Uint8Array): T;
}

/** Shared by all codecs: encoding is synchronous. */
const writer = new WireWriter();

function codec<T>({ write, read }: MessageType<T>): Codec<T> {
  const checkLength = (length: number) => {
    if (length > MAX_MESSAGE_BYTES) throw new WireError(`message has ${length} bytes, over ${MAX_MESSAGE_BYTES}`);
  };
  return {
    encode(message) {
      write(writer.reset(), message);
      checkLength(writer.length);
      return writer.finish();
    },
    decode(bytes) {
      checkLength(bytes.length);
      return read(new WireReader(bytes));
    },
  };
}

const TEXT = text(MAX_TEXT_BYTES);
const TEXTS = texts(MAX_TEXT_BYTES, MAX_TEXTS);
const EPOCH = exactBytes("epoch", EPOCH_BYTES);
/** Empty is the same as absent. */
const REFUSED: FieldType<string | undefined> = { ...optional(TEXT), read: (r) => TEXT.read(r) || undefined };

/** False is the same as absent. */
const TRUE: FieldType<boolean | undefined> = { ...optional(BOOL), read: (r) => BOOL.read(r) || undefined };

/** Written out instead of a schema, for speed: a handshake has up to {@linkcode MAX_RANGES} of them. */
const RANGE: MessageType<Range> = {
  write(w, range) {
    checkOrder(range);
    w.uint64(2, range.end);
    w.uint64(1, range.start);
  },
  read(r) {
    let [start, end] = [0, 0];
    for (let field = r.next(); field !== 0; field = r.next()) {
      if (field === 1) start = r.uint64();
      else if (field === 2) end = r.uint64();
      else r.skip();
    }
    const range = { start, end };
    checkOrder(range);
    return range;
  },
};
const RANGES = list(RANGE, MAX_RANGES);
const LOST = list(
  message<LostRange>({ start: [1, UINT64], end: [2, UINT64], reason: [3, TEXT] }, checkOrder),
  MAX_RANGES,
);

function checkOrder({ start, end }: Range): void {
  if (end < start) throw new WireError(`range ends before it starts: ${start} to ${end}`);
}

const WIRE_DIGEST = message<WindowDigest>({
  firstSeq: [1, UINT64],
  hash: [2, exactBytes("digest", DIGEST_BYTES)],
  lastSeq: [3, UINT64],
});

/** On the wire, the last number 0 means the end of the window. */
const DIGESTS = list<WindowDigest>({
  write(w, digest) {
    checkWindow(digest);
    WIRE_DIGEST.write(w, { ...digest, lastSeq: digest.lastSeq === windowEnd(digest.firstSeq) ? 0 : digest.lastSeq });
  },
  read(r) {
    const digest = WIRE_DIGEST.read(r);
    if (digest.lastSeq === 0) digest.lastSeq = windowEnd(digest.firstSeq);
    checkWindow(digest);
    return digest;
  },
}, MAX_DIGESTS);

function checkWindow({ firstSeq, lastSeq }: WindowDigest): void {
  if (firstSeq >= 1 && lastSeq >= firstSeq && windowStart(firstSeq) === windowStart(lastSeq)) return;
  throw new WireError(`digest of ${firstSeq} to ${lastSeq} is not within one window`);
}

const FORMER_EPOCHS = list(
  message<FormerEpoch>({
    epoch: [1, EPOCH],
    head: [2, SEQ],
    oldest: [3, UINT64],
    void: [4, RANGES],
    lost: [5, LOST],
    digests: [6, optional(DIGESTS)],
  }),
  MAX_FORMER_EPOCHS,
);
const FORMER_HOLES = list(
  message<FormerHoles>({ epoch: [1, EPOCH], holes: [2, RANGES], refused: [3, REFUSED], isUnstored: [4, TRUE] }),
  MAX_FORMER_EPOCHS,
);

/** `HandshakeRequest`. */
export const handshakeRequestCodec: Codec<HandshakeRequest> = codec(message<HandshakeRequest>({
  instanceId: [1, TEXT],
  headSeq: [2, SEQ],
  journalBytes: [3, UINT64],
  epoch: [100, { ...optional(EPOCH), initial: () => undefined }],
  features: [101, TEXTS],
  void: [102, RANGES],
  oldestSeq: [103, UINT64],
  busNames: [104, TEXTS],
  lost: [105, LOST],
  former: [106, optional(FORMER_EPOCHS)],
  digests: [107, optional(DIGESTS)],
}));

/** `HandshakeResponse`. */
export const handshakeResponseCodec: Codec<HandshakeResponse> = codec(message<HandshakeResponse>({
  cursor: [1, UINT64],
  holes: [2, RANGES],
  liveStartFrom: [3, UINT64],
  features: [100, TEXTS],
  known: [101, BOOL],
  durableThrough: [102, UINT64],
  rateLimit: [103, UINT32],
  rateBurst: [104, UINT32],
  formerHoles: [105, optional(FORMER_HOLES)],
  storedThrough: [106, PRESENT_UINT64],
}));

/** Written out, too: a message has up to {@linkcode MAX_BATCH_FRAMES} of them. */
const FRAME: MessageType<LiveFrame> = {
  write(w, { seq, timestampUs, canId, data }) {
    w.bytes(4, data, { max: MAX_FRAME_DATA_BYTES });
    w.uint32(3, canId);
    w.uint64(2, timestampUs);
    w.uint64(1, seq);
  },
  read(r) {
    let [seq, timestampUs, canId, data] = [0, 0, 0, NO_BYTES];
    for (let field = r.next(); field !== 0; field = r.next()) {
      if (field === 1) seq = r.uint64();
      else if (field === 2) timestampUs = r.uint64();
      else if (field === 3) canId = r.uint32();
      else if (field === 4) data = r.bytes(MAX_FRAME_DATA_BYTES);
      else r.skip();
    }
    return { seq, timestampUs, canId, data };
  },
};
const NO_BYTES: Uint8Array = new Uint8Array(0);

const FRAMES: FieldType<readonly LiveFrame[]> = list(FRAME, MAX_BATCH_FRAMES);
const BATCH: MessageType<readonly LiveFrame[]> = {
  write: (w, frames) => FRAMES.write(w, 1, frames),
  read(r) {
    const frames: LiveFrame[] = [];
    for (let field = r.next(); field !== 0; field = r.next()) {
      if (field === 1) FRAMES.read(r, frames);
      else r.skip();
    }
    return frames;
  },
};

const RATE_SCALE = 1e12;
/** True microseconds that pass in a recorded one, times 10^12. */
const RATE: FieldType<number> = {
  initial: () => 1,
  write: (w, field, rate) => w.uint64(field, Math.round(rate * RATE_SCALE)),
  read(r) {
    const rate = r.uint64() / RATE_SCALE;
    if (!isClockRate(rate)) throw new WireError(`rate ${rate} of a clock is impossible`);
    return rate;
  },
};
/** Sequence numbers begin at 1. */
const LAST_SEQ: FieldType<number | undefined> = {
  initial: () => undefined,
  write: (w, field, value) => w.uint64(field, value ?? 0),
  read: (r) => r.uint64() || undefined,
};
const CLOCK = message<{ spans: readonly ClockSpan[] }>({
  spans: [
    1,
    list(
      message<ClockSpan>({
        epochWord: [1, UINT32],
        firstSeq: [2, UINT64],
        lastSeq: [3, LAST_SEQ],
        recordedUs: [4, UINT64],
        trueUs: [5, UINT64],
        rate: [6, RATE],
      }),
      MAX_CLOCK_SPANS,
    ),
  ],
});

const BOAT_STATUS = message<BoatStatus>({ headSeq: [1, SEQ], journalBytes: [2, UINT64] });

/** `LiveUpstream`, which has at most one of its fields. */
export const liveUpstreamCodec: Codec<LiveUpstream> = codec({
  write(w, upstream) {
    if (upstream.kind === "frame") nested(FRAME).write(w, 1, upstream.frame);
    else if (upstream.kind === "status") nested(BOAT_STATUS).write(w, 2, upstream.status);
    else if (upstream.kind === "batch") nested(BATCH).write(w, 100, upstream.frames);
    else if (upstream.kind === "clock") nested(CLOCK).write(w, 101, upstream);
  },
  read(r) {
    let upstream: LiveUpstream = { kind: "unknown" };
    for (let field = r.next(); field !== 0; field = r.next()) {
      if (field === 1) upstream = { kind: "frame", frame: r.message(FRAME.read) };
      else if (field === 2) upstream = { kind: "status", status: r.message(BOAT_STATUS.read) };
      else if (field === 100) upstream = { kind: "batch", frames: r.message(BATCH.read) };
      else if (field === 101) upstream = { kind: "clock", ...r.message(CLOCK.read) };
      else r.skip();
    }
    return upstream;
  },
});

/** `LiveStatus`. */
export const liveStatusCodec: Codec<LiveStatus> = codec(message<LiveStatus>({
  ackSeq: [1, UINT64],
  receivedThrough: [100, UINT64],
  storedThrough: [101, PRESENT_UINT64],
  collectMs: [102, optional(UINT32)],
}));

const BLOCK = message<BackfillBlock>({
  baseSeq: [1, UINT64],
  baseTimeUs: [2, UINT64],
  frameCount: [3, UINT32],
  data: [4, bytes(MAX_MESSAGE_BYTES)],
  compressed: [5, BOOL],
  blockSize: [6, UINT32],
  fileOffset: [100, UINT64],
  length: [101, UINT32],
  epoch: [102, optional(EPOCH)],
});
/** `BackfillUpstream`. */
export const backfillUpstreamCodec: Codec<BackfillUpstream> = codec(message<BackfillUpstream>({
  block: [1, nested(BLOCK)],
}));

/** `BackfillStatus`. */
export const backfillStatusCodec: Codec<BackfillStatus> = codec(message<BackfillStatus>({
  continuousThrough: [1, UINT64],
  remaining: [2, RANGES],
  filled: [100, RANGES],
  rejected: [101, list(message<RejectedBlock>({ baseSeq: [1, UINT64], reason: [2, TEXT] }), MAX_RANGES)],
  epoch: [102, optional(EPOCH)],
}));
