import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const NET = needs({ permissions: ["net"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];

Deno.test("vbg send puts a message on the bus that was named, as bytes or as fields", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true, names: ["can0", "can1"] });
  const heard = boat.listen(1);
  const args = ["send", "-server", boat.url, "-bus", "can1", "-pgn", "127250"];
  const bytes = await runCommand([...args, "-data", "0xff 10:27 FF7F FF7F FD"], { isTerminal: true });
  assert.deepEqual([bytes.code, bytes.out, bytes.err], [
    0,
    `Queued at ${boat.url}: PGN 127250 Vessel heading to all devices\n`,
    "",
  ]);
  const fields = '{"heading": 1, "heading_reference": "magnetic"}';
  const words = await runCommand([...args, "-fields", fields, "-prio", "2", "-src", "33"]);
  assert.deepEqual(JSON.parse(words.out), {
    queued: { pgn: 127250, dst: 255, src: 33, prio: 2, bus: "can1", fields: JSON.parse(fields) },
  });
  const to = await runCommand(["send", "-server", boat.url, "-pgn=61184", "-data=0102", "-dst=9"], {
    isTerminal: true,
  });
  assert.match(to.out, /: PGN 61184 .* to address 9\n$/);
  await eventually("both messages", () => heard.length === 2);
  assert.deepEqual(heard, [
    { prio: 6, pgn: 127250, src: 254, dst: 255, data: "ff1027ff7fff7ffd" },
    { prio: 2, pgn: 127250, src: 33, dst: 255, data: "ff1027ff7fff7ffd" },
  ]);
});

Deno.test("vbg send says which word of the message is wrong: ours with code 2, the server's with 1", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  const cases: [args: string[], code: number, line: RegExp][] = [
    [["-data", "00"], 2, /^vbg send: flag -pgn: Missing PGN: expected -pgn N\n/],
    [["-pgn", "127250"], 2, /^vbg send: flag -data: Missing or ambiguous payload: expected either -data HEX or/],
    [["-pgn", "127250", "-data", "00", "-fields", "{}"], 2, /^vbg send: flag -data: Missing or ambiguous payload/],
    [["-pgn", "127250", "-data", "0"], 2, /^vbg send: flag -data: Cannot read the payload "0": expected hex digits/],
    [
      ["-pgn", "127250", "-fields", "[1]"],
      2,
      /^vbg send: flag -fields: Cannot read the fields "\[1\]": expected a JSON/,
    ],
    [["-pgn", "127250", "-fields", "{"], 2, /^vbg send: flag -fields: Cannot read the fields "\{": expected a JSON/],
    [["-pgn", "262144", "-data", "00"], 2, /^vbg send: flag -pgn: Cannot read the number "262144"/],
    [["-pgn", "127250", "-data", "00", "-prio", "8"], 2, /^vbg send: flag -prio: Cannot read the number "8"/],
    [["-pgn", "127250", "-fields", '{"hading": 1}'], 1, /^vbg send: POST .*\/send: 400 Field "fields.hading"/],
    [["-pgn", "127250", "-data", "00", "-bus", "can7"], 1, /^vbg send: POST .*\/send: 400 Field "bus"/],
  ];
  for (const [args, expected, line] of cases) {
    const { code, out, err } = await runCommand(["send", "-server", boat.url, ...args]);
    assert.deepEqual([code, out], [expected, ""], err);
    assert.match(err, line);
  }
  assert.deepEqual(boat.heard[0], []);
});

Deno.test("vbg request prints the answer of the device that was asked", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  boat.answerRequests(9, () => boat.say({ src: 9, data: HEADING }));
  const args = ["request", "-server", boat.url, "-pgn", "127250", "-dst", "9", "-timeout", "10s"];
  const shown = await runCommand(args, { isTerminal: true });
  assert.deepEqual([shown.code, shown.err], [0, ""]);
  assert.match(shown.out, /^\S+Z 9>all 127250 Vessel heading: heading 057\.3°M\n$/);
  const answer = JSON.parse((await runCommand(args)).out);
  assert.deepEqual([answer.src, answer.data, answer.decoded.heading], [9, "ff1027ff7fff7ffd", 1]);
  const raw = JSON.parse((await runCommand([...args, "-decode=false"])).out);
  assert.ok(!("decoded" in raw));
});

