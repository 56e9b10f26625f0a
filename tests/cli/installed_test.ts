import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { PERMISSIONS } from "../../cli/program/permissions.ts";
import { TestBoat } from "../support/boat.ts";
import { inFolder } from "../support/folder.ts";
import { environment, needs } from "../support/needs.ts";
import { blockAfter } from "../support/pages.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NEEDS = needs({ permissions: ["env", "net", "read", "run", "sys", "write"], programs: ["sh"] });

Deno.test(
  "vbg as README installs it runs in another folder, with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const command = await blockAfter("The client `vbg` alone", { page: "README.md", language: "sh" });
      assert.match(command, /^deno install -g /);
      assert.deepEqual(command.match(/--(no-prompt|allow)\S*/g), PERMISSIONS.vbg);
      const path = `${folder}/bin:${dirname(Deno.execPath())}:${environment("PATH")}`;
      const env = { DENO_INSTALL_ROOT: folder, PATH: path, XDG_CONFIG_HOME: folder, VBG_BOAT: "", NO_COLOR: "1" };
      const sh = async (text: string, cwd: string) => {
        const { code, stdout, stderr } = await new Deno.Command("sh", { args: ["-euc", text], cwd, env }).output();
        const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.equal(code, 0, `${out}${err}`);
        return out ?? "";
      };
      await sh(command, ROOT);
      await using boat = await TestBoat.start({});
      boat.claim(7, {});
      const elsewhere = `${folder}/elsewhere`;
      await Deno.mkdir(elsewhere);
      const devices: { src: number }[] = JSON.parse(await sh(`vbg devices -server ${boat.url} -json`, elsewhere));
      assert.deepEqual(devices.map(({ src }) => src), [7]);
      // The configuration file, which is read with a package that is loaded late.
      await Deno.mkdir(`${folder}/vbg`);
      await Deno.writeTextFile(`${folder}/vbg/vbg.conf`, `boats { aurora { cloud = "${boat.url}/instances/aurora" } }`);
      const { code, stderr } = await new Deno.Command("vbg", {
        args: ["devices", "-boat", "aurora"],
        cwd: elsewhere,
        env,
      })
        .output();
      assert.equal(code, 1);
      assert.match(new TextDecoder().decode(stderr), /404|no such path|Not Found/);
    }),
);
