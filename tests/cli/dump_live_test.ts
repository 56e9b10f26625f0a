import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";
import { range } from "../support/session.ts";
import { CommandRun } from "./dump_run.ts";

const LIVE = needs({ permissions: ["env", "net", "read", "sys", "write"] });

/** Says so many messages, and waits until they are numbered. */
async function say(boat: TestBoat, count: number): Promise<void> {
  const head = boat.boat.broker.head + count;
  for (let i = 0; i < count; i++) boat.say();
  await eventually(`frame ${head}`, () => boat.boat.broker.head >= head);
}

const seqsOf = (run: CommandRun) => run.frames.map(({ seq }) => seq);
const cursorOf = async (boat: TestBoat, id: string) => (await boat.get<{ cursor: number }>(`/clients/${id}`)).cursor;

Deno.test("vbg dump writes live frames as lines with the sender's NAME, and ends with 0 by Ctrl-C", LIVE, async () => {
  await using boat = await TestBoat.start();
  boat.claim(5, { manufacturerCode: 229 });
  await eventually("the claim", () => boat.boat.broker.head === 1);
  await using run = new CommandRun(["dump", "-server", boat.url, "--decode", "-pgn", "128267"]);
  await run.told(/connected to/);
  await say(boat, 3);
  boat.say({ pgn: 128267, src: 5, prio: 3, data: [1, 0x10, 0x27, 0, 0, 0, 0, 0xff] });
  await run.written(1);
  assert.equal(await run.stop(), 0);
  assert.match(
    run.text,
    /^{"seq":5,"ts":"[^"]+Z","prio":3,"pgn":128267,"src":5,"dst":255,"name":"0x[0-9a-f]{16}","data":"01102700000000ff","decoded":{"sid":1,"depth":100,.*}}\n$/,
  );
});

Deno.test("a bus is named in lines where there are several, and -bus chooses one", LIVE, async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  await using run = new CommandRun(["dump", "-server", boat.url, "-bus", "can1"]);
  await run.told(/connected to/);
  boat.say({ bus: 0 });
  boat.say({ bus: 1, src: 7 });
  await run.written(1);
  assert.match(run.text, /^{"seq":\d,.*"src":7,"dst":255,"bus":"can1","data":/);
});

Deno.test("a server restarted under dump -buffer-timeout costs not one frame, and none comes twice", LIVE, async () => {
  await inFolder(async (folder) => {
    const kept = {
      journal: { directory: `${folder}/journal`, stateDirectory: folder },
      stateDirectory: folder,
    };
    using held = HeldPort.take();
    const start = async () => {
      await Deno.mkdir(`${folder}/journal`, { recursive: true });
      return await TestBoat.start({ ...kept, port: held.port });
    };
    const first = await start();
    const args = ["-buffer-timeout", "5m", "-client-id", "log", "-ack-interval", "100ms"];
    await using run = new CommandRun(["dump", "-server", first.url, ...args]);
    await run.told(/connected to/);
    await say(first, 500);
    await run.written(200);
    const said = new Set(range(1, 500));
    await first[Symbol.asyncDispose]();
    const again = await start();
    try {
      const before = again.boat.broker.head;
      await say(again, 300);
      for (const seq of range(before + 1, again.boat.broker.head)) said.add(seq);
      await run.told(/connected again/);
      await eventually("the newest frame", () => run.frames.at(-1)?.seq === again.boat.broker.head);
      assert.deepEqual(seqsOf(run), [...said]);
      assert.equal(await run.stop(), 0);
      assert.equal(await cursorOf(again, "log"), again.boat.broker.head + 1);
    } finally {
      await again[Symbol.asyncDispose]();
    }
  });
});

Deno.test(
  "Ctrl-C keeps the place: what was written is acknowledged, and the next run goes on behind it",
  LIVE,
  async () => {
    await using boat = await TestBoat.start();
    const args = ["dump", "-server", boat.url, "-buffer-timeout", "PT5M", "-client-id", "log", "-ack-interval", "1h"];
    const first = new CommandRun(args);
    await first.told(/connected to/);
    await say(boat, 20);
    await first.written(20);
    assert.equal(await cursorOf(boat, "log"), 1, "nothing is acknowledged before its time");
    assert.equal(await first.stop(), 0);
    assert.equal(await cursorOf(boat, "log"), 21);
    await say(boat, 5);
    await using second = new CommandRun(args);
    await second.written(5);
    assert.deepEqual(seqsOf(second), range(21, 25));
  },
);

