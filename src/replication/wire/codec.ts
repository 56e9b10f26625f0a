import type { Range } from "../../base/mod.ts";
import { readDigest, readFormer, readFormerHoles, writeDigests, writeFormer, writeFormerHoles } from "./epochs.ts";
import { readEpoch, readLost, readPair, readRange, writeEpoch, writeLost, writeRanges } from "./ranges.ts";
import { WireError, WireReader, WireWriter } from "./wire.ts";
import {
  type BackfillBlock,
  type BackfillStatus,
  type BackfillUpstream,
  type BoatStatus,
  type FormerEpoch,
  type FormerHoles,
  type HandshakeRequest,
  type HandshakeResponse,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  type LostRange,
  MAX_BATCH_FRAMES,
  MAX_FRAME_DATA_BYTES,
  MAX_MESSAGE_BYTES,
  MAX_RANGES,
  MAX_TEXT_BYTES,
  MAX_TEXTS,
  type RejectedBlock,
} from "./messages.ts";
import type { WindowDigest } from "../../journal/mod.ts";

/**
 * One kind of message, to bytes and back. Fields have the numbers of `replication.proto`.
 *
 * Decoding passes over fields it does not know, takes the last of a field that is there twice, and refuses what is cut
 * short, above a limit of {@linkcode MAX_RANGES} and the like, or above 2^53 - 1. Encoding refuses the same.
 */
export interface Codec<T> {
  /** @throws {WireError} a value that its field cannot have */
  encode(message: T): Uint8Array<ArrayBuffer>;
  /** @throws {WireError} bytes that are no such message, whatever they are */
  decode(bytes: Uint8Array): T;
}

const TEXT = { max: MAX_TEXT_BYTES };
const TEXTS = { max: MAX_TEXT_BYTES, maxTexts: MAX_TEXTS };

/** Shared by all: encoding is never interrupted. */
const writer = new WireWriter();

function codec<T>(write: (writer: WireWriter, message: T) => void, read: (reader: WireReader) => T): Codec<T> {
  return {
    encode(message) {
      write(writer.reset(), message);
      if (writer.length > MAX_MESSAGE_BYTES) {
        throw new WireError(`message has ${writer.length} bytes, over ${MAX_MESSAGE_BYTES}`);
      }
      return writer.finish();
    },
    decode(bytes) {
      if (bytes.length > MAX_MESSAGE_BYTES) {
        throw new WireError(`message has ${bytes.length} bytes, over ${MAX_MESSAGE_BYTES}`);
      }
      return read(new WireReader(bytes));
    },
  };
}

/** `HandshakeRequest`. */
export const handshakeRequestCodec: Codec<HandshakeRequest> = codec(writeHandshakeRequest, readHandshakeRequest);
/** `HandshakeResponse`. */
export const handshakeResponseCodec: Codec<HandshakeResponse> = codec(writeHandshakeResponse, readHandshakeResponse);
/** `LiveUpstream`. */
export const liveUpstreamCodec: Codec<LiveUpstream> = codec(writeLiveUpstream, readLiveUpstream);
/** `LiveStatus`. */
export const liveStatusCodec: Codec<LiveStatus> = codec(writeLiveStatus, readLiveStatus);
/** `BackfillUpstream`. */
export const backfillUpstreamCodec: Codec<BackfillUpstream> = codec(writeBackfillUpstream, readBackfillUpstream);
/** `BackfillStatus`. */
export const backfillStatusCodec: Codec<BackfillStatus> = codec(writeBackfillStatus, readBackfillStatus);

function writeHandshakeRequest(w: WireWriter, message: HandshakeRequest): void {
  writeDigests(w, 107, message.digests ?? []);
  writeFormer(w, 106, message.former ?? []);
  writeLost(w, 105, message.lost);
  w.texts(104, message.busNames, TEXTS);
  w.uint64(103, message.oldestSeq);
  writeRanges(w, 102, message.void);
  w.texts(101, message.features, TEXTS);
  writeEpoch(w, 100, message.epoch);
  w.uint64(3, message.journalBytes);
  w.uint64(2, message.headSeq);
  w.text(1, message.instanceId, TEXT);
}

