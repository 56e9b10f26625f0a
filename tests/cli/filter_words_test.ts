import assert from "node:assert/strict";
import { doubtSlots } from "../../cli/settings/slots.ts";
import { manufacturerNames } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";
import { sampleBytes } from "../support/recordings.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["env", "net", "read", "sys", "write"] });

Deno.test(
  "an unknown manufacturer is a warning with the nearest name, in every command with such a filter",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using boat = await TestBoat.start({
        stateDirectory: folder,
        journal: { directory: `${folder}/j`, stateDirectory: folder },
      });
      const log = `${folder}/bus.log`;
      await Deno.writeFile(log, sampleBytes("candump_sample3.txt"));
      const words = ["-manufacturer", "Garmni,Victron,717,garmin", "-server", boat.url];
      for (
        const [name = "", ...args] of [["values", ...words], ["history", ...words], ["dump", log, ...words.slice(0, 2)]]
      ) {
        const { code, err } = await runCommand([name, ...args]);
        assert.equal(code, 0, err);
        assert.match(err, new RegExp(`^vbg ${name}: warning: .*"Garmni": did you mean Garmin\\?\n`));
        assert.equal(err.match(/did you mean/g)?.length, 1);
      }
      const slots = [{ id: "x", timeoutMs: 1000, filter: { manufacturer: ["garmin", "Garmni"] } }];
      assert.match(doubtSlots(slots) ?? "", /^Slot "x": .*"Garmni": did you mean Garmin\?$/);
      const where = await runCommand([
        "dump",
        log,
        "-where",
        'src.manufacturer == "Garmni" or src.manufacturer == "Garmin"',
      ]);
      assert.match(where.err, /"Garmni": did you mean Garmin\?/);
    }),
);

Deno.test("each known manufacturer is known to the filters", async () => {
  for (const name of manufacturerNames()) {
    const { err } = await runCommand(["values", "-manufacturer", name, "-help"]);
    assert.equal(err, "", name);
  }
});

Deno.test(
  "a bus that the server does not have is said with the nearest one, in every command with such a filter",
  NET,
  async () => {
    await using boat = await TestBoat.start({ names: ["can0", "can1"] });
    boat.claim(7, { manufacturerCode: 229 });
    boat.claim(8, { manufacturerCode: 229 }, { bus: 1 });
    await eventually("both claims", () => boat.boat.broker.head === 2);
    const words = ["-bus", "cna0,can1", "-server", boat.url];
    const values = await runCommand(["values", ...words]);
    assert.equal(values.err, 'vbg values: no device is known on a bus "cna0": did you mean can0?\n');
    const devices: { bus: string }[] = JSON.parse(values.out);
    assert.deepEqual(devices.map(({ bus }) => bus), ["can1"]);
    for (const name of ["dump", "tail"]) {
      await using command = new LiveCommand([name, ...words]);
      await eventually(
        "the note",
        () =>
          command.complained.some((text) =>
            text === `vbg ${name}: no device is known on a bus "cna0": did you mean can0?`
          ),
      );
    }
  },
);

