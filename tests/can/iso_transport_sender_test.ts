import assert from "node:assert/strict";
import { newDrops, TransportSender } from "../../src/can/mod.ts";
import { formatHex, parseCanId } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";
import { type TpFrame, type TpMood, TpReceiver } from "../support/tp_receiver.ts";
import { Talk } from "../support/tp_talk.ts";

const random = new Random(11783);
const LENGTHS = [1, 7, 8, 9, 14, 15, 223, 224, 1000, 1784, 1785];
const SRC = 7;
const DST = 20;
/** An addressed PGN, with something in the byte that has the destination. */
const PGN = 126208;
const ABORT = 255;

/** A control frame of the receiver's. */
function control(head: number[], { pgn = PGN, src = DST, dst = SRC } = {}): TpFrame {
  return {
    id: 7 * 2 ** 26 + 0xec * 65536 + dst * 256 + src,
    data: [...head, ...Array.from({ length: 5 - head.length }, () => 255), pgn & 255, (pgn >> 8) & 255, pgn >> 16],
  };
}

/** A session to `DST` that nobody answers but the test. */
function alone(length = 100): { talk: Talk; end: () => { type: string; message?: string; atMs: number } | undefined } {
  const talk = new Talk();
  const session = talk.sender.begin({ pgn: PGN, src: SRC, dst: DST, data: random.bytes(length) }, 0);
  return { talk, end: () => talk.ends.get(session) };
}

/** First bytes of the frames that were sent since the last look. */
function heads(talk: Talk): number[] {
  return talk.frames.splice(0).map(({ data }) => parseInt(data.slice(0, 2), 16));
}

Deno.test("broadcasts of every length come whole to the listener and to a plain receiver, 50 ms apart", () => {
  for (const length of LENGTHS) {
    const data = random.bytes(length);
    const receiver = new TpReceiver({ address: 99 });
    const talk = new Talk([receiver]);
    talk.sender.begin({ pgn: 126998, src: SRC, dst: 255, data }, 0);
    talk.untilOver();
    assert.deepEqual(receiver.messages, [{ pgn: 126998, src: SRC, dst: 255, data: [...data] }]);
    assert.deepEqual(talk.heard.map((seen) => seen.data), [formatHex(data)]);
    assert.deepEqual(talk.drops, newDrops());
    const gaps = talk.frames.slice(1).map(({ atMs }, i) => atMs - talk.frames[i]!.atMs);
    assert.ok(gaps.every((gap) => gap === 50), `${gaps}`);
    assert.deepEqual([...talk.ends.values()].map(({ type }) => type), ["done"]);
  }
});

Deno.test("a broadcast is never faster than 50 ms, and within 200 ms where time comes in steps of 130 ms", () => {
  const talk = new Talk([], { stepMs: 130 });
  talk.sender.begin({ pgn: 126998, src: SRC, dst: 255, data: random.bytes(100) }, 0);
  talk.untilOver();
  const gaps = talk.frames.slice(1).map(({ atMs }, i) => atMs - talk.frames[i]!.atMs);
  assert.ok(gaps.every((gap) => gap >= 50 && gap <= 200), `${gaps}`);
});

Deno.test("addressed messages of every length come whole, whatever the receiver's windows", () => {
  for (const length of LENGTHS) {
    for (const window of [1, 2, 16, 255, () => random.between(1, 255)]) {
      const data = random.bytes(length);
      const receiver = new TpReceiver({ address: DST, window: typeof window === "number" ? () => window : window });
      const talk = new Talk([receiver]);
      talk.sender.begin({ pgn: PGN, src: SRC, dst: DST, data }, 0);
      talk.untilOver();
      assert.deepEqual(receiver.messages, [{ pgn: PGN, src: SRC, dst: DST, data: [...data] }]);
      assert.deepEqual(talk.heard.map((seen) => [seen.data, parseCanId(seen.id).dst]), [[formatHex(data), DST]]);
      assert.deepEqual(talk.drops, newDrops());
      assert.deepEqual([...talk.ends.values()].map(({ type }) => type), ["done"]);
    }
  }
});

