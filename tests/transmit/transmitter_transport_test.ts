import assert from "node:assert/strict";
import { LoopbackBus } from "../../src/can/mod.ts";
import { formatHex, parseCanId } from "../../src/frame/mod.ts";
import { type OutgoingMessage, Transmitter } from "../../src/transmit/mod.ts";
import { Random } from "../support/random.ts";
import { type TpMood, TpReceiver } from "../support/tp_receiver.ts";
import { type MessageInit, outgoing, watch, Wire } from "../support/tp_wire.ts";

const random = new Random(60160);
/** An addressed PGN of one frame. */
const ADDRESSED = 59904;
const FAST = 129029;

/** A message that needs a session. */
const long = (init: MessageInit = {}) => outgoing({ pgn: ADDRESSED, dst: 20, length: 1785, ...init });

Deno.test("1785 bytes reach one receiver by RTS/CTS, and everybody by BAM", async () => {
  const receiver = new TpReceiver({ address: 20 });
  const wire = await Wire.open({ receivers: [receiver], queueTimeoutMs: 60_000 });
  const data = random.bytes(1785);
  const sent = [long({ data }), long({ data, dst: 255 }), long({ data, pgn: 127250 })]
    .map((message) => watch(wire.transmitter.send([message])));
  await wire.time.pass(40_000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["sent", "sent", "sent"]);
  const expected = [[ADDRESSED, 20], [ADDRESSED, 255], [127250, 255]].map(([pgn, dst]) => ({ pgn, dst }));
  assert.deepEqual(receiver.messages.map(({ pgn, dst }) => ({ pgn, dst })), expected);
  for (const message of receiver.messages) assert.deepEqual(message.data, [...data]);
  assert.deepEqual(wire.messages[0]!.map((message) => message.data), new Array(3).fill(formatHex(data)));
});

Deno.test("a session resolves when the receiver has confirmed it, not when its last packet is out", async () => {
  const moods: TpMood[] = ["ask", "ask", "hold", "ask"];
  const receiver = new TpReceiver({ address: 20, window: () => 1, mood: () => moods.shift() ?? "ask" });
  const wire = await Wire.open({ receivers: [receiver] });
  const sent = watch(wire.transmitter.send([long({ length: 14 })]));
  await wire.time.pass(400);
  assert.equal(wire.frames[0]!.filter(({ id }) => parseCanId(id).pgn === 60160).length, 2);
  assert.equal(sent.outcome, "waiting");
  await wire.time.pass(200);
  assert.equal(sent.outcome, "sent");
});

Deno.test("a session that takes long lets other messages pass, and goes on beside them in time", async () => {
  const wire = await Wire.open();
  const broadcast = watch(wire.transmitter.send([long({ dst: 255 })]));
  const others: { outcome: string }[] = [];
  for (let i = 0; i < 100; i++) {
    others.push(watch(wire.transmitter.send([outgoing({ pgn: FAST, length: 20 })])));
    await wire.time.pass(100);
    assert.equal(others.at(-1)!.outcome, "sent", `message ${i}`);
  }
  assert.equal(broadcast.outcome, "waiting");
  assert.equal(wire.transmitter.status[0]!.transfers, 1);
  await wire.time.pass(10_000);
  assert.equal(broadcast.outcome, "sent");
  const times = wire.frames[0]!.filter(({ id }) => parseCanId(id).pgn === 60160).map(({ atMs }) => atMs);
  assert.ok(times.slice(1).every((atMs, i) => atMs - times[i]! >= 50 && atMs - times[i]! <= 200));
});

Deno.test("a broadcast keeps its 50 to 200 ms beside a queue that is never empty", async () => {
  const wire = await Wire.open({ queueTimeoutMs: 1e6 });
  const broadcast = watch(wire.transmitter.send([long({ dst: 255 })]));
  for (let i = 0; broadcast.outcome === "waiting" && i < 600; i++) {
    const { waiting } = wire.transmitter.status[0]!;
    for (let n = waiting; n < 8; n++) void wire.transmitter.send([outgoing({ pgn: FAST, length: 223 })]);
    await wire.time.pass(50);
  }
  assert.equal(broadcast.outcome, "sent");
  const times = wire.frames[0]!.filter(({ id }) => parseCanId(id).pgn === 60160).map(({ atMs }) => atMs);
  const gaps = times.slice(1).map((atMs, i) => atMs - times[i]!);
  assert.ok(gaps.every((gap) => gap >= 50 && gap <= 200), `${Math.min(...gaps)} to ${Math.max(...gaps)} ms`);
});

