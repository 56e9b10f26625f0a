import assert from "node:assert/strict";
import { describePgn, listPgns } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });

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