Deno.test("announcements and packets are on the wire as the standard has them", () => {
  const talk = new Talk();
  const data = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9);
  talk.sender.begin({ pgn: 65240, src: 0x15, dst: 255, data }, 0);
  talk.sender.begin({ pgn: 126720, src: 0x15, dst: 0x20, data }, 0);
  talk.pass(0);
  talk.say(control([17, 2, 1], { pgn: 126720, src: 0x20, dst: 0x15 }));
  talk.untilOver(1300 + 1250);
  assert.deepEqual(talk.frames.map(({ id, data }) => `${id.toString(16)} ${data}`), [
    "1cecff15 20090002ffd8fe00",
    "1cec2015 10090002ff00ef01",
    "1ceb2015 0101020304050607",
    "1ceb2015 020809ffffffffff",
    "1cebff15 0101020304050607",
    "1cebff15 020809ffffffffff",
    "1cec2015 ff03ffffff00ef01",
  ]);
});

Deno.test("a PGN that carries no destination is broadcast, whatever destination it is given", () => {
  const receiver = new TpReceiver({ address: 99 });
  const talk = new Talk([receiver]);
  talk.sender.begin({ pgn: 129029, src: SRC, dst: DST, data: new Uint8Array(300) }, 0);
  talk.untilOver();
  assert.deepEqual(receiver.messages.map(({ pgn, dst }) => [pgn, dst]), [[129029, 255]]);
});

Deno.test("what a session cannot carry is refused", () => {
  for (const length of [0, 1786]) {
    const begin = () => new TransportSender().begin({ pgn: PGN, src: 1, dst: 2, data: new Uint8Array(length) }, 0);
    assert.throws(begin, { name: "RangeError", message: new RegExp(`Cannot transport ${length} bytes`) });
  }
});

Deno.test("a receiver that never answers is asked three times, told of the end, and silent", () => {
  const { talk, end } = alone();
  talk.untilOver();
  assert.deepEqual(talk.frames.map(({ atMs, data }) => [atMs, data.slice(0, 4)]), [
    [0, "1064"],
    [1250, "1064"],
    [2500, "1064"],
    [3750, "ff03"],
  ]);
  const message = "the receiver at address 20 did not answer in time";
  assert.deepEqual(end(), { type: "silent", message, atMs: 3750 });
});

Deno.test("an answer to the last announcement is still taken", () => {
  const { talk, end } = alone(14);
  talk.pass(3700);
  talk.say(control([17, 2, 1]));
  talk.pass(0);
  assert.deepEqual(heads(talk), [16, 16, 16, 1, 2]);
  talk.say(control([19, 14, 0, 2]));
  assert.equal(end()?.type, "done");
});

Deno.test("a receiver that says nothing after its packets is silent, and told of the end", () => {
  const { talk, end } = alone(30);
  talk.pass(0);
  talk.say(control([17, 2, 1]));
  talk.untilOver();
  assert.deepEqual(heads(talk), [16, 1, 2, ABORT]);
  assert.deepEqual([end()?.type, end()?.atMs], ["silent", 1250]);
});

Deno.test("a receiver that holds us gets nothing until it asks, for as long as it holds us again in time", () => {
  const { talk, end } = alone(30);
  talk.pass(0);
  talk.say(control([17, 2, 1]));
  talk.pass(0);
  for (let i = 0; i < 100; i++) {
    talk.say(control([17, 0]));
    talk.pass(500);
  }
  assert.deepEqual(heads(talk), [16, 1, 2]);
  talk.say(control([17, 255, 3]));
  talk.pass(0);
  assert.deepEqual(heads(talk), [3, 4, 5]);
  talk.say(control([19, 30, 0, 5]));
  assert.equal(end()?.type, "done");
});

Deno.test("a hold without a further word ends after 1050 ms, and one without an end after a minute", () => {
  const once = alone(30);
  once.talk.pass(0);
  once.talk.say(control([17, 0]));
  once.talk.untilOver();
  assert.deepEqual([once.end()?.type, once.end()?.atMs], ["silent", 1050]);

  const forever = alone(30);
  for (let i = 0; forever.talk.sender.size > 0 && i < 1000; i++) {
    forever.talk.pass(500);
    forever.talk.say(control([17, 0]));
  }
  assert.deepEqual(forever.end(), {
    type: "silent",
    message: "the receiver at address 20 held the session for more than 60 s",
    atMs: 61_000,
  });
  assert.deepEqual(heads(forever.talk), [16, ABORT]);
});