function readHandshakeRequest(r: WireReader): HandshakeRequest {
  const [features, voids, busNames, lost]: [string[], Range[], string[], LostRange[]] = [[], [], [], []];
  const [former, digests]: [FormerEpoch[], WindowDigest[]] = [[], []];
  let [instanceId, headSeq, journalBytes, oldestSeq] = ["", 0, 0, 0];
  let epoch: Uint8Array<ArrayBuffer> | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) instanceId = r.text(MAX_TEXT_BYTES);
    else if (field === 2) headSeq = r.uint64();
    else if (field === 3) journalBytes = r.uint64();
    else if (field === 100) epoch = readEpoch(r);
    else if (field === 101) readText(r, features);
    else if (field === 102) readRange(r, voids);
    else if (field === 103) oldestSeq = r.uint64();
    else if (field === 104) readText(r, busNames);
    else if (field === 105) readLost(r, lost);
    else if (field === 106) readFormer(r, former);
    else if (field === 107) readDigest(r, digests);
    else r.skip();
  }
  const ours = { ...(former.length > 0 && { former }), ...(digests.length > 0 && { digests }) };
  return { instanceId, headSeq, journalBytes, epoch, features, void: voids, oldestSeq, busNames, lost, ...ours };
}

function writeHandshakeResponse(w: WireWriter, message: HandshakeResponse): void {
  writeFormerHoles(w, 105, message.formerHoles ?? []);
  w.uint32(104, message.rateBurst);
  w.uint32(103, message.rateLimit);
  w.uint64(102, message.durableThrough);
  w.bool(101, message.known);
  w.texts(100, message.features, TEXTS);
  w.uint64(3, message.liveStartFrom);
  writeRanges(w, 2, message.holes);
  w.uint64(1, message.cursor);
}

function readHandshakeResponse(r: WireReader): HandshakeResponse {
  const [holes, features, formerHoles]: [Range[], string[], FormerHoles[]] = [[], [], []];
  const numbers = { cursor: 0, liveStartFrom: 0, durableThrough: 0, rateLimit: 0, rateBurst: 0 };
  let known = false;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) numbers.cursor = r.uint64();
    else if (field === 2) readRange(r, holes);
    else if (field === 3) numbers.liveStartFrom = r.uint64();
    else if (field === 100) readText(r, features);
    else if (field === 101) known = r.bool();
    else if (field === 102) numbers.durableThrough = r.uint64();
    else if (field === 103) numbers.rateLimit = r.uint32();
    else if (field === 104) numbers.rateBurst = r.uint32();
    else if (field === 105) readFormerHoles(r, formerHoles);
    else r.skip();
  }
  return { ...numbers, holes, features, known, ...(formerHoles.length > 0 && { formerHoles }) };
}

function writeLiveUpstream(w: WireWriter, message: LiveUpstream): void {
  if (message.kind === "frame") {
    writeFrame(w, message.frame);
    w.message(1, 0);
  } else if (message.kind === "status") {
    w.uint64(2, message.status.journalBytes);
    w.uint64(1, message.status.headSeq);
    w.message(2, 0);
  } else if (message.kind === "batch") {
    w.list(1, message.frames, {
      max: MAX_BATCH_FRAMES,
      write: (frame) => {
        const end = w.length;
        writeFrame(w, frame);
        w.message(1, end);
      },
    });
    w.message(100, 0);
  }
}

function readLiveUpstream(r: WireReader): LiveUpstream {
  let message: LiveUpstream = { kind: "unknown" };
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) message = { kind: "frame", frame: r.message(frameOf) };
    else if (field === 2) message = { kind: "status", status: r.message(boatStatusOf) };
    else if (field === 100) message = { kind: "batch", frames: r.message(framesOf) };
    else r.skip();
  }
  return message;
}

function writeFrame(w: WireWriter, { seq, timestampUs, canId, data }: LiveFrame): void {
  w.bytes(4, data, { max: MAX_FRAME_DATA_BYTES });
  w.uint32(3, canId);
  w.uint64(2, timestampUs);
  w.uint64(1, seq);
}

function frameOf(r: WireReader): LiveFrame {
  let [seq, timestampUs, canId, data] = [0, 0, 0, NO_BYTES];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) seq = r.uint64();
    else if (field === 2) timestampUs = r.uint64();
    else if (field === 3) canId = r.uint32();
    else if (field === 4) data = r.bytes(MAX_FRAME_DATA_BYTES);
    else r.skip();
  }
  return { seq, timestampUs, canId, data };
}