Deno.test("sessions that have frames due all the time let a fast packet pass in one go", async () => {
  const receivers = [20, 21, 22].map((address) => new TpReceiver({ address, window: () => 255 }));
  const wire = await Wire.open({ receivers });
  for (const dst of [20, 21, 22]) void wire.transmitter.send([long({ dst })]);
  await wire.time.pass(300);
  const fast = watch(wire.transmitter.send([outgoing({ pgn: FAST, length: 223 })]));
  await wire.time.pass(200);
  assert.equal(fast.outcome, "sent");
  const pgns = wire.frames[0]!.map(({ id }) => parseCanId(id).pgn);
  assert.equal(pgns.lastIndexOf(FAST) - pgns.indexOf(FAST), 31);
  await wire.time.pass(10_000);
  assert.deepEqual(receivers.map(({ messages }) => messages.length), [1, 1, 1]);
});

Deno.test("sessions have a room of their own: too many are refused, and other messages still taken", async () => {
  const wire = await Wire.open({ queueTransfers: 3, queueTimeoutMs: 60_000 });
  for (let i = 0; i < 3; i++) void wire.transmitter.send([long({ dst: 255 })]);
  assert.throws(() => wire.transmitter.send([long()]), { name: "TransmitError", reason: "full" });
  await wire.transmitter.send([outgoing()]);
  const [{ transfers, waiting, counters } = assert.fail()] = wire.transmitter.status;
  assert.deepEqual([transfers, waiting, counters.failed.full], [3, 0, 1]);
  await wire.time.pass(13_000);
  void wire.transmitter.send([long({ dst: 255 })]);
  await wire.time.pass(40_000);
  assert.equal(wire.transmitter.status[0]!.counters.sent, 5);
});

Deno.test("a session that has waited for too long behind others is given up, one under way is not", async () => {
  const wire = await Wire.open({ receivers: [new TpReceiver({ address: 20 })] });
  const silent = Array.from({ length: 5 }, () => watch(wire.transmitter.send([long({ dst: 21 })])));
  const broadcasts = Array.from({ length: 2 }, () => watch(wire.transmitter.send([long({ dst: 255 })])));
  const [answered] = [watch(wire.transmitter.send([long({ dst: 20 })]))];
  await wire.time.pass(11_500);
  assert.deepEqual(silent.map(({ outcome }) => outcome), ["silent", "silent", "silent", "bus", "bus"]);
  assert.match(silent[4]!.message, /it has waited for more than 10000 ms/);
  assert.deepEqual(broadcasts.map(({ outcome }) => outcome), ["waiting", "bus"]);
  assert.equal(answered!.outcome, "sent");
  await wire.time.pass(5000);
  assert.equal(broadcasts[0]!.outcome, "sent");
  const announced = wire.frames[0]!.filter(({ id, data }) => parseCanId(id).pgn === 60416 && data[0] === 0x20);
  assert.equal(announced.length, 1);
});

Deno.test("nothing leaves from an address that was lost: no message, no rest of one, no packet of a session", async () => {
  const wire = await Wire.open({ framesPerSecond: 10, burstFrames: 32 });
  const send = (message: Parameters<typeof outgoing>[0], options?: { urgent: boolean }) =>
    watch(wire.transmitter.send([outgoing(message)], options));
  const broadcast = watch(wire.transmitter.send([long({ dst: 255, src: 252 })]));
  const behind = watch(wire.transmitter.send([long({ dst: 255, src: 252 })]));
  await wire.time.pass(1000);
  const lost = [send({ pgn: 129029, length: 223, src: 252 }), send({ src: 252 })];
  const kept = send({ src: 251 });
  await wire.time.pass(0);
  wire.transmitter.addressLost(0, 252);
  const before = wire.frames[0]!.length;
  await wire.time.pass(9000);
  assert.deepEqual([broadcast, behind, ...lost].map(({ outcome }) => outcome), new Array(4).fill("address"));
  assert.match(broadcast.message, /its source address 252 was lost/);
  assert.equal(kept.outcome, "sent");
  assert.deepEqual(wire.frames[0]!.slice(before).map(({ id }) => parseCanId(id).src), [251]);
  const [{ waiting, transfers, counters } = assert.fail()] = wire.transmitter.status;
  assert.deepEqual([waiting, transfers, counters.failed.address, counters.sent], [0, 0, 4, 1]);
});