Deno.test(
  "frames that the server keeps no longer are told, and dump goes on with the oldest there is",
  LIVE,
  async () => {
    await using boat = await TestBoat.start({ ringFrames: 64 });
    const args = ["dump", "-server", boat.url, "-buffer-timeout", "PT5M", "-client-id", "log"];
    const first = new CommandRun(args);
    await first.told(/connected to/);
    await say(boat, 10);
    await first.written(10);
    assert.equal(await first.stop(), 0);
    for (let i = 0; i < 5; i++) await say(boat, 40);
    await using second = new CommandRun(args);
    await second.told(/^vbg dump: frames 11 to 146 are missing: the server no longer has them$/);
    await second.written(64);
    assert.deepEqual(seqsOf(second), range(147, 210));
  },
);

Deno.test("what was written is acknowledged every -ack-interval, what -where hides included", LIVE, async () => {
  await using boat = await TestBoat.start();
  const args = ["-buffer-timeout", "5m", "-client-id", "log", "-ack-interval", "100ms", "-where", "pgn == 1"];
  await using run = new CommandRun(["dump", "-server", boat.url, ...args]);
  await run.told(/connected to/);
  await say(boat, 7);
  await eventually("the acknowledgement", async () => await cursorOf(boat, "log") === 8);
  assert.equal(run.text, "");
});

Deno.test("-journal records every frame that comes, whatever -where shows, and dump reads it again", LIVE, async () => {
  await inFolder(async (folder) => {
    await using boat = await TestBoat.start({ names: ["can0", "can1"] });
    boat.claim(1, { manufacturerCode: 229 }, { bus: 0 });
    boat.claim(2, { manufacturerCode: 275 }, { bus: 1 });
    await eventually("the claims", () => boat.boat.broker.head === 2);
    const run = new CommandRun(["dump", "-server", boat.url, "-journal", `${folder}/kept`, "-where", "src == 2"]);
    await run.told(/connected to/);
    for (const src of [1, 2]) {
      for (let i = 0; i < 5; i++) boat.say({ src, bus: src - 1, data: [i, src, 0, 0, 0, 0, 0, 0] });
    }
    await run.written(5);
    assert.equal(await run.stop(), 0);
    const { code, lines } = await CommandRun.end(["dump", `${folder}/kept`]);
    const recorded = lines.map((line) => JSON.parse(line));
    assert.deepEqual([code, recorded.length], [0, 10]);
    assert.deepEqual(recorded.map(({ src, bus }) => `${bus}/${src}`).sort(), [
      ...Array.from({ length: 5 }, () => "can0/1"),
      ...Array.from({ length: 5 }, () => "can1/2"),
    ]);
    const named = await CommandRun.end(["dump", `${folder}/kept`, "-manufacturer", "garmin"]);
    assert.deepEqual(named.lines.map((line) => JSON.parse(line).src), [1, 1, 1, 1, 1]);
    assert.match(named.lines[0] ?? "", /"bus":"can0","name":"0x/);
  });
});

Deno.test("without -reconnect a lost connection ends dump with 1 and one line", LIVE, async () => {
  const boat = await TestBoat.start();
  await using run = new CommandRun(["dump", "-server", boat.url, "-reconnect=false"]);
  await run.told(/connected to/);
  await boat[Symbol.asyncDispose]();
  assert.equal(await run.code, 1);
  assert.match(run.complaints.at(-1) ?? "", /^vbg dump: /);
});

Deno.test(
  "the first failed connection already says why, and what dump does next; -quiet says nothing",
  LIVE,
  async () => {
    using nobody = HeldPort.take();
    // Browsers, and the runtime with them, never connect to port 9.
    for (const [port, reason] of [[nobody.port, "[Rr]efused"], [9, "blocked"]] as const) {
      const args = ["-server", `http://127.0.0.1:${port}`, "-reconnect-delay", "50ms"];
      for (const more of [["dump"], ["dump", "-buffer-timeout", "5m"], ["tail"]]) {
        await using run = new CommandRun([...more, ...args]);
        await using quiet = new CommandRun([...more, ...args, "-quiet"]);
        await eventually("tries", () => run.complaints.length >= 3);
        const line = new RegExp(`: the server cannot be reached: .*${reason}.*; trying again in 0\\.1 s$`);
        for (const complaint of run.complaints) assert.match(complaint, line);
        assert.deepEqual(quiet.complaints, []);
      }
    }
  },
);

Deno.test("dump ends quietly with 0 when its reader goes", LIVE, async () => {
  await using boat = await TestBoat.start();
  await using run = new CommandRun(["dump", "-server", boat.url], { closesAfter: 500 });
  await run.told(/connected to/);
  let isOver = false;
  run.code.then(() => isOver = true);
  await eventually("the end", () => {
    boat.say();
    return isOver;
  });
  assert.equal(await run.code, 0);
  assert.deepEqual(run.complaints.map((line) => line.replace(/http\S+/, "URL")), ["vbg dump: connected to URL"]);
});

Deno.test("a token opens what needs one; without it the refusal is one line and exit code 1", LIVE, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  const { code, complaints } = await CommandRun.end(["dump", "-server", boat.url]);
  assert.equal(code, 1);
  assert.match(complaints, /401/);
  await using run = new CommandRun(["dump", "-server", boat.url], { environment: { VBG_TOKEN: "secret" } });
  await run.told(/connected to/);
});

