import assert from "node:assert/strict";
import type { BusState } from "../../src/can/mod.ts";
import { formatHex, parseCanId } from "../../src/frame/mod.ts";
import { TransmitError } from "../../src/transmit/mod.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { Random } from "../support/random.ts";
import { outgoing, StubbornBus, watch, Wire, type WireFrame } from "../support/tp_wire.ts";

const random = new Random(127250);
const SINGLE = 127250;
const FAST = 129029;
/** Real devices send it in one frame, and as a fast packet. */
const EITHER = 127510;
const CLAIM = 60928;

/** Fast packets of a bus, put together by an assembler of its own. */
function fastPackets(frames: readonly WireFrame[]): { pgn: number; data: string }[] {
  const naive = new NaiveAssembler();
  const messages = frames.map(({ id, data }) =>
    naive.push({ id, data, offset: 0, length: data.length, timeUs: 0, monoMs: 0 })
  );
  assert.equal(naive.pending, 0);
  return messages.filter((message) => message !== undefined)
    .map(({ id, data }) => ({ pgn: parseCanId(id).pgn, data: formatHex(Uint8Array.from(data)) }));
}

/** Sequence counters of the fast packets that began. */
function sequences(frames: readonly WireFrame[]): number[] {
  return frames.filter(({ data }) => (data[0]! & 0x1f) === 0).map(({ data }) => data[0]! >> 5);
}

Deno.test("a PGN that is a fast packet travels as one, from 1 to 223 bytes", async () => {
  const wire = await Wire.open({ framesPerSecond: 0 });
  const payloads = Array.from({ length: 223 }, (_, i) => random.bytes(i + 1));
  for (const data of payloads) await wire.transmitter.send([outgoing({ pgn: FAST, data })]);
  const [frames = []] = wire.frames;
  assert.ok(frames.every(({ data }) => data.length === 8));
  assert.equal(
    frames.length,
    payloads.reduce((sum, { length }) => sum + 1 + Math.max(0, Math.ceil((length - 6) / 7)), 0),
  );
  assert.deepEqual(fastPackets(frames), payloads.map((data) => ({ pgn: FAST, data: formatHex(data) })));
  assert.deepEqual(wire.messages[0]!.map(({ data }) => data), payloads.map((data) => formatHex(data)));
});

Deno.test("a PGN of one frame travels in it, from 0 to 8 bytes, with its whole header", async () => {
  const wire = await Wire.open();
  for (let length = 0; length <= 8; length++) {
    const data = random.bytes(length);
    await wire.transmitter.send([outgoing({ pgn: 59904, prio: 3, src: 17, dst: 44, data })]);
    const { id, data: sent } = wire.frames[0]!.at(-1)!;
    assert.deepEqual(sent, data);
    assert.deepEqual(parseCanId(id), { pgn: 59904, prio: 3, src: 17, dst: 44 });
  }
  assert.equal(wire.frames[0]!.length, 9);
});

Deno.test("what is too long for a frame or a fast packet travels by transport session, up to 1785 bytes", async () => {
  const cases = [[SINGLE, 9], [SINGLE, 1785], [FAST, 224], [FAST, 1785], [EITHER, 224]] as const;
  for (const [pgn, length] of cases) {
    const wire = await Wire.open();
    const data = random.bytes(length);
    const sent = watch(wire.transmitter.send([outgoing({ pgn, data })]));
    await wire.time.pass(20_000);
    assert.equal(sent.outcome, "sent");
    assert.equal(formatHex(wire.frames[0]![0]!.data).slice(0, 2), "20");
    assert.deepEqual(wire.messages[0]!.map((message) => [message.pgn, message.data]), [[pgn, formatHex(data)]]);
  }
});

Deno.test("a PGN that devices send both ways goes in one frame if it fits, else as a fast packet", async () => {
  const wire = await Wire.open();
  await wire.transmitter.send([8, 9, 223].map((length) => outgoing({ pgn: EITHER, length })));
  assert.deepEqual(sequences(wire.frames[0]!.slice(1)), [0, 1]);
  assert.equal(wire.frames[0]!.length, 1 + 2 + 32);
});