Deno.test("whether a message may still leave is asked when its turn comes, of a session behind others, too", async () => {
  const wire = await Wire.open({ framesPerSecond: 10, burstFrames: 33 });
  let allowed = [true, true, true];
  const messages = [outgoing({ pgn: FAST, length: 223 }), outgoing(), outgoing({ src: 6 })];
  const first = watch(wire.transmitter.send([long({ dst: 255 })]));
  const behind = watch(wire.transmitter.send([long({ dst: 255 })], { mayLeave: () => allowed[1]! }));
  const sent = messages.map((each, i) => watch(wire.transmitter.send([each], { mayLeave: () => allowed[i]! })));
  await wire.time.pass(0);
  allowed = [false, false, true];
  await wire.time.pass(5000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["sent", "withdrawn", "sent"]);
  assert.deepEqual([first.outcome, behind.outcome], ["waiting", "withdrawn"]);
  assert.match(behind.message, /sending is no longer allowed/);
  assert.equal(wire.transmitter.status[0]!.counters.failed.withdrawn, 2);
});

Deno.test("a receiver that says no, and one that says nothing, are told apart, counted and named", async () => {
  const wire = await Wire.open({ receivers: [new TpReceiver({ address: 20, mood: () => "abort" })] });
  const sent = [20, 21].map((dst) => watch(wire.transmitter.send([long({ dst })])));
  await wire.time.pass(4000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["aborted", "silent"]);
  assert.deepEqual(sent.map(({ message }) => message), [
    'Cannot send PGN 59904 on bus "can0": the receiver at address 20 ended the session: it needs its resources for another task (2)',
    'Cannot send PGN 59904 on bus "can0": the receiver at address 21 did not answer in time',
  ]);
  const { failed } = wire.transmitter.status[0]!.counters;
  assert.deepEqual([failed.aborted, failed.silent], [1, 1]);
});

Deno.test("a session goes on as soon as the receiver has spoken", async () => {
  const moods: TpMood[] = ["hold"];
  const receiver = new TpReceiver({ address: 20, window: () => 1, mood: () => moods.shift() ?? "ask" });
  const wire = await Wire.open({ receivers: [receiver], framesPerSecond: 0 });
  const sent = watch(wire.transmitter.send([long({ length: 70 })]));
  await wire.time.pass(450);
  assert.equal(sent.outcome, "waiting");
  await wire.time.pass(100);
  assert.equal(sent.outcome, "sent");
});

Deno.test("when all is closed in the middle of sessions, none of them is heard of again", async () => {
  const wire = await Wire.open();
  const sent = [255, 20].map((dst) => watch(wire.transmitter.send([long({ dst })])));
  await wire.time.pass(300);
  const { length } = wire.frames[0]!;
  wire.transmitter.close();
  // The receiver asks for packets after all.
  wire.buses[0]!.inject(0x1cec0514, Uint8Array.of(17, 16, 1, 0xff, 0xff, 0x00, 0xea, 0x00));
  await wire.time.pass(10_000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["closed", "closed"]);
  assert.equal(wire.frames[0]!.length, length + 1);
  assert.equal(wire.time.pending, 0);
});

for (const awayMs of [100, 5000]) {
  Deno.test(`a bus that is down for ${awayMs} ms fails the session that it carried, which is not heard of again`, async () => {
    const receiver = new TpReceiver({ address: 20 });
    const wire = await Wire.open({ receivers: [receiver] });
    const sent = watch(wire.transmitter.send([long()]));
    await wire.time.pass(300);
    await wire.buses[0]!.close();
    await wire.time.pass(awayMs);
    assert.equal(sent.outcome, "bus");
    await wire.openBus(0);
    const before = wire.frames[0]!.length;
    await wire.time.pass(5000);
    assert.ok(wire.frames[0]!.slice(before).every(({ id }) => parseCanId(id).src === 20));
    const data = random.bytes(500);
    const again = watch(wire.transmitter.send([long({ data })]));
    await wire.time.pass(5000);
    assert.equal(again.outcome, "sent");
    assert.deepEqual(receiver.messages.map((message) => message.data), [[...data]]);
  });
}

Deno.test("a frame of a session that the bus refuses fails that session alone", async () => {
  const wire = await Wire.open({ receivers: [20, 21].map((address) => new TpReceiver({ address })) });
  const bus = wire.buses[0]!;
  bus.refuses = (id, data) => parseCanId(id).pgn === 60160 && parseCanId(id).dst === 20 && data[0] === 5;
  const sent = [20, 21].map((dst) => watch(wire.transmitter.send([long({ dst, length: 100 })])));
  await wire.time.pass(3000);
  assert.deepEqual(sent.map(({ outcome }) => outcome), ["bus", "sent"]);
});