Deno.test("a -journal that is no directory ends the command with a reason", LIVE, async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await using boat = await TestBoat.start();
    const { code, complaints } = await CommandRun.end(["dump", "-server", boat.url, "-journal", `${folder}/file/kept`]);
    assert.equal(code, 1);
    assert.match(complaints, /^vbg dump: Cannot record in ".*\/file\/kept": /m);
  });
});

Deno.test("tail shows the last recorded frames, then what comes, none twice", LIVE, async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/journal`);
    const recording = { directory: `${folder}/journal`, stateDirectory: folder };
    await using boat = await TestBoat.start({ journal: recording, stateDirectory: folder });
    await say(boat, 30);
    await using run = new CommandRun(["tail", "-server", boat.url, "-last", "4"]);
    await run.written(4);
    await say(boat, 3);
    await run.written(7);
    assert.deepEqual(seqsOf(run), range(27, 33));
    assert.equal(await run.stop(), 0);
  });
});

Deno.test("tail -last of a server that records nothing says so, and follows", LIVE, async () => {
  await using boat = await TestBoat.start();
  await using run = new CommandRun(["tail", "-server", boat.url, "-last", "4"]);
  await run.told(/the server has no journal/);
  await say(boat, 1);
  await run.written(1);
});

Deno.test("-changes tells a change and who falls silent, and nothing of the same again", LIVE, async () => {
  await using boat = await TestBoat.start();
  await using run = new CommandRun(["dump", "-server", boat.url, "-changes", "-pgn", "128267"]);
  await run.told(/connected to/);
  for (const depth of [100, 100, 101, 250]) boat.say({ pgn: 128267, data: [1, depth, 0, 0, 0, 0, 0, 0xff] });
  await run.written(3);
  const [snapshot, delta, idle] = run.lines.map((line) => JSON.parse(line));
  assert.deepEqual([snapshot.change, snapshot.seq], ["snapshot", 1]);
  assert.deepEqual([delta.change, delta.seq, delta.fields], ["delta", 4, ["depth"]]);
  assert.deepEqual(Object.keys(idle), ["change", "ts", "pgn", "src"]);
  assert.deepEqual([idle.change, idle.pgn, idle.src], ["idle", 128267, 1]);
});

for (const command of ["dump", "tail"]) {
  Deno.test(
    `${command} -quiet tells of lost frames alone, and -reconnect-delay is the time between tries`,
    LIVE,
    async () => {
      using held = HeldPort.take();
      const first = await TestBoat.start({ port: held.port });
      const args = [command, "-server", first.url, "-reconnect-delay", "50ms"];
      await using told = new CommandRun(args);
      await using quiet = new CommandRun([...args, "-quiet"]);
      await told.told(/connected to/);
      await eventually("the other", async () => await first.metric('vbg_streams{kind="sse"}') === 2);
      await say(first, 3);
      await quiet.written(3);
      await first[Symbol.asyncDispose]();
      const tries = () => told.complaints.filter((line) => /; trying again in 0\.1 s$/.test(line)).length;
      await eventually("many tries", () => tries() >= 8);
      await using second = await TestBoat.start({ port: held.port });
      await eventually("both again", async () => await second.metric('vbg_streams{kind="sse"}') === 2);
      await told.told(/connected again to/);
      await say(second, 9);
      await quiet.written(12);
      assert.deepEqual([await quiet.stop(), await told.stop()], [0, 0]);
      assert.deepEqual(quiet.complaints, [`vbg ${command}: the server's numbers begin again`]);
    },
  );
}