Deno.test("a receiver may hold us again and again when it lets us go on in between", () => {
  const { talk, end } = alone(30);
  talk.pass(0);
  for (let packet = 1; packet <= 5; packet++) {
    for (let i = 0; i < 50; i++) {
      talk.say(control([17, 0]));
      talk.pass(1000);
    }
    talk.say(control([17, 1, packet]));
    talk.pass(0);
  }
  talk.say(control([19, 30, 0, 5]));
  assert.deepEqual([end()?.type, heads(talk)], ["done", [16, 1, 2, 3, 4, 5]]);
});

Deno.test("a receiver that asks to and fro gets on nowhere and is given up", () => {
  const { talk, end } = alone(30);
  talk.pass(0);
  for (let i = 0; i < 4 && !end(); i++) {
    for (const from of [1, 2]) {
      talk.say(control([17, 1, from]));
      talk.pass(0);
    }
  }
  assert.deepEqual(heads(talk), [16, 1, 2, 1, 2, ABORT]);
  assert.equal(end()?.type, "aborted");
});

Deno.test("packets that a receiver asks for again are sent again, twice without getting on, and no more", () => {
  const { talk, end } = alone(30);
  talk.pass(0);
  for (const from of [1, 3, 3, 2, 4]) {
    talk.say(control([17, 2, from]));
    talk.pass(0);
  }
  assert.deepEqual(heads(talk), [16, 1, 2, 3, 4, 3, 4, 2, 3, 4, 5]);
  for (let i = 0; i < 3; i++) {
    talk.say(control([17, 1, 4]));
    talk.pass(0);
  }
  assert.deepEqual(talk.frames.map(({ data }) => data.slice(0, 4)).slice(-1), ["ff05"]);
  assert.deepEqual(heads(talk), [4, 4, ABORT]);
  assert.equal(end()?.type, "aborted");
  assert.equal(end()?.message, "the receiver at address 20 asked for packet 4 again too often");
});

Deno.test("a receiver that asks for packets that cannot come next ends the session", () => {
  for (const [from, sent] of [[0, 2], [4, 2], [6, 2], [255, 2]] as const) {
    const { talk, end } = alone(30);
    talk.pass(0);
    talk.say(control([17, sent, 1]));
    talk.pass(0);
    talk.say(control([17, 1, from]));
    talk.pass(0);
    assert.equal(talk.frames.at(-1)?.data.slice(0, 4), "ff07");
    assert.equal(end()?.message, `the receiver at address 20 asked for packet ${from} after 2 of 5`);
  }
});

Deno.test("a receiver that gives up ends the session at once, with its reason in words", () => {
  for (const [reason, words] of [[1, "another session"], [2, "resources"], [250, "a reason of its own"]] as const) {
    const { talk, end } = alone(300);
    talk.pass(0);
    talk.say(control([17, 5, 1]));
    talk.say(control([ABORT, reason]));
    talk.pass(5000);
    assert.deepEqual(heads(talk), [16]);
    assert.equal(end()?.type, "aborted");
    assert.match(end()?.message ?? "", new RegExp(`at address 20 ended the session: .*${words}.*\\(${reason}\\)`));
  }
});

Deno.test("what is not an answer to the session changes nothing", () => {
  const { talk, end } = alone(14);
  const strange = [
    control([ABORT, 2], { pgn: 126720 }),
    control([ABORT, 2], { src: 21 }),
    control([ABORT, 2], { dst: 8 }),
    control([19, 14, 0, 2]),
    control([42]),
    { id: control([]).id, data: [ABORT, 2] },
    { id: 0x1cebff15, data: [1, 2, 3, 4, 5, 6, 7, 8] },
  ];
  // Before its announcement is out, answers are about an earlier session.
  for (const frame of [...strange, control([17, 2, 1]), control([ABORT, 2])]) talk.say(frame);
  talk.pass(0);
  for (const frame of strange) talk.say(frame);
  talk.pass(0);
  assert.deepEqual(heads(talk), [16]);
  talk.say(control([17, 2, 1]));
  talk.pass(0);
  for (const frame of strange.slice(0, 3)) talk.say(frame);
  talk.say(control([19, 14, 0, 2]));
  assert.deepEqual(heads(talk), [1, 2]);
  assert.equal(end()?.type, "done");
});