/** A random message on one of two buses. */
function randomMessage(chance: Random): OutgoingMessage {
  return outgoing({
    bus: chance.int(2),
    pgn: chance.pick([ADDRESSED, 127250, FAST, 126208]),
    src: chance.pick([5, 6]),
    dst: chance.pick([20, 21, 255]),
    data: chance.bytes(chance.pick([chance.between(1, 8), chance.between(9, 223), chance.between(224, 1785)])),
  });
}

Deno.test("whatever happens, every message is sent whole or fails, nothing is left, and the counters add up", async () => {
  for (let seed = 0; seed < 12; seed++) {
    const chance = new Random(seed);
    const mood = () => chance.pick<TpMood>(["ask", "ask", "ask", "ask", "ask", "hold", "again", "silent", "abort"]);
    const receivers = [20, 21].map((address) => new TpReceiver({ address, window: () => chance.between(1, 60), mood }));
    const wire = await Wire.open({ count: 2, receivers, queueMessages: 16, queueTransfers: 4 });
    let closed: number | undefined;
    const offered: { message: OutgoingMessage; outcome: { outcome: string } }[] = [];
    const rate = chance.pick([0, 0, 0.002]);
    for (const bus of wire.buses) bus.refuses = () => chance.chance(rate);
    for (let i = 0; i < 300; i++) {
      const message = randomMessage(chance);
      try {
        offered.push({ message, outcome: watch(wire.transmitter.send([message])) });
      } catch (error) {
        assert.equal((error as { reason?: string }).reason, "full");
        offered.push({ message, outcome: { outcome: "full" } });
      }
      // What a loopback bus has taken and not delivered yet would be lost with it.
      await wire.time.pass(0);
      if (closed !== undefined) await wire.openBus(closed);
      closed = chance.chance(0.02) ? chance.int(2) : undefined;
      if (closed !== undefined) await wire.buses[closed]!.close();
      await wire.time.pass(chance.pick([0, 1, 50, 400]));
    }
    await wire.time.pass(200_000);
    for (const [bus, { counters, waiting, transfers }] of wire.transmitter.status.entries()) {
      const here = offered.filter(({ message }) => message.bus === bus);
      const count = (outcome: string) => here.filter((each) => each.outcome.outcome === outcome).length;
      assert.deepEqual([waiting, transfers], [0, 0], `seed ${seed}`);
      assert.deepEqual(counters.failed, {
        full: count("full"),
        "too-long": 0,
        bus: count("bus"),
        address: 0,
        withdrawn: 0,
        aborted: count("aborted"),
        silent: count("silent"),
        closed: 0,
      });
      assert.equal(counters.sent, count("sent"), `seed ${seed}`);
      assert.equal(counters.accepted, here.length - count("full"));
      const heard = wire.messages[bus]!.map(({ data }) => data);
      for (const { message: { data }, outcome: { outcome } } of here) {
        const isWhole = heard.includes(formatHex(data));
        if (outcome === "sent") assert.ok(isWhole, `seed ${seed}: ${data.length} bytes`);
        // Of a session that failed, the receiver may have everything. Fewer bytes may be those of another message.
        else if (data.length >= 6 && data.length <= 8) assert.ok(!isWhole, `seed ${seed}: ${outcome}`);
      }
    }
    wire.transmitter.close();
  }
});

Deno.test("with the machine's clock and timers a broadcast and an exchange go through", async () => {
  const bus = new LoopbackBus("can0");
  const transmitter = new Transmitter({ buses: [bus] });
  const receiver = new TpReceiver({ address: 20 });
  await bus.open({ frame: (frame) => transmitter.heard(0, frame), state: () => {} });
  bus.attach(({ id, data, offset, length, monoMs }) => {
    for (const each of receiver.hear({ id, data: data.slice(offset, offset + length) }, monoMs)) {
      bus.inject(each.id, Uint8Array.from(each.data));
    }
  });
  const messages = [long({ data: random.bytes(1785) }), long({ dst: 255, data: random.bytes(60) }), outgoing()];
  await transmitter.send(messages);
  const [{ counters } = assert.fail()] = transmitter.status;
  assert.equal(counters.sent, 3);
  const got = receiver.messages.map(({ data }) => data.length).sort((a, b) => a - b);
  assert.deepEqual(got, [60, 1785]);
  transmitter.close();
  await bus.close();
});
