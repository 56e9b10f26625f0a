import { Broker, Ring } from "../../src/broker/mod.ts";
import { Assembler, splitFastPacket } from "../../src/can/mod.ts";
import { compileFilter } from "../../src/filter/mod.ts";
import { type CanFrame, type Message, newStoredFrame } from "../../src/frame/mod.ts";
import { manufacturerCode } from "../../src/pgn/mod.ts";
import { rate, report } from "./figure.ts";

const COUNT = 1_000_000;
const SINGLE_PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];

/** Messages of thirty devices, one in ten of them 43 bytes long; fields are rewritten in place as a bus does. */
function messages(each: (message: Message) => void): void {
  const data = new Uint8Array(64);
  const message: Message = { bus: 0, pgn: 0, id: 0, timeUs: 0, monoMs: 0, data, offset: 0, length: 8 };
  for (let i = 0; i < COUNT; i++) {
    const long = i % 10 === 9;
    message.pgn = long ? 129029 : SINGLE_PGNS[i % 10] ?? 0;
    message.id = (2 << 26) | (message.pgn << 8) | (i % 30);
    message.timeUs = 1.7e15 + i * 500;
    message.monoMs = i / 2;
    message.length = long ? 43 : 8;
    data[0] = i & 0xff;
    each(message);
  }
}

/** CAN frames of twenty devices: half of them single, half of them 43-byte fast packets, interleaved. */
function canFrames(): { ids: Uint32Array; bytes: Uint8Array } {
  const ids = new Uint32Array(COUNT);
  const bytes = new Uint8Array(COUNT * 8);
  const parts = Array.from({ length: 8 }, (_, sequence) => splitFastPacket(new Uint8Array(43).fill(7), sequence));
  for (let i = 0; i < COUNT; i++) {
    const source = (i >> 1) % 20;
    const step = Math.floor((i >> 1) / 20);
    const part = parts[Math.floor(step / 7) & 7]?.[step % 7];
    ids[i] = i % 2 === 0 ? (2 << 26) | (129025 << 8) | source : (3 << 26) | (129029 << 8) | source;
    if (i % 2 === 1 && part) bytes.set(part, i * 8);
  }
  return { ids, bytes };
}

function benchAssembler(): void {
  const { ids, bytes } = canFrames();
  let whole = 0;
  const assembler = new Assembler(() => whole++);
  const frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: bytes, offset: 0, length: 8 };
  const value = rate(COUNT, () => {
    for (let i = 0; i < COUNT; i++) {
      frame.id = ids[i] ?? 0;
      frame.offset = i * 8;
      frame.monoMs += 0.5;
      assembler.push(frame);
    }
  });
  if (whole === 0) throw new Error("The assembler made no message");
  report({ name: "assembler", value, unit: "frames/s", bar: ">= 2000000" });
}

function benchRing(): void {
  const ring = new Ring();
  const write = rate(COUNT, () => messages((message) => ring.push(ring.head + 1, message)));
  report({ name: "ring write", value: write, unit: "frames/s" });
  const stored = newStoredFrame();
  let sum = 0;
  const read = rate(ring.size, () => {
    for (let seq = ring.oldest; seq <= ring.head; seq++) if (ring.read(seq, stored)) sum += stored.length;
  });
  if (sum === 0) throw new Error("The ring gave nothing back");
  report({ name: "ring read", value: read, unit: "frames/s" });
}

function benchFilter(): void {
  const filter = { pgn: [129025, 129026, 127250], exclude_pgn: [127488], manufacturer: ["Garmin"] };
  const { accept, learn } = compileFilter(filter, { buses: ["can0"], manufacturerCode });
  learn({ bus: 0, src: 10, name: 1n, manufacturerCode: 229, deviceInstance: 0 });
  let accepted = 0;
  const value = rate(COUNT, () => messages(({ id, pgn }) => accepted += accept(0, id & 0xff, pgn) ? 1 : 0));
  if (accepted === 0) throw new Error("The filter accepted nothing");
  report({ name: "filter", value, unit: "frames/s" });
}

/** Figures of the core, each on one core and in this process. */
export function coreBench(): void {
  benchAssembler();
  const broker = new Broker({ buses: ["can0"] });
  const publish = rate(COUNT, () => messages((message) => broker.publish(message)));
  report({ name: "publish", value: publish, unit: "frames/s", bar: ">= 3000000" });
  benchRing();
  benchFilter();
  const subscriptions = Array.from({ length: 100 }, () => broker.subscribe({ capacity: 1024 }));
  const fanOut = rate(COUNT, () =>
    messages((message) => {
      broker.publish(message);
      if (message.monoMs % 250 === 0) { for (const each of subscriptions) each.drain(() => {}); }
    }), 3);
  report({ name: "publish to 100 subscriptions", value: fanOut * 100, unit: "deliveries/s" });
  const { ring, json } = broker;
  const texts = rate(ring.size, () => {
    for (let seq = ring.oldest; seq <= ring.head; seq++) json.of(seq);
  }, 3);
  report({ name: "frame JSON, first demand", value: texts, unit: "frames/s" });
}