function framesOf(r: WireReader): LiveFrame[] {
  const frames: LiveFrame[] = [];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) r.push(frames, { max: MAX_BATCH_FRAMES, read: () => r.message(frameOf) });
    else r.skip();
  }
  return frames;
}

function boatStatusOf(r: WireReader): BoatStatus {
  const [headSeq, journalBytes] = readPair(r);
  return { headSeq, journalBytes };
}

function writeLiveStatus(w: WireWriter, { ackSeq, receivedThrough }: LiveStatus): void {
  w.uint64(100, receivedThrough);
  w.uint64(1, ackSeq);
}

function readLiveStatus(r: WireReader): LiveStatus {
  let [ackSeq, receivedThrough] = [0, 0];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) ackSeq = r.uint64();
    else if (field === 100) receivedThrough = r.uint64();
    else r.skip();
  }
  return { ackSeq, receivedThrough };
}

function writeBackfillUpstream(w: WireWriter, { block }: BackfillUpstream): void {
  if (!block) return;
  writeEpoch(w, 102, block.epoch);
  w.uint32(101, block.length);
  w.uint64(100, block.fileOffset);
  w.uint32(6, block.blockSize);
  w.bool(5, block.compressed);
  w.bytes(4, block.data, { max: MAX_MESSAGE_BYTES });
  w.uint32(3, block.frameCount);
  w.uint64(2, block.baseTimeUs);
  w.uint64(1, block.baseSeq);
  w.message(1, 0);
}

function readBackfillUpstream(r: WireReader): BackfillUpstream {
  let block: BackfillBlock | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) block = r.message(blockOf);
    else r.skip();
  }
  return { block };
}

function blockOf(r: WireReader): BackfillBlock {
  const numbers = { baseSeq: 0, baseTimeUs: 0, frameCount: 0, blockSize: 0, fileOffset: 0, length: 0 };
  let [data, compressed] = [NO_BYTES, false];
  let epoch: Uint8Array<ArrayBuffer> | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) numbers.baseSeq = r.uint64();
    else if (field === 2) numbers.baseTimeUs = r.uint64();
    else if (field === 3) numbers.frameCount = r.uint32();
    else if (field === 4) data = r.bytes(MAX_MESSAGE_BYTES);
    else if (field === 5) compressed = r.bool();
    else if (field === 6) numbers.blockSize = r.uint32();
    else if (field === 100) numbers.fileOffset = r.uint64();
    else if (field === 101) numbers.length = r.uint32();
    else if (field === 102) epoch = readEpoch(r);
    else r.skip();
  }
  return { ...numbers, data, compressed, ...(epoch && { epoch }) };
}

function writeBackfillStatus(w: WireWriter, message: BackfillStatus): void {
  writeEpoch(w, 102, message.epoch);
  w.list(101, message.rejected, {
    max: MAX_RANGES,
    write: ({ baseSeq, reason }) => {
      const end = w.length;
      w.text(2, reason, TEXT);
      w.uint64(1, baseSeq);
      w.message(101, end);
    },
  });
  writeRanges(w, 100, message.filled);
  writeRanges(w, 2, message.remaining);
  w.uint64(1, message.continuousThrough);
}

function readBackfillStatus(r: WireReader): BackfillStatus {
  const [remaining, filled, rejected]: [Range[], Range[], RejectedBlock[]] = [[], [], []];
  let continuousThrough = 0;
  let epoch: Uint8Array<ArrayBuffer> | undefined;
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) continuousThrough = r.uint64();
    else if (field === 2) readRange(r, remaining);
    else if (field === 100) readRange(r, filled);
    else if (field === 101) r.push(rejected, { max: MAX_RANGES, read: () => r.message(rejectedOf) });
    else if (field === 102) epoch = readEpoch(r);
    else r.skip();
  }
  return { continuousThrough, remaining, filled, rejected, ...(epoch && { epoch }) };
}

function rejectedOf(r: WireReader): RejectedBlock {
  let [baseSeq, reason] = [0, ""];
  for (let field = r.next(); field !== 0; field = r.next()) {
    if (field === 1) baseSeq = r.uint64();
    else if (field === 2) reason = r.text(MAX_TEXT_BYTES);
    else r.skip();
  }
  return { baseSeq, reason };
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

function readText(r: WireReader, into: string[]): void {
  r.push(into, { max: MAX_TEXTS, read: () => r.text(MAX_TEXT_BYTES) });
}