Deno.test("vbg request is code 1 when nobody answers, and 2 without a PGN", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  const args = ["request", "-server", boat.url];
  const silent = await runCommand([...args, "-pgn", "126996", "-dst", "10", "-timeout", "1ms"]);
  assert.equal(silent.code, 1);
  assert.match(silent.err, /^vbg request: POST .*\/query: 504 No device answered in time\n$/);
  assert.equal((await runCommand(args)).code, 2);
});

const options = needs({ permissions: ["run", "read", "write", "net", "env"] });
const ANY_HEADING = { pgn: 127250, data: "00" };
const WIND = { pgn: 130306, data: "00" };

/** The server with a file that it reads again when it is written. */
class RuledBoat implements AsyncDisposable {
  readonly #program: TestProgram;
  readonly #url: string;

  private constructor(program: TestProgram, url: string) {
    this.#program = program;
    this.#url = url;
  }

  static async start(): Promise<RuledBoat> {
    const flags = ["-loopback", "-discovery=false", "-send-enabled", "-listen", "127.0.0.1:0"];
    const program = await TestProgram.start("boat", (folder) => ["-state-dir", folder, ...flags]);
    return new RuledBoat(program, await program.url());
  }

  /** Statuses of a heading and of a wind. */
  async statuses(): Promise<number[]> {
    return await Promise.all([ANY_HEADING, WIND].map(async (body) => {
      const reply = await fetch(`${this.#url}/send`, { method: "POST", body: JSON.stringify(body) });
      await reply.body?.cancel();
      return reply.status;
    }));
  }

  /** Writes the file, has it read, and answers what the log says of it. */
  async reload(file: string): Promise<string> {
    const before = this.#program.log.length;
    await Deno.writeTextFile(`${this.#program.folder}/vbg-boat.conf`, file);
    this.#program.signal("SIGHUP");
    return await eventually("the settings are read", () => {
      const log = this.#program.log.slice(before);
      return /settings (reloaded|refused)[^\n]*\n/.test(log) && log;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
  }
}

Deno.test("SIGHUP keeps rules that are objects, and never opens a server by a mistake", options, async () => {
  await using boat = await RuledBoat.start();
  assert.deepEqual(await boat.statuses(), [202, 202]);

  const objects = "send.rules = [{ deny = true, pgn = 127250 }, { pgn = [127245-127258, 130306] }]";
  assert.match(await boat.reload(objects), /"changed":"send-rules"/);
  assert.deepEqual(await boat.statuses(), [403, 202]);
  assert.match(await boat.reload(`${objects}, max-queries = 3`), /"changed":"max-queries"/);
  assert.deepEqual(await boat.statuses(), [403, 202]);

  for (const bad of ["send.rules = [{ pgn = 9-3 }]", `${objects} }`, "send.rules = [{}]", "send.rule = []"]) {
    assert.match(await boat.reload(bad), /settings refused/, bad);
    assert.deepEqual(await boat.statuses(), [403, 202], bad);
  }
  assert.match(await boat.reload("send.rules = [{ deny = true }]"), /settings reloaded/);
  assert.deepEqual(await boat.statuses(), [403, 403]);
});

Deno.test("SIGHUP tells when there are no rules any more, and what needs a restart", options, async () => {
  await using boat = await RuledBoat.start();
  await boat.reload('send.rules = ["pgn:130306"]');
  const log = await boat.reload("virtual-device = true");
  assert.match(log, /"level":"warn".*clients may send anything/);
  assert.match(log, /need a restart.*"settings":"virtual-device"/);
  assert.deepEqual(await boat.statuses(), [202, 202]);
});