Deno.test("a message that nothing carries is refused at once, and so is all that it came with", async () => {
  const wire = await Wire.open();
  const tooLong = () => wire.transmitter.send([outgoing(), outgoing({ length: 1786 }), outgoing()]);
  assert.throws(tooLong, {
    name: "TransmitError",
    reason: "too-long",
    message: "Cannot send 1786 bytes of PGN 127250: a message carries up to 1785",
  });
  assert.throws(() => wire.transmitter.send([outgoing({ bus: 1 })]), RangeError);
  assert.throws(() => wire.transmitter.send([outgoing(), outgoing({ pgn: FAST, length: 0 })]), {
    name: "RangeError",
    message: "Cannot send PGN 129029 without payload: it is a fast packet",
  });
  await wire.time.pass(1000);
  assert.deepEqual(wire.frames, [[]]);
  const [status] = wire.transmitter.status;
  assert.deepEqual([status!.counters.accepted, status!.counters.failed["too-long"]], [0, 3]);
});

Deno.test("fast packets of each PGN, source and bus are counted by themselves, from 0 to 7", async () => {
  const wire = await Wire.open({ count: 2, framesPerSecond: 0 });
  const send = (message: { bus?: number; pgn?: number; src?: number }) =>
    wire.transmitter.send([outgoing({ pgn: FAST, length: 20, ...message })]);
  for (let i = 0; i < 9; i++) await send({});
  assert.deepEqual(sequences(wire.frames[0]!.splice(0)), [0, 1, 2, 3, 4, 5, 6, 7, 0]);
  for (const message of [{ pgn: 129540 }, { src: 6 }, { bus: 1 }, {}]) await send(message);
  assert.deepEqual(sequences(wire.frames[0]!), [0, 0, 1]);
  assert.deepEqual(sequences(wire.frames[1]!), [0]);
});

Deno.test("messages leave whole and in the order they came in, on each bus by itself", async () => {
  const wire = await Wire.open({ count: 2 });
  const messages = Array.from({ length: 60 }, (_, i) =>
    outgoing({
      bus: i % 2,
      pgn: random.pick([FAST, SINGLE, 129540]),
      data: Uint8Array.of(i, ...new Uint8Array(random.between(0, 7))),
    }));
  const sent = messages.map((message) => watch(wire.transmitter.send([message])));
  await wire.time.pass(10_000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), messages.map(() => "sent"));
  for (const bus of [0, 1]) {
    const order = wire.messages[bus]!.map(({ data }) => parseInt(data.slice(0, 2), 16));
    assert.deepEqual(order, messages.flatMap((message, i) => message.bus === bus ? [i] : []));
  }
});

Deno.test("64 frames leave at once and 400 a second after that, a fast packet always in one go", async () => {
  const wire = await Wire.open();
  void wire.transmitter.send(Array.from({ length: 7 }, () => outgoing({ pgn: FAST, length: 223 })));
  await wire.time.pass(10_000);
  const times = wire.frames[0]!.map(({ atMs }) => atMs);
  assert.deepEqual(times, [0, 0, 80, 160, 240, 320, 400].flatMap((atMs) => new Array(32).fill(atMs)));
  void wire.transmitter.send(Array.from({ length: 64 }, () => outgoing()));
  await wire.time.pass(0);
  assert.equal(wire.frames[0]!.length, 7 * 32 + 64);
  void wire.transmitter.send(Array.from({ length: 40 }, () => outgoing()));
  await wire.time.pass(50);
  assert.equal(wire.frames[0]!.length, 7 * 32 + 64 + 20);
});

Deno.test("each bus has frames of its own to send, and a burst is never less than a fast packet", async () => {
  const wire = await Wire.open({ count: 2, burstFrames: 1 });
  for (const bus of [0, 1]) void wire.transmitter.send([outgoing({ bus, pgn: FAST, length: 223 }), outgoing({ bus })]);
  await wire.time.pass(0);
  assert.deepEqual(wire.frames.map(({ length }) => length), [32, 32]);
  await wire.time.pass(3);
  assert.deepEqual(wire.frames.map(({ length }) => length), [33, 33]);
});

