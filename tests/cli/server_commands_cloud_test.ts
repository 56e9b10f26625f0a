import assert from "node:assert/strict";
import { CloudServer } from "../http/cloud_server.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";
import { CommandRun } from "./dump_run.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];

Deno.test(
  "commands ask a boat in a cloud as on its own server, with a token of the environment",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { tokens: [accessToken("all", "secret", ["read"])] });
      const boat = await cloud.boat("aurora", { busNames: ["can0", "can1"] });
      boat.say({ src: 7, bus: 1, data: HEADING });
      const url = `${cloud.url}/instances/aurora`;
      const environment = { VBG_TOKEN: "secret" };
      const ask = (...words: string[]) => runCommand([...words, "-server", url], { environment });
      const [device] = JSON.parse((await ask("devices")).out);
      assert.deepEqual([device.src, device.bus], [7, "can1"]);
      const [values] = JSON.parse((await ask("values", "-bus", "can1")).out);
      assert.equal(values.values[0].decoded.heading, 1);
      assert.equal(JSON.parse((await ask("pgns", "127250")).out).description, "Vessel heading");
      for (const words of [["send", "-pgn", "127250", "-data", "00"], ["request", "-pgn", "127250"]]) {
        const { code, err } = await ask(...words);
        assert.equal(code, 1);
        assert.match(err, /: 404 There is nothing at .*; a cloud sends nothing: ask the boat's own server\n$/);
      }
      const form = { isTerminal: true, environment: { ...environment, LINES: "24" } };
      await using top = new LiveCommand(["top", "-server", url], form);
      const picture = await eventually("the picture", () => top.written[1]);
      assert.match(picture, /Heading {3}057\.3°M[^]*The health of this boat is not told here[^]*can1/);
      assert.equal(await top.stop(), 0);
      const without = await runCommand(["devices", "-server", url]);
      assert.match(without.err, /: 401 .*; -token or VBG_TOKEN gives one\n$/);
    }),
);

Deno.test(
  "vbg dump of a boat in a cloud says which frames come later, and which cannot be had",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      let boat = await cloud.boat("aurora");
      await using all = new CommandRun(["dump", "-server", `${cloud.url}/instances/aurora`]);
      await using some = new CommandRun(["dump", "-server", `${cloud.url}/instances/aurora`, "-pgn", "127250"]);
      for (const run of [all, some]) await run.told(/connected to/);
      boat.say();
      boat.leave();
      const lost = [{ start: 11, end: 21, reason: "pruned" }];
      boat = await cloud.boat("aurora", { headSeq: 100, lost });
      boat.say();
      for (const run of [all, some]) await run.written(2);
      await all.told(
        /: 88 frames between 2 and 99 are not in the cloud yet: the boat sends them later, see vbg history$/,
      );
      await all.told(/: 10 frames are missing between 11 and 20: pruned$/);
      await some.told(/: frames between 2 and 99 are not in the cloud yet/);
    }),
);
