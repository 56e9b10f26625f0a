import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { HeldPort } from "../support/held_port.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";
import { describePgn, listPgns } from "../../src/pgn/mod.ts";

const NET = needs({ permissions: ["net"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const WIND = [0x01, 0x26, 0x02, 0x39, 0x30, 0x02, 0xff, 0xff];
const UNKNOWN = [1, 2, 3];

/** A boat that has said three things; its times stand still. */
async function boatWithValues({ port = 0 } = {}): Promise<TestBoat> {
  const boat = await TestBoat.start({ clock: new FakeClock(), port });
  boat.claim(7, { manufacturerCode: 229 });
  boat.say({ src: 7, data: HEADING });
  boat.say({ src: 7, pgn: 130306, data: WIND });
  boat.say({ src: 4, pgn: 65400, data: UNKNOWN });
  await eventually("all messages", () => boat.boat.broker.head === 4);
  return boat;
}

Deno.test("vbg values shows fields with their units, in lines that fit the terminal", NET, async () => {
  await using boat = await boatWithValues();
  const args = ["values", "-server", boat.url, "-exclude-pgn", "60928"];
  const { code, out, err } = await runCommand(args, { isTerminal: true, columns: 80 });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n"), SHOWN);
  const raw = await runCommand([...args, "-raw", "-pgn", "127250"], { isTerminal: true });
  assert.deepEqual(raw.out.split("\n").slice(1), ["  127250  Vessel heading  03:04:05Z  ff1027ff7fff7ffd", ""]);
  const narrow = await runCommand(args, { isTerminal: true, columns: 40 });
  for (const line of narrow.out.split("\n")) assert.ok(line.length <= 40, line);
});

const SHOWN = [
  "4",
  "   65400                  03:04:05Z  010203",
  "",
  "7  Garmin  0x000000001ca00000",
  "  127250  Vessel heading  03:04:05Z  heading 057.3°M",
  "  130306  Wind data       03:04:05Z  sid 1, wind_speed 10.7 kn,",
  "          wind_angle 71° starboard, wind_reference apparent",
  "",
];

Deno.test("vbg values prints the server's own answer as JSON, with fields or as they came", NET, async () => {
  await using boat = await boatWithValues();
  const args = ["values", "-server", boat.url];
  assert.deepEqual(JSON.parse((await runCommand(args)).out), await boat.get("/values/decoded"));
  for (const flag of ["-raw", "-decode=false"]) {
    assert.deepEqual(JSON.parse((await runCommand([...args, flag])).out), await boat.get("/values"));
  }
  const filtered = await runCommand([...args, "-manufacturer", "garmin", "-pgn", "127250", "-pgn", "1"]);
  assert.deepEqual(JSON.parse(filtered.out), await boat.get("/values/decoded?manufacturer=garmin&pgn=127250"));
  const none = await runCommand([...args, "-pgn", "1"], { isTerminal: true });
  assert.deepEqual([none.code, none.out], [0, "No values, or none that match\n"]);
});

Deno.test("vbg values refuses what contradicts itself or cannot be a filter, with code 2", NET, async () => {
  const cases: [args: string[], line: RegExp][] = [
    [["-raw", "-decode"], /^vbg values: flag -raw: Cannot use both -raw and -decode\n/],
    [["-pgn", "heading"], /^vbg values: flag -pgn: Cannot read the PGN "heading"/],
    [["-name", "xyz"], /^vbg values: flag -name: Cannot read the NAME "xyz"/],
    [["-server", "ftp://boat"], /^vbg values: flag -server: Cannot read the address "ftp:\/\/boat"/],
  ];
  for (const [args, line] of cases) {
    const { code, err } = await runCommand(["values", "-server", "http://127.0.0.1:9", ...args]);
    assert.equal(code, 2);
    assert.match(err, line);
  }
});

Deno.test("vbg values -watch tells in a pipe of each device what is new", NET, async () => {
  await using boat = await boatWithValues();
  await using command = new LiveCommand(["values", "-watch", "-raw", "-server", boat.url, "-exclude-pgn", "60928"]);
  await eventually("what there is", () => command.written.length === 2);
  boat.say({ src: 7, data: HEADING });
  await eventually("what is new", () => command.written.length === 3);
  assert.equal(await command.stop(), 0);
  const told = command.written.map((line): { src: number; values: { pgn: number; seq: number }[] } => JSON.parse(line));
  assert.deepEqual(told.map(({ src, values }) => [src, ...values.map(({ pgn, seq }) => [pgn, seq])]), [
    [4, [65400, 4]],
    [7, [127250, 2], [130306, 3]],
    [7, [127250, 5]],
  ]);
});

Deno.test("vbg values -watch goes on when the server is away for a while", NET, async () => {
  using held = HeldPort.take();
  const first = await boatWithValues(held);
  const form = { isTerminal: true, environment: { LINES: "24" } };
  await using command = new LiveCommand(["values", "-watch", "-server", first.url], form);
  await eventually("values", () => command.written.some((text) => text.includes("127250")));
  await first[Symbol.asyncDispose]();
  await eventually("a word of it", () => command.written.some((text) => text.includes("the server cannot be reached")));
  await using boat = await TestBoat.start({ port: held.port });
  boat.say({ src: 33, data: HEADING });
  await eventually("new values", () => command.written.some((text) => text.includes("33")));
  assert.equal(await command.stop(), 0);
});

Deno.test("vbg pgns tells all about a PGN without any server", async () => {
  const { code, out, err } = await runCommand(["pgns", "127250"], { isTerminal: true, columns: 80 });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(out.split("\n"), [
    "PGN 127250: Vessel heading (single frame, every 100 ms)",
    "",
    "FIELD              TYPE    UNIT  BITS  VALUES",
    "sid                number           8  0 to 254",
    "heading            number  rad     16  0 to 6.5534",
    "deviation          number  rad     16  -3.2768 to 3.2766",
    "variation          number  rad     16  -3.2768 to 3.2766",
    "heading_reference  enum             2  0 true, 1 magnetic",
    "",
  ]);
  const json = await runCommand(["pgns", "127250"]);
  assert.deepEqual(JSON.parse(json.out), describePgn(127250));
});

Deno.test("vbg pgns tells layouts apart by what a payload holds, and what lists hold", async () => {
  const { out } = await runCommand(["pgns", "126208"], { isTerminal: true });
  assert.match(out, /\n\nNMEA group function: request \(where function_code 0\)\nFIELD +TYPE/);
  const list = await runCommand(["pgns", "129540"], { isTerminal: true });
  assert.match(list.out, /\nsatellites +list of \w+\n {2}prn +number/);
});

Deno.test("vbg pgns lists all messages, or those with some words", async () => {
  assert.deepEqual(JSON.parse((await runCommand(["pgns"])).out), Array.from(listPgns()));
  const { out } = await runCommand(["pgns", "WIND", "data"], { isTerminal: true, columns: 80 });
  const lines = out.split("\n");
  assert.equal(lines[0], "   PGN  DESCRIPTION  FRAMES  INTERVAL  LAYOUTS");
  assert.ok(lines.includes("130306  Wind data    single    100 ms"));
  assert.ok(lines.slice(1, -1).every((line) => /wind/i.test(line) && /data/i.test(line)));
});

Deno.test("vbg pgns asks a server that is named", NET, async () => {
  await using boat = await TestBoat.start();
  const of = (...words: string[]) => runCommand(["pgns", "-server", boat.url, ...words]);
  assert.deepEqual(JSON.parse((await of("127250")).out), await boat.get("/pgns/127250"));
  assert.deepEqual(JSON.parse((await of()).out), await boat.get("/pgns"));
  const { code, err } = await of("1");
  assert.equal(code, 1);
  assert.match(err, /^vbg pgns: GET .*\/pgns\/1: 404 PGN 1 is not described: see \/pgns\n$/);
});

Deno.test("vbg pgns is code 1 for what nobody has described, and 2 for several PGNs", async () => {
  const unknown = await runCommand(["pgns", "1"]);
  assert.deepEqual([unknown.code, unknown.err], [
    1,
    "vbg pgns: PGN 1 has no definition: vbg pgns lists those that have one\n",
  ]);
  assert.deepEqual(await runCommand(["pgns", "no such words"]), { code: 1, out: "[]\n", err: "" });
  const none = await runCommand(["pgns", "no such words"], { isTerminal: true });
  assert.deepEqual([none.code, none.err], [1, 'vbg pgns: No message description contains "no such words"\n']);
  assert.equal((await runCommand(["pgns", "127250", "127251"])).code, 2);
});
