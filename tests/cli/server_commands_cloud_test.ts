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
const DOCTOR = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
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
        assert.match(err, /: 404 There is nothing at .*; a cloud cannot send: use the boat's own server\n$/);
      }
      const form = { isTerminal: true, environment: { ...environment, LINES: "24" } };
      await using top = new LiveCommand(["top", "-server", url], form);
      const picture = await eventually("the picture", () => top.written[1]);
      assert.match(picture, /Heading {3}057\.3°M[^]*A cloud does not report the health of a boat[^]*can1/);
      assert.equal(await top.stop(), 0);
      const without = await runCommand(["devices", "-server", url]);
      assert.match(without.err, /: 401 .*; use -token or VBG_TOKEN\n$/);
    }),
);

Deno.test(
  "a session of a boat that the cloud does not have ends vbg dump, with what the cloud says",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const url = `${cloud.url}/instances/nobody`;
      const { code, complaints } = await CommandRun.end(["dump", "-server", url, "-buffer-timeout", "1m"]);
      assert.equal(code, 1);
      assert.match(complaints, /^vbg dump: PUT .*: 404 There is no instance "nobody": see \/instances$/);
    }),
);

Deno.test(
  "vbg doctor reports a boat in a cloud: the cloud's health, and how far the boat's frames are there",
  DOCTOR,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { tokens: [accessToken("all", "secret", ["read"])] });
      const boat = await cloud.boat("aurora");
      boat.say();
      const words = ["doctor", "-server", `${cloud.url}/instances/aurora`];
      const checks = async () => {
        const { out } = await runCommand(words, { environment: { VBG_TOKEN: "secret" } });
        const found: { checks: { name: string; state: string; text: string }[] } = JSON.parse(out);
        return found.checks.map(({ name, state, text }) => `${state} ${name}: ${text}`);
      };
      const url = `${cloud.url}/instances/aurora`;
      assert.deepEqual((await checks()).slice(0, 2), [`ok server: ${url} answers`, "ok server's health: ok"]);
      assert.match((await checks()).find((each) => each.includes(" boat ")) ?? "", /^ok boat aurora: connected; /);
      boat.leave();
      assert.match(
        (await checks()).find((each) => each.includes(" boat ")) ?? "",
        /^warn boat aurora: not connected, last seen 20.*Z; /,
      );
      const nobody = await runCommand(["doctor", "-server", `${cloud.url}/instances/nobody`, "-token", "secret"]);
      assert.equal(nobody.code, 1);
      assert.match(nobody.out, /404 There is no instance/);
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
