import assert from "node:assert/strict";
import { buildName } from "../../src/frame/mod.ts";
import { type BlockDevice, NO_PRODUCT, openBlockFile } from "../../src/journal/mod.ts";
import { ReplayError } from "../../src/recordings/mod.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings, readLine } from "../support/history.ts";
import { type FrameSeen, frameSeen, framesOf } from "../support/journal_files.ts";
import { claim, message, nameFields, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { messages, record, TestReplay } from "../support/replay.ts";
import { range, seqs } from "../support/session.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PIPES = needs({ permissions: ["read", "write"], programs: ["mkfifo"] });
const DAY_MS = 86_400_000;
const NAME = buildName(nameFields({ uniqueNumber: 7, manufacturerCode: 229 }));

function device(src: number, more: Partial<BlockDevice> = {}): BlockDevice {
  return { bus: 0, src, name: NAME + BigInt(src), activeFrom: 0, ...NO_PRODUCT, ...more };
}

/** A Deno test in a folder. */
function test(claim: string, run: (folder: string) => Promise<void>, options = DISK): void {
  Deno.test(claim, options, () => inFolder(run));
}

test("every frame is played once, in order, from number 1, with its recorded time", async (folder) => {
  const said = messages(1000);
  const replay = await TestReplay.open([await record(folder, { messages: said })], { speed: 0 });
  assert.deepEqual(await replay.player.run(), { kind: "ended", damaged: 0 });
  assert.deepEqual(seqs(replay.frames), range(1, 1000));
  const heard = replay.frames.map(({ seq: _, atMs: _at, ...rest }) => rest);
  assert.deepEqual(
    heard,
    said.map((each) => {
      const { seq: _, ...rest } = frameSeen({ seq: 0, ...each });
      return rest;
    }),
  );
});

for (const speed of [0.5, 1, 10]) {
  test(`at speed ${speed} each frame comes when it is due, after a pause of three days and in the next file`, async (folder) => {
    const first = [...messages(300), ...messages(10, { fromMs: 3 * DAY_MS })];
    const second = messages(10, { fromMs: 4 * DAY_MS });
    const paths = [
      await record(folder, { messages: first }),
      await record(folder, { name: "b", messages: second, firstSeq: 5 }),
    ];
    const replay = await TestReplay.open(paths, { speed });
    await replay.player.run();
    const due = [...first, ...second].map(({ timeUs }) => (timeUs - START_US) / 1000 / speed);
    assert.deepEqual(replay.frames.map(({ atMs }) => atMs), due);
  });
}

test("sleeping too long makes a frame late, and none after it", async (folder) => {
  const random = new Random(5);
  const replay = await TestReplay.open([await record(folder, { messages: messages(500) })], {
    oversleptMs: () => random.between(0, 25),
  });
  await replay.player.run();
  const late = replay.frames.map(({ atMs, timeUs }) => atMs - (timeUs - START_US) / 1000);
  assert.ok(late.every((ms) => ms >= 0 && ms <= 25), `late by ${Math.max(...late)} ms`);
  assert.equal(late.length, 500);
});

test("a clock that was set back makes no pause, and frames behind it come in their order", async (folder) => {
  const said = [...messages(20, { fromMs: 3_600_000 }), ...messages(20)];
  const replay = await TestReplay.open([await record(folder, { messages: said })]);
  await replay.player.run();
  assert.deepEqual(replay.frames.map(({ timeUs }) => timeUs), said.map(({ timeUs }) => timeUs));
  assert.deepEqual(replay.frames.map(({ atMs }) => atMs), said.map((_, i) => i < 20 ? i * 10 : 190 + (i - 20) * 10));
});

test("a start in the middle begins with the first frame of that time, and plays all behind it", async (folder) => {
  const said = [...messages(1000), ...messages(50, { fromMs: 100 })];
  const path = await record(folder, { messages: said });
  for (const index of [0, 1, 170, 500, 999]) {
    const startUs = (said[index]?.timeUs ?? 0) - 1;
    const replay = await TestReplay.open([path], { startUs, speed: 0 });
    await replay.player.run();
    assert.deepEqual(replay.frames.map(({ timeUs }) => timeUs), said.slice(index).map(({ timeUs }) => timeUs));
    assert.deepEqual(seqs(replay.frames), range(1, said.length - index));
  }
});

test("a start behind everything is refused, and so are files that hold nothing", async (folder) => {
  const path = await record(folder, { messages: messages(10) });
  await assert.rejects(TestReplay.open([path], { startUs: START_US + 1e9 }), ReplayError);
  await Deno.writeTextFile(`${folder}/empty.lpj`, "");
  await assert.rejects(TestReplay.open([`${folder}/empty.lpj`]), ReplayError);
  await assert.rejects(TestReplay.open([`${folder}/none.lpj`]), ReplayError);
});

test("a file that is no journal is warned of once, and the others are played", async (folder) => {
  await Deno.writeTextFile(`${folder}/a.lpj`, "no journal");
  const paths = [`${folder}/a.lpj`, await record(folder, { name: "b", messages: messages(10) })];
  const { log, warnings } = keepWarnings();
  const replay = await TestReplay.open(paths, { log, speed: 0 });
  assert.deepEqual(await replay.player.run(), { kind: "ended", damaged: 0 });
  assert.equal(replay.frames.length, 10);
  assert.deepEqual(warnings.map((line) => readLine(line)["path"]), [`${folder}/a.lpj`]);
});

test("a damaged block is passed over, counted and told, and the rest is played", async (folder) => {
  const path = await record(folder, { messages: messages(1000) });
  const bytes = await Deno.readFile(path);
  bytes[Math.floor(bytes.length / 2)]! ^= 0xff;
  await Deno.writeFile(path, bytes);
  const { log, warnings } = keepWarnings();
  const replay = await TestReplay.open([path], { log, speed: 0 });
  assert.deepEqual(await replay.player.run(), { kind: "ended", damaged: 1 });
  assert.ok(replay.frames.length > 500 && replay.frames.length < 1000, String(replay.frames.length));
  assert.deepEqual(seqs(replay.frames), range(1, replay.frames.length));
  assert.equal(warnings.length, 1);
});

test("a loop plays the same again, and its numbers go on", async (folder) => {
  const replay = await TestReplay.open([await record(folder, { messages: messages(400) })], { speed: 0, loop: true });
  const running = replay.player.run();
  while (replay.frames.length < 1000) await new Promise((resolve) => setTimeout(resolve));
  replay.player.stop();
  assert.deepEqual(await running, { kind: "stopped" });
  assert.deepEqual(seqs(replay.frames), range(1, replay.frames.length));
  const contents = replay.frames.map(({ timeUs, data }) => `${timeUs} ${data}`);
  assert.deepEqual(contents.slice(400, 800), contents.slice(0, 400));
});

test("a recording of less than a second, looped, keeps its pace", async (folder) => {
  const replay = await TestReplay.open([await record(folder, { messages: messages(50) })], { loop: true });
  const running = replay.player.run();
  while (replay.frames.length < 200) await new Promise((resolve) => setTimeout(resolve));
  replay.player.stop();
  await running;
  assert.deepEqual(
    replay.frames.slice(0, 200).map(({ atMs }) => atMs),
    Array.from({ length: 200 }, (_, i) => 490 * Math.floor(i / 50) + 10 * (i % 50)),
  );
});

test("a recording whose first and last block are damaged is played under the name of its bus", async (folder) => {
  const path = await record(folder, { messages: messages(1000), buses: ["vcan7"] });
  const { blocks } = await openBlockFile(path);
  const bytes = await Deno.readFile(path);
  for (const { offset, bytes: length } of [blocks[0]!, blocks.at(-1)!]) bytes[offset + length - 1]! ^= 0xff;
  await Deno.writeFile(path, bytes);
  const replay = await TestReplay.open([path], { speed: 0 });
  assert.deepEqual(await replay.player.run(), { kind: "ended", damaged: 2 });
  assert.deepEqual(replay.broker.buses, ["vcan7"]);
});

test("a pipe among the files is passed over, and waited for by nobody", async (folder) => {
  await new Deno.Command("mkfifo", { args: [`${folder}/a.lpj`] }).output();
  const paths = [`${folder}/a.lpj`, await record(folder, { name: "b", messages: messages(10) })];
  const { log, warnings } = keepWarnings();
  const replay = await TestReplay.open(paths, { log, speed: 0 });
  await replay.player.run();
  assert.equal(replay.frames.length, 10);
  assert.deepEqual(warnings.map((line) => readLine(line)["path"]), [`${folder}/a.lpj`]);
  await assert.rejects(TestReplay.open([`${folder}/a.lpj`]), /is not a regular file/);
}, PIPES);

test("buses are told by their names, whatever their place in a file", async (folder) => {
  const paths = [
    await record(folder, { messages: messages(5), buses: ["can0"] }),
    await record(folder, {
      name: "b",
      messages: messages(5, { bus: 1, src: 2 }),
      buses: ["can1", "can0"],
      firstSeq: 1,
    }),
    await record(folder, { name: "c", messages: messages(5, { bus: 0, src: 3 }), buses: ["can1"], firstSeq: 9 }),
  ];
  const replay = await TestReplay.open(paths, { speed: 0 });
  await replay.player.run();
  assert.deepEqual(replay.broker.buses, ["can0", "can1"]);
  assert.deepEqual(replay.frames.map(({ bus }) => bus), [...Array(10).fill(0), ...Array(5).fill(1)]);
});

test("devices of the recording are known before its first frame, with their products", async (folder) => {
  const product = { productCode: 1337, modelId: "Compass", softwareVersion: "1", modelVersion: "2", modelSerial: "3" };
  const devices = [device(1, product), device(9)];
  const replay = await TestReplay.open([await record(folder, { messages: messages(20, { src: 1 }), devices })]);
  const events: string[] = [];
  replay.broker.registry.listen(({ event, device: { src, packets } }) => events.push(`${event} ${src} ${packets}`));
  await replay.player.run();
  assert.deepEqual(events, ["added 1 0", "added 9 0"]);
  const [first, other] = [...replay.broker.registry].map((each) => replay.broker.registry.describe(each));
  assert.deepEqual([first?.model_id, first?.packet_count, first?.manufacturer], ["Compass", 20, "Garmin"]);
  assert.deepEqual([other?.src, other?.packet_count, other?.model_id], [9, 0, undefined]);
});

test("a device that is silent in the time of the recording is removed, however fast it is played", async (folder) => {
  const said = [claim(NAME, { src: 9 }), ...messages(100, { fromMs: 1000, everyMs: 5000 })];
  const path = await record(folder, { messages: said });
  for (const speed of [0, 100]) {
    const replay = await TestReplay.open([path], { speed, deviceIdleTimeoutMs: 60_000 });
    const removed: number[] = [];
    replay.broker.registry.listen(({ event, device: { src } }) => {
      if (event === "removed") removed.push(src, replay.broker.head);
    });
    await replay.player.run();
    assert.deepEqual(removed, [9, 13]);
  }
});

test("a silent device does not come back because the recording still has its name, until it is heard again", async (folder) => {
  // A block has some 180 messages: 18 seconds.
  const said = [...messages(1000, { everyMs: 100 }), ...messages(1000, { fromMs: 100_000, everyMs: 100, src: 9 })];
  const path = await record(folder, { messages: said, devices: [device(1), device(9)] });
  const replay = await TestReplay.open([path], { speed: 0, deviceIdleTimeoutMs: 60_000, loop: true });
  const events: string[] = [];
  replay.broker.registry.listen(({ event, device: { src, name } }) => {
    if (event !== "updated") events.push(`${event} ${src} ${name === undefined ? "unnamed" : "named"}`);
  });
  const running = replay.player.run();
  while (replay.frames.length < 2500) await new Promise((resolve) => setTimeout(resolve));
  replay.player.stop();
  await running;
  const once = ["added 1 named", "added 9 named", "removed 9 named", "added 9 unnamed", "removed 1 named"];
  assert.deepEqual(events, [...once, "added 1 named"]);
  assert.equal(replay.broker.registry.get(0, 9)?.name, device(9).name);
});

test("stop ends a pause of days at once", async (folder) => {
  const said = [...messages(10), message({ monoMs: 30 * DAY_MS })];
  const replay = await TestReplay.open([await record(folder, { messages: said })], { realTime: true });
  const running = replay.player.run();
  while (replay.frames.length < 10) await new Promise((resolve) => setTimeout(resolve, 1));
  replay.player.stop();
  assert.deepEqual(await running, { kind: "stopped" });
  assert.equal(replay.frames.length, 10);
});

test("what was played can be read again from any number on, from any start, through loops", async (folder) => {
  const path = await record(folder, { messages: messages(700) });
  const random = new Random(11);
  for (const startIndex of [0, 3, 444]) {
    const replay = await TestReplay.open([path], { speed: 0, loop: true, startUs: START_US + startIndex * 10_000 });
    const running = replay.player.run();
    while (replay.frames.length < 2000) await new Promise((resolve) => setTimeout(resolve));
    replay.player.stop();
    await running;
    const published = replay.frames.map(({ atMs: _, ...rest }) => rest);
    for (let i = 0; i < 30; i++) {
      const fromSeq = random.between(1, published.length);
      assert.deepEqual(await replay.read({ fromSeq }), published.slice(fromSeq - 1));
    }
    assert.deepEqual(await replay.read({ fromSeq: published.length + 1 }), []);
  }
});

test("by times what was played is there once, as it was played last", async (folder) => {
  const path = await record(folder, { messages: messages(700) });
  const replay = await TestReplay.open([path], { speed: 0, loop: true });
  const running = replay.player.run();
  while (replay.frames.length < 2000) await new Promise((resolve) => setTimeout(resolve));
  replay.player.stop();
  await running;
  const found = await replay.read({ fromUs: START_US });
  assert.deepEqual(found.map(({ timeUs }) => timeUs), messages(700).map(({ timeUs }) => timeUs));
  assert.ok(found.every(({ seq }) => seq > replay.broker.head - 1400));
});

test("by times what was played is there once, also while it is played again", async (folder) => {
  const path = await record(folder, { messages: messages(700) });
  const replay = await TestReplay.open([path], { speed: 1, loop: true });
  const running = replay.player.run();
  while (replay.frames.length < 700) await new Promise((resolve) => setTimeout(resolve));
  for (let i = 0; i < 8; i++) {
    const found: FrameSeen[] = [];
    for await (const block of replay.played.blocks({ fromUs: START_US })) {
      found.push(...framesOf(block));
      const { length } = replay.frames;
      while (replay.frames.length < length + 17) await new Promise((resolve) => setTimeout(resolve));
    }
    assert.deepEqual(found.map(({ timeUs }) => timeUs), messages(700).map(({ timeUs }) => timeUs));
  }
  replay.player.stop();
  await running;
});
