import assert from "node:assert/strict";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { parseCanId } from "../../src/frame/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["net", "read", "write"] });
const OPEN: TestBoatOptions = { sendEnabled: true };
/** Bank 1: 1 on, 2 off, 3 error, 4 not available, 5 on, all others not available. */
const BANK_1 = [1, 0b11_10_00_01, 0b11_11_11_01, 0xff, 0xff, 0xff, 0xff, 0xff];
const BANK_2 = [2, 0b11_11_11_00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];

/** A device with a bank of switches: it does what it is told, and reports. */
function bankAt(boat: TestBoat, src: number, { instance, obeys = true, bus = 0 }: {
  instance: number;
  obeys?: boolean;
  bus?: number;
}): number[] {
  const states = [instance, 0b11_11_00_00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
  const report = () => boat.say({ pgn: 127501, src, prio: 3, data: states, bus });
  boat.claim(src, { uniqueNumber: src, manufacturerCode: 229 }, { bus });
  report();
  boat.buses[bus]?.attach(({ id, data, offset, length }) => {
    const { pgn } = parseCanId(id);
    const payload = data.subarray(offset, offset + length);
    if (pgn !== 127502 || payload[0] !== instance) return;
    for (let i = 0; obeys && i < 28; i++) {
      const at = 1 + (i >> 2);
      const shift = (i & 3) * 2;
      const wanted = ((payload[at] ?? 0) >> shift) & 3;
      if (wanted < 2) states[at] = ((states[at] ?? 0) & ~(3 << shift)) | (wanted << shift);
    }
    report();
  });
  return states;
}

Deno.test(
  "vbg switches shows every bank of every device, also where one device has several",
  DISK,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: `${folder}/state` };
      await using boat = await TestBoat.start({ journal });
      boat.claim(35, { uniqueNumber: 35, manufacturerCode: 229 });
      boat.product(35, "Octoplex");
      boat.say({ pgn: 127501, src: 35, data: BANK_1 });
      boat.say({ pgn: 127501, src: 35, data: BANK_2 });
      boat.say({ pgn: 127501, src: 41, data: BANK_2 });
      await eventually("all", () => boat.boat.broker.head === 5);
      const args = ["switches", "-server", boat.url];
      const shown = await runCommand(args, { isTerminal: true });
      assert.deepEqual([shown.code, shown.err], [0, ""]);
      const lines = shown.out.trimEnd().split("\n").map((line) => line.trim().split(/ {2,}/));
      assert.deepEqual(lines.map((cells) => cells.filter((cell) => !/^\d\d:\d\d:\d\dZ$/.test(cell))), [
        ["BANK", "SRC", "DEVICE", "LAST", "SWITCHES"],
        ["1", "35", "Garmin Octoplex", "1 on, 2 off, 3 error, 5 on"],
        ["2", "35", "Garmin Octoplex", "1 off"],
        ["2", "41", "1 off"],
      ]);
      const rows = JSON.parse((await runCommand([...args, "-instance", "2"])).out);
      assert.deepEqual(
        rows.map(({ src, instance, switches }: Record<string, unknown>) => [src, instance, switches]),
        [[35, 2, { 1: "off" }], [41, 2, { 1: "off" }]],
      );
    }),
);

Deno.test("vbg switches without a journal listens for what comes, and says when there is nothing", NET, async () => {
  await using boat = await TestBoat.start();
  const args = ["switches", "-server", boat.url, "-wait", "10ms"];
  const none = await runCommand(args, { isTerminal: true });
  assert.deepEqual([none.code, none.out], [0, "No switch bank has reported\n"]);
  assert.equal((await runCommand(args)).out, "[]\n");
  await using watching = new LiveCommand(["switches", "-server", boat.url, "-watch"]);
  await eventually("the stream", async () => (await boat.metric('vbg_streams{kind="sse"}') ?? 0) === 1);
  for (const data of [BANK_1, BANK_1, BANK_2]) boat.say({ pgn: 127501, src: 35, data });
  await eventually("two lines", () => watching.written.length === 2);
  assert.deepEqual(watching.written.map((line) => JSON.parse(line).instance), [1, 2]);
  assert.equal(await watching.stop(), 0);
});

Deno.test("vbg switches set sends 127502 and waits until the bank reports the state", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  bankAt(boat, 35, { instance: 1 });
  await eventually("the bank", () => boat.boat.broker.head === 2);
  const args = ["switches", "set", "-server", boat.url, "-timeout", "30s"];
  const set = await runCommand([...args, "2=on", "1=off"], { isTerminal: true });
  assert.deepEqual([set.code, set.err], [0, ""]);
  const sent = boat.heard[0]!.filter(({ pgn }) => pgn === 127502);
  assert.deepEqual(
    sent.map(({ data, prio }) => [data, prio]),
    [["01f4ffffffffffff", 3]],
    "the others stay as they are",
  );
  assert.deepEqual(set.out.split("\n"), [
    `Queued at ${boat.url}: PGN 127502 Switch bank control to all devices, bank 1: 1 off, 2 on`,
    "[35] Garmin: bank 1 reports 1 off, 2 on",
    "",
  ]);
  const json = JSON.parse((await runCommand([...args, "-instance", "1", "2=off"])).out);
  assert.deepEqual(json.devices.map(({ src, shown }: Record<string, unknown>) => [src, shown]), [[35, true]]);
});

