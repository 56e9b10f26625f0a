import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { makeDeb } from "../../scripts/deb.ts";
import { inFolder } from "../support/folder.ts";
import { mayMount } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";
import { blockAfter } from "../support/pages.ts";

const NEEDS = needs({
  permissions: ["env", "write", "sys"],
  programs: [
    ...[
      "dpkg-deb",
      "du",
      "gzip",
      "sh",
      "ip",
      "unshare",
      "setpriv",
      "runuser",
      "systemd-sysusers",
      "openssl",
      "curl",
      "install",
    ],
  ],
  extras: { "root who may mount": mayMount() },
});
const SCRIPT = fileURLToPath(new URL("service_path.sh", import.meta.url));
const [BOAT, FLEET] = ["docs/guide-boat.md", "docs/guide-fleet.md"] as const;
/** Everything of its own, and nothing is left when it ends. */
const NAMESPACES = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

Deno.test(
  "who follows the guides as the packaged services' user has a boat with tokens and TLS that replicates to its cloud",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await Deno.chmod(folder, 0o755);
      const deb = await makeDeb({ out: `${folder}/out`, deno: undefined, arch: "all", compression: "none" });
      const [root, control] = [`${folder}/root`, `${folder}/control`];
      await run("dpkg-deb", "-x", deb, root);
      await run("dpkg-deb", "-e", deb, control);
      // The Deno that runs this, which may be where that user cannot read.
      await run("install", "-D", Deno.execPath(), `${root}/usr/lib/vbg/bin/deno`);
      const vbg = (text: string) =>
        text.replaceAll("deno task -q cli", "vbg").replaceAll("deno task cloud", "vbg-cloud");
      await Deno.writeTextFile(
        `${folder}/tokens.sh`,
        await blockAfter("Tokens control who may read", { page: BOAT, language: "sh" }),
      );
      await Deno.writeTextFile(
        `${folder}/boat.conf`,
        await blockAfter("`/etc/vbg/vbg-boat.conf`:", { page: BOAT, language: "" }),
      );
      await Deno.writeTextFile(
        `${folder}/ask.sh`,
        vbg(await blockAfter("`/etc/vbg/vbg-boat.conf`:", { page: BOAT, language: "sh" })),
      );
      const ca = vbg(await blockAfter("Boat and cloud authenticate each other", { page: FLEET, language: "sh" })).split(
        "\n",
      )
        .filter((line) => !line.includes("revoke")).join("\n").replace("cloud.example.com", "localhost");
      const kept = ca.replace(/(-host localhost).*/, `$1 >"$work/cloud.txt"`).replace(
        /( aurora).*/,
        `$1 >"$work/aurora.txt"`,
      );
      await Deno.writeTextFile(`${folder}/ca.sh`, kept);
      assert.match(await run("unshare", ...NAMESPACES, "sh", SCRIPT, root, control, folder), /^followed$/m);
    }),
);

/** Runs a program to its end. */
async function run(program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${out}\n${err}`);
  return out ?? "";
}