Deno.test("what is urgent goes before what waits, and waits for nothing", async () => {
  const wire = await Wire.open({ framesPerSecond: 1 });
  void wire.transmitter.send(Array.from({ length: 64 }, () => outgoing()));
  await wire.time.pass(0);
  const waiting = watch(wire.transmitter.send([outgoing({ pgn: FAST, length: 100 })]));
  for (let i = 0; i < 5; i++) {
    const urgent = watch(wire.transmitter.send([outgoing({ pgn: CLAIM })], { urgent: true }));
    await wire.time.pass(0);
    assert.equal(urgent.outcome, "sent");
  }
  assert.deepEqual(wire.messages[0]!.slice(64).map(({ pgn }) => pgn), new Array(5).fill(CLAIM));
  assert.equal(waiting.outcome, "waiting");
});

Deno.test("what finds no room is refused at once, and none of an array is taken", async () => {
  const wire = await Wire.open({
    count: 2,
    framesPerSecond: 1,
    burstFrames: 32,
    queueMessages: 4,
    queueTimeoutMs: 1e6,
  });
  const many = (count: number, bus = 0) => Array.from({ length: count }, () => outgoing({ bus }));
  for (let i = 0; i < 8; i++) {
    void wire.transmitter.send(many(4));
    await wire.time.pass(0);
  }
  void wire.transmitter.send(many(3));
  const full = {
    name: "TransmitError",
    reason: "full",
    message: /^Cannot send on bus "can0": 3 messages .* wait already/,
  };
  assert.throws(() => wire.transmitter.send([...many(1, 1), ...many(2)]), full);
  void wire.transmitter.send([...many(1, 1), ...many(1)]);
  assert.throws(() => wire.transmitter.send(many(1)), TransmitError);
  await wire.time.pass(0);
  assert.deepEqual(wire.frames.map(({ length }) => length), [32, 1]);
  const [first, second] = wire.transmitter.status;
  assert.deepEqual([first!.bus, first!.waiting, first!.counters.accepted, first!.counters.failed.full], [
    "can0",
    4,
    36,
    3,
  ]);
  assert.deepEqual([second!.bus, second!.waiting, second!.counters.accepted, second!.counters.failed.full], [
    "can1",
    0,
    1,
    1,
  ]);
  await wire.time.pass(1000);
  void wire.transmitter.send(many(1));
});

Deno.test("a queue that is full has room for what is urgent: a flood of others silences no address claim", async () => {
  const wire = await Wire.open({ framesPerSecond: 1, burstFrames: 32, queueMessages: 36 });
  for (let i = 0; i < 36; i++) void wire.transmitter.send([outgoing()]);
  assert.throws(() => wire.transmitter.send([outgoing()]), TransmitError);
  const claims = Array.from({ length: 36 }, () => outgoing({ pgn: CLAIM, src: 252 }));
  const urgent = watch(wire.transmitter.send(claims, { urgent: true }));
  assert.throws(() => wire.transmitter.send([claims[0]!], { urgent: true }), TransmitError, "its room has an end, too");
  await wire.time.pass(0);
  assert.equal(urgent.outcome, "sent");
});

Deno.test("a message that has waited for too long is given up: it has lost its meaning", async () => {
  const wire = await Wire.open({ framesPerSecond: 1, burstFrames: 32, queueTimeoutMs: 2500 });
  const sent = Array.from({ length: 36 }, () => watch(wire.transmitter.send([outgoing()])));
  await wire.time.pass(10_000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), [...new Array(34).fill("sent"), "bus", "bus"]);
  assert.equal(sent[35]!.message, 'Cannot send PGN 127250 on bus "can0": it has waited for more than 2500 ms');
});

Deno.test("a bus that is not open fails what is sent on it, at once and counted, and no other bus", async () => {
  const wire = await Wire.open({ count: 2 });
  await wire.buses[0]!.close();
  const all = watch(wire.transmitter.send([outgoing(), outgoing({ length: 300 }), outgoing({ bus: 1 })]));
  await wire.time.pass(0);
  assert.equal(all.outcome, "bus");
  assert.equal(all.message, 'Cannot send PGN 127250 on bus "can0": it is closed');
  assert.deepEqual(wire.frames.map(({ length }) => length), [0, 1]);
  const [{ counters, waiting, transfers } = assert.fail()] = wire.transmitter.status;
  assert.deepEqual([counters.failed.bus, waiting, transfers], [2, 0, 0]);
  await wire.openBus(0);
  await wire.transmitter.send([outgoing()]);
  assert.equal(wire.frames[0]!.length, 1);
});

