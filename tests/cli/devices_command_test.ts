import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });

/** A boat with two buses; its times stand still. */
async function boatWithDevices(): Promise<TestBoat> {
  const boat = await TestBoat.start({ names: ["can0", "can1"], clock: new FakeClock() });
  boat.claim(7, { manufacturerCode: 229, deviceClass: 60, deviceFunction: 145, uniqueNumber: 5 }, { bus: 1 });
  boat.product(7, "GPS 24xd \u001b[31mred", { bus: 1 });
  boat.claim(200, { manufacturerCode: 1855, deviceClass: 7, deviceInstance: 3 });
  boat.say({ src: 9 });
  await eventually("all messages", () => boat.boat.broker.head === 4);
  return boat;
}

Deno.test("vbg devices lists devices by bus and address, in a table that fits the terminal", NET, async () => {
  await using boat = await boatWithDevices();
  const args = ["devices", "-server", boat.url];
  const wide = await runCommand(args, { isTerminal: true, columns: 130 });
  assert.deepEqual([wide.code, wide.err], [0, ""]);
  assert.deepEqual(wide.out.split("\n"), WIDE);
  const narrow = await runCommand(args, { isTerminal: true, columns: 80 });
  assert.deepEqual(narrow.out.split("\n"), NARROW);
  for (const columns of [130, 99, 80, 60]) {
    const { out } = await runCommand(args, { isTerminal: true, columns });
    for (const line of out.split("\n")) assert.ok(line.length <= columns, `${columns}: ${line}`);
  }
});

const WIDE = [
  "BUS   SRC  NAME                MANUFACTURER  MODEL                   CLASS       INST  FRAMES  BYTES  LAST",
  "can0    9                                                                                   1    8 B  03:04:05Z",
  "can0  200  0x000e0003e7e00000  Furuno                                Class 7        3       1    8 B  03:04:05Z",
  "can1    7  0x007891001ca00005  Garmin        GPS 24xd \\u001b[31mred  Navigation     0       2  142 B  03:04:05Z",
  "",
];
const NARROW = [
  "BUS   SRC  NAME                MANUFACTURER  MODEL               INST  LAST",
  "can0    9                                                              03:04:05Z",
  "can0  200  0x000e0003e7e00000  Furuno                               3  03:04:05Z",
  "can1    7  0x007891001ca00005  Garmin        GPS 24xd \\u001b[3…     0  03:04:05Z",
  "",
];

Deno.test("vbg devices prints the server's own answer as JSON in a pipe, and where it is asked for", NET, async () => {
  await using boat = await boatWithDevices();
  const piped = await runCommand(["devices", "-server", boat.url]);
  assert.deepEqual(piped.out.split("\n").length, 2);
  assert.deepEqual(JSON.parse(piped.out), await boat.get("/devices"));
  const asked = await runCommand(["devices", "--json", "-server", boat.url], { isTerminal: true });
  assert.deepEqual(JSON.parse(asked.out), JSON.parse(piped.out));
  const table = await runCommand(["devices", "-json=false", "-server", boat.url]);
  assert.match(table.out, /^BUS +SRC +NAME/);
});

Deno.test("vbg devices says when nobody was heard", NET, async () => {
  await using boat = await TestBoat.start();
  assert.equal((await runCommand(["devices", "-server", boat.url])).out, "[]\n");
  const { out } = await runCommand(["devices", "-server", boat.url], { isTerminal: true });
  assert.equal(out, "No devices seen yet\n");
});

Deno.test("vbg devices -watch tells in a pipe who is there, then each change, until it is stopped", NET, async () => {
  await using boat = await TestBoat.start();
  boat.claim(7, { manufacturerCode: 229 });
  await eventually("the claim", () => boat.boat.broker.head === 1);
  await using command = new LiveCommand(["devices", "-watch", "-server", boat.url]);
  await eventually("the first line", () => command.written.length === 1);
  boat.claim(8, { manufacturerCode: 1855, uniqueNumber: 1 });
  await eventually("the second line", () => command.written.length === 2);
  assert.equal(await command.stop(), 0);
  const lines = command.written.map((line): { event: string; device: { src: number } } => JSON.parse(line));
  assert.deepEqual(lines.map(({ event, device }) => [event, device.src]), [["present", 7], ["added", 8]]);
});

Deno.test("vbg devices -watch draws the list in the same place of a terminal, again and again", NET, async () => {
  await using boat = await TestBoat.start();
  const form = { isTerminal: true, environment: { LINES: "6" } };
  await using command = new LiveCommand(["devices", "-watch", "-server", boat.url], form);
  await eventually("nobody", () => command.written.length > 0);
  assert.equal(command.written[0], "\u001b[H\u001b[2JNo devices seen yet\u001b[K\n\u001b[J");
  for (let src = 1; src <= 9; src++) boat.claim(src, { uniqueNumber: src });
  const last = await eventually(
    "the devices",
    () =>
      command.written.find((text) => text.includes("  9  ")) ??
        command.written.find((text) => text.includes("more lines")),
  );
  assert.equal(await command.stop(), 0);
  assert.ok(last.startsWith("\u001b[H") && !last.includes("\u001b[2J"));
  const lines = last.slice("\u001b[H".length).split("\u001b[K\n");
  assert.equal(lines.length, 6, "five lines, and the end");
  assert.equal(lines[4], "… and 6 more lines");
});