Deno.test("vbg switches set says which of the devices with that bank did not report the state", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  bankAt(boat, 35, { instance: 1 });
  bankAt(boat, 41, { instance: 1, obeys: false });
  bankAt(boat, 50, { instance: 7 });
  await eventually("the banks", () => boat.boat.broker.head === 6);
  const args = ["switches", "set", "-server", boat.url, "-timeout", "1s"];
  const set = await runCommand([...args, "-instance", "1", "1=on"], { isTerminal: true });
  assert.equal(set.code, 1);
  assert.match(
    set.out,
    /^2 devices have bank 1, \[35\] [^,]+, \[41\] [^,]+: all of them are switched; -dst names one\n/,
  );
  assert.match(set.out, /\[35\] Garmin: bank 1 reports 1 on\n$/);
  assert.match(set.err, /^vbg switches set: \[41\] Garmin: bank 1 did not report 1 on within 1 s: it reports 1 off\n$/);
  const which = await runCommand([...args, "1=on"]);
  assert.deepEqual([which.code, which.out], [2, ""]);
  assert.match(which.err, /There are several banks, 1, 7: -instance names one/);
  const json = await runCommand([...args, "-instance", "1", "1=off"]);
  assert.deepEqual(
    JSON.parse(json.out).devices.map(({ src, shown }: Record<string, unknown>) => [src, shown]),
    [[35, true], [41, true]],
    "one that obeys nobody has it off",
  );
});

Deno.test("vbg switches set -dst commands one device, and tells of its refusal", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  for (const src of [35, 41]) bankAt(boat, src, { instance: 1 });
  await eventually("the banks", () => boat.boat.broker.head === 4);
  const heard = boat.listen();
  const args = ["switches", "set", "-server", boat.url, "-dst", "41", "-instance", "1", "-timeout", "30s"];
  const refused = runCommand([...args, "9=on"], { isTerminal: true });
  await eventually("the command", () => heard.filter(({ pgn, dst }) => pgn === 126208 && dst === 41).length === 2);
  boat.say({ pgn: 126208, src: 41, dst: 254, data: [2, 0x0d, 0xf2, 1, 0, 2, 0x30] });
  const { code, err } = await refused;
  assert.deepEqual([code, err], [1, "vbg switches set: [41] Garmin: refused the command\n"]);
  const payload = heard.filter(({ pgn }) => pgn === 126208).slice(0, 2).map(({ data }) => data);
  assert.deepEqual(payload.map((data) => data.slice(2)), ["0a010df201f802", "01010a01ffffff"]);
  const done = runCommand([...args, "9=on"], { isTerminal: true });
  await eventually("the command", () => heard.filter(({ pgn, src }) => pgn === 126208 && src === 254).length === 4);
  boat.say({ pgn: 127501, src: 35, data: [1, 0xff, 0xff, 0b11_11_11_01, 0xff, 0xff, 0xff, 0xff] });
  boat.say({ pgn: 127501, src: 41, data: [1, 0xff, 0xff, 0b11_11_11_01, 0xff, 0xff, 0xff, 0xff] });
  const { code: doneCode, out } = await done;
  assert.equal(doneCode, 0);
  assert.match(out, /\n\[41\] Garmin: bank 1 reports 9 on\n$/);
  assert.ok(!out.includes("[35]"));
});

Deno.test("vbg switches set shows why the server does not send, and what word is wrong", NET, async () => {
  await using boat = await TestBoat.start({
    sendEnabled: true,
    sendRules: parseSendRules("!pgn:127502; pgn:0-262143"),
  });
  const args = ["switches", "set", "-server", boat.url, "-instance", "1"];
  const denied = await runCommand([...args, "1=on"]);
  assert.deepEqual([denied.code, denied.out], [1, ""]);
  assert.match(denied.err, /^vbg switches set: POST .*\/send: 403 send denied by rule 1 "! pgn:127502" \(pgn=127502, /);
  boat.boat.reload({ sendEnabled: false });
  assert.match(
    (await runCommand([...args, "1=on"])).err,
    /403 send is disabled; a boat server sends with -send-enabled/,
  );
  const wrong: [words: string[], line: RegExp][] = [
    [[], /Missing switches: expected N=on or N=off/],
    [["1"], /Cannot read "1": expected N=on or N=off, N from 1 to 28/],
    [["29=on"], /Cannot read "29=on"/],
    [["0=on"], /Cannot read "0=on"/],
    [["1=toggle"], /Cannot read "1=toggle"/],
    [["1=on", "1=off"], /Switch 1 is given twice/],
  ];
  for (const [words, line] of wrong) {
    const { code, err } = await runCommand([...args, ...words]);
    assert.equal(code, 2, err);
    assert.match(err, line);
  }
  assert.deepEqual(boat.heard[0], []);
});

Deno.test("vbg switches and switches set have help of their own", async () => {
  const help = await runCommand(["switches", "-help"]);
  assert.equal(help.code, 0);
  assert.match(help.out, /\bset\b/);
  assert.match(help.out, /-watch/);
  const set = await runCommand(["switches", "set", "-help"]);
  assert.match(set.out, /^vbg switches set: /);
  assert.match(set.out, /-dst/);
});
