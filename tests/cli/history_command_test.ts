import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const DAY = ["-from", "2026-01-02T00:00:00Z", "-to", "2026-01-02T23:59:59Z"];

/** Runs a test with a boat that has recorded so many messages of two sources, by default a tenth of a second apart. */
function withRecording(
  count: number,
  test: (boat: TestBoat, args: string[]) => Promise<void>,
  { everyMs = 100 } = {},
) {
  return () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal, clock });
      for (let i = 1; i <= count; i++) {
        boat.say({ src: 2 - i % 2, data: HEADING });
        await eventually("the message", () => boat.boat.broker.head === i);
        clock.advance(everyMs);
      }
      await test(boat, ["history", "-server", boat.url, ...DAY]);
    });
}

Deno.test(
  "vbg history prints a line for each message in the columns of vbg dump, with hex or fields, below each day's date",
  DISK,
  withRecording(3, async (_, args) => {
    const days = [...args.slice(0, -1), "2026-01-03T23:59:59Z"];
    const raw = await runCommand(days, { isTerminal: true, columns: 90 });
    assert.deepEqual([raw.code, raw.err], [0, ""]);
    assert.deepEqual(raw.out.split("\n"), [
      "2026-01-02",
      "03:04:05.000Z [1]                 127250 Vessel heading   ff 10 27 ff 7f ff 7f fd",
      "15:04:05.000Z [2]                 127250 Vessel heading   ff 10 27 ff 7f ff 7f fd",
      "2026-01-03",
      "03:04:05.000Z [1]                 127250 Vessel heading   ff 10 27 ff 7f ff 7f fd",
      "",
    ]);
    const decoded = await runCommand([...days, "-decode", "-src", "2"], { isTerminal: true, columns: 90 });
    assert.equal(
      decoded.out,
      "2026-01-02\n15:04:05.000Z [2]                 127250 Vessel heading   heading 057.3°M\n",
    );
  }, { everyMs: 12 * 3_600_000 }),
);

Deno.test(
  "vbg history prints in a pipe the server's frames, one a line, and says when there are more",
  DISK,
  withRecording(40, async (boat, args) => {
    const { code, out, err } = await runCommand([...args, "-limit", "40"]);
    const lines = out.trimEnd().split("\n");
    const all = await boat.get<unknown[]>("/history?from=2026-01-02T00:00:00Z&to=2026-01-02T23:59:59Z");
    assert.deepEqual([code, lines.length, err], [0, 40, "Only the first 40 messages are shown: -limit allows more\n"]);
    assert.deepEqual(lines.map((line): unknown => JSON.parse(line)), all);
    const sparse = await runCommand([...args, "-interval", "1s", "-pgn", "127250"]);
    assert.deepEqual([sparse.out.trimEnd().split("\n").length, sparse.err], [8, ""]);
  }),
);

Deno.test(
  "vbg history takes times that are so long ago, and by default the last hour",
  DISK,
  withRecording(2, async (_, [name = "", ...args]) => {
    const server = args.slice(0, 2);
    const ages = [["-from", "P36500D", "-to", "1s"], ["-from", "876000h"], ["-from", "P36500D", "-limit", "1"]];
    const found: number[] = [];
    for (const age of [...ages, []]) {
      const { code, out } = await runCommand([name, ...server, ...age]);
      assert.equal(code, 0);
      found.push(out.split("\n").length - 1);
    }
    assert.deepEqual(found, [2, 2, 1, 0]);
    const none = await runCommand([name, ...server], { isTerminal: true });
    assert.deepEqual([none.out, none.err], ["", "No recorded message in this time matches\n"]);
    const wrong: [args: string[], line: RegExp][] = [
      [["-from", "yesterday"], /^vbg history: flag -from: Cannot read the time "yesterday": expected RFC 3339/],
      [["-from", "2024-02-30T00:00:00Z"], /^vbg history: flag -from: Cannot read the time "2024-02-30/],
      [["-src", "256"], /^vbg history: flag -src: Cannot read the address "256"/],
      [["-limit", "0"], /^vbg history: flag -limit: /],
      [["-interval", "0s"], /^vbg history: flag -interval: /],
    ];
    for (const [flags, line] of wrong) {
      const { code, err } = await runCommand([name, ...server, ...flags]);
      assert.equal(code, 2);
      assert.match(err, line);
    }
  }),
);

Deno.test("a history that is cut off is code 1, and what had come is printed", DISK, () =>
  inFolder(async (folder) => {
    const journal = { directory: `${folder}/journal`, stateDirectory: folder };
    await using boat = await TestBoat.start({ stateDirectory: folder, journal });
    const count = 20_000;
    // What cannot be packed does not come in one piece.
    const random = new Random(1);
    for (let i = 0; i < count; i++) boat.say({ data: Array.from({ length: 8 }, () => random.int(256)) });
    await eventually("all frames", () => boat.boat.broker.head === count);
    await using proxy = await TcpProxy.start(boat.boat.address.port);
    proxy.bytesPerSecond = 500_000;
    const server = `http://127.0.0.1:${proxy.port}`;
    await using command = new LiveCommand(["history", "-limit", String(count), "-server", server]);
    await eventually("some frames", () => command.written.length > 0);
    proxy.cut("rst");
    assert.equal(await command.code, 1);
    const seqs = command.written.map((line): number => JSON.parse(line).seq);
    assert.ok(seqs.length < count);
    assert.ok(seqs.every((seq, index) => seq === index + 1));
    assert.equal(command.complained.join(""), "vbg history: The connection was lost");
  }));