/** A bus whose state is told by a test. */
class ToldBus extends StubbornBus {
  told: BusState | undefined;
  override get state(): BusState {
    return this.told ?? super.state;
  }
}

Deno.test("a bus that is down, missing or bus-off says why it takes nothing", async () => {
  const told: [BusState, string][] = [
    [{ type: "down", message: "the interface is down" }, "it is down: the interface is down"],
    [{ type: "missing", message: "no such interface" }, "it is missing: no such interface"],
    [{ type: "up", controller: "bus-off" }, "its controller is bus-off"],
  ];
  const bus = new ToldBus("can0");
  const wire = await Wire.open({ buses: [bus] });
  for (const [state, why] of told) {
    bus.told = state;
    const sent = watch(wire.transmitter.send([outgoing()]));
    await wire.time.pass(0);
    assert.deepEqual([sent.outcome, sent.message], ["bus", `Cannot send PGN 127250 on bus "can0": ${why}`]);
  }
});

Deno.test("when a frame is refused the rest of its message is not sent, and the messages after it are", async () => {
  const wire = await Wire.open();
  let frames = 0;
  wire.buses[0]!.refuses = () => ++frames === 3;
  const sent = [outgoing({ pgn: FAST, length: 100 }), outgoing(), outgoing({ pgn: FAST, length: 20 })]
    .map((message) => watch(wire.transmitter.send([message])));
  await wire.time.pass(0);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["bus", "sent", "sent"]);
  assert.equal(sent[0]!.message, 'Cannot send PGN 129029 on bus "can0": no room');
  assert.deepEqual(wire.frames[0]!.map(({ data }) => data[0]), [0x00, 0x01, 0, 0x20, 0x21, 0x22]);
});

Deno.test("an array is told of its first failure, and what comes after it is sent nevertheless", async () => {
  const wire = await Wire.open();
  wire.buses[0]!.refuses = (id) => parseCanId(id).src === 1;
  const sent = watch(wire.transmitter.send([0, 1, 2].map((src) => outgoing({ src }))));
  await wire.time.pass(0);
  assert.equal(sent.outcome, "bus");
  assert.deepEqual(wire.frames[0]!.map(({ id }) => parseCanId(id).src), [0, 2]);
});

Deno.test("when it is closed all that waits fails, nothing is sent any more, and no timer is left", async () => {
  const wire = await Wire.open({ framesPerSecond: 1 });
  const messages = [...Array.from({ length: 40 }, () => outgoing({ pgn: FAST })), outgoing({ length: 1000 })];
  const sent = messages.map((message) => watch(wire.transmitter.send([message])));
  await wire.time.pass(100);
  const { length } = wire.frames[0]!;
  wire.transmitter.close();
  wire.transmitter.close();
  await wire.time.pass(0);
  assert.equal(wire.time.pending, 0);
  assert.deepEqual(sent.map(({ outcome }) => outcome), messages.map((_, i) => i < 32 ? "sent" : "closed"));
  assert.equal(sent.at(-1)!.message, 'Cannot send PGN 127250 on bus "can0": the server stops');
  assert.throws(() => wire.transmitter.send([outgoing()]), { name: "TransmitError", reason: "closed" });
  await wire.time.pass(60_000);
  assert.equal(wire.frames[0]!.length, length);
  const [{ counters, waiting, transfers } = assert.fail()] = wire.transmitter.status;
  assert.deepEqual([counters.sent, counters.failed.closed, waiting, transfers], [32, 10, 0, 0]);
});

Deno.test("a message whose bus never answers fails when all is closed, and nothing more of it is sent", async () => {
  const wire = await Wire.open();
  const { promise, resolve } = Promise.withResolvers<void>();
  let frames = 0;
  wire.buses[0]!.send = () => {
    frames++;
    return promise;
  };
  const sent = watch(wire.transmitter.send([outgoing({ pgn: FAST, length: 30 })]));
  await wire.time.pass(1000);
  assert.equal(sent.outcome, "waiting");
  wire.transmitter.close();
  await wire.time.pass(0);
  assert.equal(sent.outcome, "closed");
  resolve();
  await wire.time.pass(0);
  assert.equal(frames, 1);
});
