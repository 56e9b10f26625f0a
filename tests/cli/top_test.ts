import assert from "node:assert/strict";
import { DeviceRates, sumOf } from "../../cli/commands/top/rates.ts";
import { keysOf } from "../../cli/program/live_screen.ts";
import type { Device } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { HeldPort } from "../support/held_port.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const [HOME, ERASE_BELOW, ERASE_LINE_END] = ["\u001b[H", "\u001b[J", "\u001b[K"];
const TERMINAL = { isTerminal: true, columns: 80, environment: { LINES: "24" } };

/** A boat with two devices on two buses; its times stand still. */
async function boatWithDevices({ port = 0 } = {}): Promise<TestBoat> {
  const boat = await TestBoat.start({ names: ["can0", "can1"], clock: new FakeClock(), port });
  boat.claim(7, { manufacturerCode: 229 }, { bus: 1 });
  boat.product(7, "GPS 24xd", { bus: 1 });
  boat.say({ src: 9, data: HEADING });
  await eventually("all messages", () => boat.boat.broker.head === 3);
  return boat;
}

/** The lines that a drawing of the whole screen puts there. */
function linesOf(drawing: string): string[] {
  const lines = drawing.replace(HOME, "").replace(ERASE_BELOW, "").replaceAll(ERASE_LINE_END, "").split("\r\n");
  return lines.map((line) => line.replaceAll(/\b\d\d:\d\d:\d\d(?=Z)/g, "HH:MM:SS"));
}

function device(src: number, packets: number, more: Partial<Device> = {}): Device {
  const [first_seen, last_seen] = ["2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.000Z"];
  return { src, first_seen, last_seen, packet_count: packets, byte_count: packets * 8, ...more };
}

Deno.test("rates are of the last seconds, and unknown where counters begin or begin again", () => {
  const rates = new DeviceRates();
  rates.add([device(1, 100)], 0);
  assert.equal(rates.of(device(1, 100)), undefined);
  for (let second = 1; second <= 10; second++) {
    rates.add([device(1, 100 + (second <= 5 ? 0 : 20 * (second - 5))), device(2, second)], second * 1000);
  }
  assert.deepEqual(rates.of(device(1, 0)), { frames: 20, bytes: 160 });
  assert.deepEqual(rates.of(device(2, 0)), { frames: 1, bytes: 8 });
  assert.equal(rates.of(device(2, 0, { bus: "can1" })), undefined);
  assert.equal(rates.of(device(2, 0, { name: "0x1" })), undefined);
  rates.add([device(1, 3)], 11_000);
  assert.equal(rates.of(device(1, 3)), undefined);
  assert.equal(rates.of(device(2, 3)), undefined, "it has gone");
  assert.deepEqual(sumOf([{ frames: 1, bytes: 2 }, undefined, { frames: 3, bytes: 4 }]), { frames: 4, bytes: 6 });
  assert.equal(sumOf([undefined]), undefined);
});

Deno.test("keys are known in their terminals' words, others mean nothing", () => {
  assert.deepEqual(keysOf("q\t1\u001b[Z\u001b[Aj\u001b[6~\u0003"), [
    ...["quit", "next"] as const,
    { tab: 0 },
    ...["previous", "up", "down", "page-down", "quit"] as const,
  ]);
  assert.deepEqual(keysOf("xyzäß\u001b[1;5P\u001b\r\n\u001b[200~constructor"), []);
});

Deno.test("vbg top shows a boat on 80 by 24 characters, page by page", NET, async () => {
  await using boat = await boatWithDevices();
  await using command = new LiveCommand(["top", "-server", boat.url], TERMINAL);
  const [start, first] = await eventually("the first picture", () => command.written.length > 1 && command.written);
  assert.equal(start, "\u001b[?1049h\u001b[?25l");
  const overview = linesOf(first ?? "");
  assert.deepEqual(overview.slice(1), OVERVIEW);
  assert.match(overview[0] ?? "", /^http:\/\/127\.0\.0\.1:\d+ {2}ok +2 devices {2}– frames\/s {2}– {2}HH:MM:SSZ$/);
  command.press("\t");
  const devices = await eventually("devices", () => command.written.find((text) => /\[2 Devices\][^]*0 B/.test(text)));
  assert.deepEqual(linesOf(devices).slice(2), DEVICES);
  command.press("3");
  const values = await eventually("values", () => command.written.find((text) => text.includes("[3 Values]")));
  assert.deepEqual(linesOf(values).slice(2), VALUES);
  for (const picture of command.written.slice(1)) {
    const lines = linesOf(picture);
    assert.ok(lines.length <= 24 && lines.every((line) => line.length <= 80), picture);
  }
  command.press("q");
  assert.equal(await command.code, 0);
  assert.equal(command.written.at(-1), "\u001b[?25h\u001b[?1049l");
  assert.deepEqual(command.complained, []);
});

const OVERVIEW = [
  "[1 Overview]  2 Devices   3 Values   tab: next, j k: move, q: quit",
  "",
  "Position  –",
  "SOG, COG  –",
  "Heading   057.3°M",
  "STW       –",
  "Depth     –",
  "Wind app. –",
  "Wind true –",
  "Water     –",
  "Air       –",
  "Time      –",
  "",
  "Healthy: can0, can1",
  "",
  "BUS   DEVICES  FRAMES/S  BYTES/S",
  "can0        1         –        –",
  "can1        1         –        –",
  "",
  "BUS   SRC  MANUFACTURER  MODEL     FRAMES/S  BYTES/S  FRAMES  LAST",
  "can1    7  Garmin        GPS 24xd         –        –       2  HH:MM:SSZ",
  "can0    9                                 –        –       1  HH:MM:SSZ",
];
const DEVICES = [
  "",
  "BUS   SRC  MANUFACTURER  MODEL     FRAMES/S  BYTES/S  FRAMES  LAST",
  "can0    9                               0.0    0 B/s       1  HH:MM:SSZ",
  "can1    7  Garmin        GPS 24xd       0.0    0 B/s       2  HH:MM:SSZ",
];
const VALUES = [
  "",
  "TIME       BUS   SRC     PGN  MESSAGE              VALUES",
  "HH:MM:SSZ  can0    9  127250  Vessel heading       heading 057.3°M",
  "HH:MM:SSZ  can1    7   60928  ISO address claim    unique_number 0, manufacture…",
  "HH:MM:SSZ  can1    7  126996  Product information  nmea_version 2100, product_c…",
];

Deno.test(
  "vbg top shows each tank of a device that speaks of all in one burst, each in a place of its own",
  NET,
  async () => {
    await using boat = await TestBoat.start();
    const fuel = (instance: number, level: number) => {
      boat.say({
        src: 9,
        pgn: 127505,
        data: [instance, (level * 250) & 0xff, (level * 250) >> 8, 0xd0, 7, 0, 0, 0xff],
      });
    };
    const burst = () => [10, 20, 30].forEach((level, instance) => fuel(instance, level));
    await using command = new LiveCommand(["top", "-server", boat.url], TERMINAL);
    await eventually("the first picture", () => command.written.length > 1);
    const tanks = (text = "") =>
      linesOf(text).flatMap((line) => /Fuel \d.*/.exec(line)?.[0] ?? []).map((line) => line.replaceAll(/ +/g, " "));
    await eventually("all tanks", () => {
      burst();
      return tanks(command.written.at(-1)).length === 3;
    });
    assert.deepEqual(tanks(command.written.at(-1)), [
      "Fuel 0 10.0 % 200.0 L",
      "Fuel 1 20.0 % 200.0 L",
      "Fuel 2 30.0 % 200.0 L",
    ]);
    assert.equal(await command.stop(), 0);
  },
);

Deno.test("vbg top moves through what has no room, and no further", NET, async () => {
  await using boat = await TestBoat.start();
  for (let src = 1; src <= 30; src++) boat.say({ src, data: HEADING });
  await eventually("all messages", () => boat.boat.broker.head === 30);
  await using command = new LiveCommand(["top", "-server", boat.url], TERMINAL);
  await eventually("the first picture", () => command.written.length > 1);
  command.press("2");
  command.press("j  \u001b[B   ");
  const shows = (first: number, last: number) =>
    eventually(`devices ${first} to ${last}`, () =>
      command.written.some((text) => {
        const [, title, , heading = "", ...rows] = linesOf(text);
        const sources = rows.map((row) => Number(row.trim().split(" ")[0]));
        return title?.includes("[2 Devices]") && heading.startsWith("SRC") && sources[0] === first &&
          sources.at(-1) === last;
      }));
  await shows(1, 20);
  await shows(2, 21);
  await shows(11, 30);
  command.press("kkk");
  await shows(8, 27);
  assert.equal(await command.stop(), 0);
  assert.equal(command.written.at(-1), "\u001b[?25h\u001b[?1049l");
});

Deno.test("vbg top shows that the server is away, and goes on when it is back", NET, async () => {
  using held = HeldPort.take();
  const first = await boatWithDevices(held);
  await using command = new LiveCommand(["top", "-server", first.url], TERMINAL);
  await eventually("the first picture", () => command.written.length > 1);
  await first[Symbol.asyncDispose]();
  const lost = await eventually(
    "a word of it",
    () => command.written.find((text) => text.includes("cannot be reached")),
  );
  assert.match(linesOf(lost)[1] ?? "", /^GET http:.*: the server cannot be reached: Conn/);
  assert.ok(lost.includes("GPS 24xd"), "what was known is shown on");
  await using boat = await TestBoat.start({ port: held.port });
  boat.say({ src: 33, data: HEADING });
  await eventually("the new device", () => linesOf(command.written.at(-1) ?? "").some((line) => /^ 33 /.test(line)));
  assert.ok(!command.written.at(-1)?.includes("cannot be reached"));
});

Deno.test("vbg top prints JSON in a pipe, a line each second, and draws on terminals alone", NET, async () => {
  await using boat = await boatWithDevices();
  await using command = new LiveCommand(["top", "-server", boat.url]);
  await eventually("two lines", () => command.written.length >= 2);
  assert.equal(await command.stop(), 0);
  const [first, second] = command.written.map((line) => JSON.parse(line));
  assert.deepEqual([first.frames_per_second, second.frames_per_second], [null, 0]);
  assert.deepEqual([second.health.status, second.replication, second.devices.length], ["ok", null, 2]);
  const refused = await runCommand(["top", "-json=false", "-server", boat.url]);
  assert.deepEqual([refused.code, refused.err], [
    2,
    "vbg top: Standard output is not a terminal: use -json\n",
  ]);
});
