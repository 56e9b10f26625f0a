import assert from "node:assert/strict";
import { createSourceBus, parseBusSource, readRecording, type RecordingFormat } from "../../../src/can/mod.ts";
import { parseCanId } from "../../../src/frame/mod.ts";
import { bst93, bstD0 } from "../../support/ebl.ts";
import { GatewayPeer } from "../../support/gateway_peer.ts";
import { GatewaySink, itemsOfRecording, messagesOfRecording } from "../../support/gateway_sink.ts";
import { allowed, needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { cut, sampleBytes, SAMPLES, streamOf } from "../../support/recordings.ts";
import { pause, until } from "../../contract/recorder.ts";

const READ = needs({ permissions: ["net", "read"] });
const FOLDER = new URL("../../../../shared/data/recordings/", import.meta.url);
const WHOLE = ["candumpSample3.txt", "ikonvert.log", "merrimac-ydwg-2020.raw", "simulator1.raw", "strings.raw"];
const THERE = needs({
  permissions: ["net", "read"],
  extras: { "whole recordings beside the repository": pathExists() },
});

function pathExists(): boolean {
  try {
    return allowed("read") && Deno.statSync(FOLDER).isDirectory;
  } catch {
    return false;
  }
}

/** Whole messages of a recording in a form that no sample has. */
async function rewritten(form: "n2k-ascii" | "actisense"): Promise<Uint8Array> {
  const lines: string[] = [];
  const bytes: number[] = [];
  for await (const { id, data, timeUs } of readRecording(streamOf([sampleBytes("ikonvert_head.txt")]))) {
    const header = parseCanId(id);
    const message = { ...header, stamp: Math.floor(timeUs / 1000), data: [...data] };
    const body = data.length > 223 ? bstD0(message) : bst93(message);
    const sum = -body.reduce((a, b) => a + b, 0) & 0xff;
    bytes.push(0x10, 2, ...[...body, sum].flatMap((byte) => byte === 0x10 ? [byte, byte] : [byte]), 0x10, 3);
    const time = new Date(timeUs / 1000).toISOString().slice(11, 23).replaceAll(":", "");
    const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, "0");
    const { src, dst, prio, pgn } = header;
    lines.push(`A${time} ${hex(src, 2)}${hex(dst, 2)}${prio} ${hex(pgn, 5)} ${data.toHex().toUpperCase()}`);
  }
  return form === "actisense" ? Uint8Array.from(bytes) : new TextEncoder().encode(lines.join("\r\n") + "\r\n");
}

/** What a bus gives of bytes that a gateway sends in pieces. */
async function replayed(pieces: Iterable<Uint8Array>, format: RecordingFormat | undefined): Promise<GatewaySink> {
  const peer = new GatewayPeer();
  const bus = createSourceBus(parseBusSource(`tcp://127.0.0.1:${peer.port}${format ? `#${format}` : ""}`));
  const sink = new GatewaySink();
  await bus.open(sink);
  await until("it is connected", () => peer.open === 1);
  for (const piece of pieces) {
    await peer.say(piece);
    await pause(0);
  }
  peer.hangUp();
  await until("the end is seen", () => bus.state.type === "missing");
  await bus.close();
  await peer.stop();
  sink.finish();
  return sink;
}

/** Bytes whose last line is a whole one: what a connection has cut off is not read. */
function ended(bytes: Uint8Array): Uint8Array {
  const all = new Uint8Array(bytes.length + 1);
  all.set(bytes);
  all[bytes.length] = 0x0a;
  return all;
}

Deno.test("a gateway that sends what a recording holds gives its frames and messages, one by one", READ, async () => {
  for (const { file, format } of SAMPLES) {
    const bytes = ended(sampleBytes(file));
    const expected = await itemsOfRecording(bytes, format);
    for (const told of [format, undefined]) {
      const { heard } = await replayed(cut(bytes, { random: new Random(1), most: 3000 }), told);
      assert.deepEqual(heard, expected, `${file}, ${told ?? "not told"}`);
    }
  }
});

Deno.test("N2K ASCII and Actisense's line give the messages that they were made of", READ, async () => {
  const expected = await messagesOfRecording(sampleBytes("ikonvert_head.txt"), "ikonvert");
  for (const format of ["n2k-ascii", "actisense"] as const) {
    const bytes = await rewritten(format);
    assert.deepEqual(await messagesOfRecording(bytes, format), expected);
    for (const told of [format, undefined]) {
      const sink = await replayed(cut(bytes, { random: new Random(2), most: 500 }), told);
      assert.deepEqual(sink.messages, expected, `${format}, ${told ?? "not told"}`);
      assert.ok(sink.wholeLengths.some((length) => length > 8) && sink.frames.length > 0);
    }
  }
});

Deno.test("whole recordings come through a gateway as they are", THERE, async () => {
  for (const file of WHOLE) {
    const bytes = ended(Deno.readFileSync(new URL(file, FOLDER)));
    const { heard } = await replayed(cut(bytes, { random: new Random(3), most: 20_000 }), undefined);
    assert.deepEqual(heard, await itemsOfRecording(bytes), file);
  }
});

Deno.test("pieces of any size give the same frames and messages", READ, async () => {
  for (const [seed, { file, format }] of SAMPLES.entries()) {
    for (const { most, length } of [{ most: 1, length: 150 }, { most: 40, length: 1500 }]) {
      const bytes = ended(sampleBytes(file).subarray(0, length));
      const { heard } = await replayed(cut(bytes, { random: new Random(seed), most }), undefined);
      assert.deepEqual(heard, await itemsOfRecording(bytes, format), `${file} in pieces of up to ${most}`);
    }
  }
});