Deno.test("between two addresses there is one session at a time, and one broadcast of a source; others run beside", () => {
  const receivers = [20, 21].map((address) => new TpReceiver({ address }));
  const talk = new Talk(receivers);
  const payloads = Array.from({ length: 8 }, (_, i) => new Uint8Array(100 + i).fill(i));
  const routes = [[7, 20], [7, 20], [7, 21], [8, 20], [7, 255], [7, 255], [8, 255], [7, 20]] as const;
  routes.forEach(([src, dst], i) => talk.sender.begin({ pgn: PGN, src, dst, data: payloads[i]! }, 0));
  assert.equal(talk.sender.size, 8);
  talk.pass(0);
  const broadcasts = talk.frames.filter(({ data }) => data.startsWith("20")).map(({ id }) => id & 0xff);
  assert.deepEqual(broadcasts, [7, 8]);
  talk.untilOver();
  assert.deepEqual([...talk.ends.values()].map(({ type }) => type), routes.map(() => "done"));
  assert.deepEqual(talk.heard.map(({ data }) => data).sort(), payloads.map((data) => formatHex(data)).sort());
  assert.deepEqual(talk.drops, newDrops());
  const toFirst = receivers[0]!.messages.filter(({ src, dst }) => src === 7 && dst === 20);
  assert.deepEqual(toFirst.map(({ data }) => data[0]), [0, 1, 7]);
});

Deno.test("sessions with packets due take turns", () => {
  const talk = new Talk([20, 21, 22].map((address) => new TpReceiver({ address, window: () => 255 })));
  for (const dst of [20, 21, 22]) talk.sender.begin({ pgn: PGN, src: SRC, dst, data: new Uint8Array(70) }, 0);
  talk.untilOver();
  const order = talk.frames.slice(3).map(({ id }) => (id >> 8) & 0xff);
  assert.equal(order.length, 30);
  for (let i = 0; i < order.length; i += 3) assert.deepEqual(order.slice(i, i + 3).sort(), [20, 21, 22]);
});

Deno.test("a waiting session begins when the one before it has failed", () => {
  const talk = new Talk();
  for (const data of [random.bytes(20), random.bytes(30)]) talk.sender.begin({ pgn: PGN, src: SRC, dst: DST, data }, 0);
  talk.untilOver();
  assert.deepEqual(heads(talk), [16, 16, 16, ABORT, 16, 16, 16, ABORT]);
  assert.deepEqual([...talk.ends.values()].map(({ type }) => type), ["silent", "silent"]);
});

const MOODS: readonly TpMood[] = ["ask", "ask", "ask", "ask", "ask", "ask", "hold", "again", "silent", "abort"];

Deno.test("with lost frames, holds, wishes again, silence and aborts, a session always ends, and done means done", () => {
  const types: Record<string, number> = { done: 0, silent: 0, aborted: 0 };
  for (let seed = 0; seed < 600; seed++) {
    const chance = new Random(seed);
    const lossy = chance.pick([0, 0, 0.01, 0.05, 0.3]);
    const moody = chance.chance(0.5);
    const receiver = new TpReceiver({
      address: DST,
      window: () => chance.between(1, 40),
      mood: () => moody ? chance.pick(MOODS) : "ask",
    });
    const talk = new Talk([receiver], { loses: () => chance.chance(lossy), stepMs: chance.pick([1, 10, 100]) });
    const data = chance.bytes(chance.between(1, 1785));
    talk.sender.begin({ pgn: PGN, src: SRC, dst: DST, data }, 0);
    talk.untilOver(300_000);
    const [end] = [...talk.ends.values()];
    types[end!.type]!++;
    for (const message of receiver.messages) assert.deepEqual(message.data, [...data], `seed ${seed}`);
    if (end!.type === "done") assert.ok(receiver.messages.length > 0, `seed ${seed}: done`);
    const isSure = lossy === 0 && !moody;
    if (isSure) assert.equal(end!.type, "done", `seed ${seed}`);
    const told = talk.frames.at(-1)!.data.startsWith("ff");
    if (end!.type === "silent") assert.ok(told, `seed ${seed}: the receiver is told`);
  }
  assert.ok(Object.values(types).every((count) => count >= 20), JSON.stringify(types));
});