Deno.test("numbers, names and buses of a filter are lists with commas, or flags that are repeated", NET, async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  for (const src of [7, 8, 9]) boat.claim(src, { manufacturerCode: 229, deviceInstance: src, uniqueNumber: src });
  for (const pgn of [127250, 130306, 129025]) boat.say({ src: 7, pgn, data: [1, 2, 3, 4, 5, 6, 7, 8] });
  await eventually("all messages", () => boat.boat.broker.head === 6);
  const pgns = async (...words: string[]) => {
    const { code, out, err } = await runCommand(["values", "-raw", "-server", boat.url, ...words]);
    assert.deepEqual([code, err], [0, ""]);
    const devices: { src: number; values: { pgn: number }[] }[] = JSON.parse(out);
    return devices.flatMap(({ src, values }) => values.map(({ pgn }) => `${src}:${pgn}`)).join(" ");
  };
  assert.equal(await pgns("-pgn", "127250,130306"), "7:127250 7:130306");
  assert.equal(await pgns("-pgn", "127250", "-pgn", "130306, 129025"), "7:127250 7:129025 7:130306");
  assert.equal(await pgns("-exclude-pgn", "60928,127250"), "7:129025 7:130306");
  assert.equal(await pgns("-instance", "8,9"), "8:60928 9:60928");
  assert.equal(await pgns("-bus", "can1,can0", "-pgn", "127250"), "7:127250");
  assert.equal(await pgns("-manufacturer", "garmin,victron", "-pgn", "127250"), "7:127250");
  const names = await boat.get<{ src: number; name: string }[]>("/devices");
  const some = names.filter(({ src }) => src > 7).map(({ name }) => name).join(",");
  assert.equal(await pgns("-name", some), "8:60928 9:60928");
  assert.equal(await pgns("-exclude-name", some), "7:60928 7:127250 7:129025 7:130306");
});

Deno.test("the server may be named without http://", NET, async () => {
  await using boat = await TestBoat.start();
  for (const address of [boat.url.replace("http://", ""), boat.url.replace("http://127.0.0.1", "localhost")]) {
    const { code, out, err } = await runCommand(["devices", "-server", address]);
    assert.deepEqual([code, out, err], [0, "[]\n", ""], address);
  }
  const wrong = await runCommand(["devices", "-server", "ftp://boat.local"]);
  assert.equal(wrong.code, 2);
});

Deno.test(
  "exclusions of vbg.conf and of the command line add up in every command with a filter",
  DISK,
  () =>
    inFolder(async (folder) => {
      const config = `${folder}/mine.conf`;
      await using boat = await TestBoat.start({
        stateDirectory: folder,
        journal: { directory: `${folder}/j`, stateDirectory: folder },
      });
      const names = [7, 8, 9].map((src) => boat.claim(src, { manufacturerCode: 229, uniqueNumber: src }));
      const say = (src: number, pgn: number) => boat.say({ src, pgn, data: [1, 2, 3, 4, 5, 6, 7, 8] });
      const sayAll = () => [7, 8, 9].forEach((src) => [127250, 130306, 129025].forEach((pgn) => say(src, pgn)));
      sayAll();
      await eventually("all messages", () => boat.boat.broker.head === 12);
      const hex = names.map((name) => name.toString(16));
      await Deno.writeTextFile(config, `exclude-pgn = [60928, 127250], exclude-name = "${hex[0]}"`);
      const words = ["-server", boat.url, "-config", config, "-exclude-pgn", "130306", "-exclude-name", `0x${hex[1]}`];
      const only = (frames: { src: number; pgn: number }[]) => frames.map(({ src, pgn }) => `${src}:${pgn}`).join(" ");
      const [values] = JSON.parse((await runCommand(["values", "-raw", ...words])).out);
      assert.deepEqual([values.src, values.values.map(({ pgn }: { pgn: number }) => pgn)], [9, [129025]]);
      const linesOf = (text: string) => text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
      assert.equal(only(linesOf((await runCommand(["history", ...words])).out)), "9:129025");
      for (const name of ["dump", "tail"]) {
        await using command = new LiveCommand([name, ...words]);
        await eventually("the connection", () => command.complained.some((text) => text.includes("connected to")));
        sayAll();
        await eventually("a frame", () => command.written.length > 0);
        assert.equal(only(linesOf(command.written.join(""))), "9:129025", name);
      }
    }),
);

Deno.test(
  "a field that no known PGN has is a warning: the command goes on",
  needs({ permissions: ["read"] }),
  async () => {
    const { code, err } = await runCommand(["dump", "-where", "wind_sped > 10", "no such file"]);
    assert.equal(code, 1);
    assert.match(
      err,
      /^vbg dump: warning: flag -where: No known PGN has a field "wind_sped": .*\nvbg dump: Cannot read /,
    );
  },
);
