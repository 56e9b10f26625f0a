import assert from "node:assert/strict";
import { CANDUMP_FORMAT, type FrameFormat, FrameWriter, PCAP_FORMAT } from "../../src/export/can_frames.ts";
import { buildCanId, newStoredFrame, pgnOfId, type StoredFrame } from "../../src/frame/mod.ts";

const TIME_US = 1_502_984_866_421_964;
const ORIGINS = { busName: (bus: number) => ["slcan0", "", "my bus"][bus] ?? "", nameOf: () => undefined };

/** A message as a block has it: its bytes lie between others. */
function frame(
  { pgn = 127250, src = 4, dst = 255, prio = 2, data = [1, 0xab], timeUs = TIME_US, bus = 0 }: {
    pgn?: number;
    src?: number;
    dst?: number;
    prio?: number;
    data?: number[];
    timeUs?: number;
    bus?: number;
  },
): StoredFrame {
  const id = buildCanId({ prio, pgn, src, dst });
  const bytes = Uint8Array.from([0xee, ...data, 0xee]);
  return { ...newStoredFrame(), id, pgn: pgnOfId(id), bus, timeUs, data: bytes, offset: 1, length: data.length };
}

/** What a writer makes of messages, and which of them it cannot carry. */
function written(format: FrameFormat, frames: readonly StoredFrame[]): { bytes: Uint8Array; refused: number } {
  const writer = new FrameWriter(format, ORIGINS);
  const refused = frames.filter((each) => !writer.add(each)).length;
  return { bytes: writer.take().slice(), refused };
}

const linesOf = (...frames: StoredFrame[]) =>
  new TextDecoder().decode(written(CANDUMP_FORMAT, frames).bytes).trimEnd().split("\n");

Deno.test("a line of candump's log has time, interface, identifier and data", () => {
  assert.deepEqual(linesOf(frame({}), frame({ bus: 1, data: [] }), frame({ bus: 2, timeUs: 7 })), [
    "(1502984866.421964) slcan0 09F11204#01AB",
    "(1502984866.421964) can1 09F11204#",
    "(0000000000.000007) my_bus 09F11204#01AB",
  ]);
});

Deno.test("fast packets and sessions are split: counters count up, sessions have the priority of their message", () => {
  const data = Array.from({ length: 9 }, (_, i) => i);
  const texts = linesOf(
    ...[0, 1].map(() => frame({ pgn: 129029, data })),
    frame({ pgn: 60928, dst: 9, prio: 6, data }),
    frame({ pgn: 127489, data: [7] }),
  ).map((line) => line.split(" ").at(-1));
  assert.deepEqual(texts, [
    "09F80504#0009000102030405",
    "09F80504#01060708FFFFFFFF",
    "09F80504#2009000102030405",
    "09F80504#21060708FFFFFFFF",
    "18EC0904#10090002FF00EE00",
    "18EB0904#0100010203040506",
    "18EB0904#020708FFFFFFFFFF",
    "09F20104#000107FFFFFFFFFF",
  ]);
});

Deno.test("a capture has a header, and for each frame a record with a SocketCAN header", () => {
  const { bytes } = written(PCAP_FORMAT, [frame({})]);
  assert.equal(
    bytes.toHex(),
    "d4c3b2a1" + "02000400" + "00000000" + "00000000" + "ffff0000" + "e3000000" +
      "a2ba9559" + "4c700600" + "0a000000" + "0a000000" + "89f11204" + "02000000" + "01ab",
  );
});

Deno.test("messages that no frames can carry, and times that a format cannot, are refused", () => {
  const long = Array.from({ length: 1786 }, () => 1);
  const never = [frame({ pgn: 129029, data: [] }), frame({ data: long }), frame({ timeUs: -1 })];
  assert.equal(written(CANDUMP_FORMAT, never).refused, never.length);
  assert.equal(written(CANDUMP_FORMAT, [frame({ data: long.slice(1) }), frame({ timeUs: 2 ** 32 * 1e6 })]).refused, 0);
  assert.equal(
    written(PCAP_FORMAT, [frame({ timeUs: 2 ** 32 * 1e6 }), frame({ timeUs: 2 ** 32 * 1e6 - 1 })]).refused,
    1,
  );
});
