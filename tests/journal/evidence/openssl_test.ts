// Statements and signatures with programs that are not ours, by the commands of docs/guide-boat.md.
import assert from "node:assert/strict";
import { signatureOf, statementOf } from "../../../src/journal/file/name.ts";
import { journalOf, recordSigned, verifyEvidence } from "../../support/evidence.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { blockAfter } from "../../support/pages.ts";
import { ROOT } from "../../support/task.ts";

const RUN = needs({ permissions: ["env", "read", "run", "sys", "write"], programs: ["openssl", "sh", "sha256sum"] });
const PAGE = { page: "docs/guide-boat.md", language: "sh" } as const;

/** Runs lines of the page's block on a file of a folder. Returns the exit code. */
async function run(folder: string, { name, only = /./ }: { name: string; only?: RegExp }): Promise<number> {
  const block = (await blockAfter("Prove what was recorded", PAGE)).replaceAll(
    "/var/lib/vbg/journal",
    journalOf(folder),
  )
    .replaceAll("aurora.pub.pem", `${folder}/aurora.pub.pem`).replace(/file=\S+/, `file=${name}`);
  const lines = block.split("\n").filter((line) => line.startsWith("cd ") || only.test(line));
  const vbg = `vbg() { "${Deno.execPath()}" run -A --no-check "${ROOT}cli/vbg.ts" "$@"; }`;
  const args = ["-ec", [vbg, ...lines].join("\n")];
  return (await new Deno.Command("sh", { args, stdout: "null", stderr: "null" }).output()).code;
}

Deno.test(
  "evidence: openssl and sha256sum agree with every statement, and reject what was changed",
  RUN,
  () =>
    inFolder(async (folder) => {
      const { files } = await recordSigned(folder, 1500);
      const [first = "", second = "", third = "", fourth = ""] = files;
      Deno.copyFileSync(`${journalOf(folder)}/evidence.pub.pem`, `${folder}/aurora.pub.pem`);
      assert.equal(await run(folder, { name: fourth }), 0);
      const [openssl, sha256sum] = [/^openssl/, /^sha256sum/].map((only) => (name: string) =>
        run(folder, { name, only })
      );
      assert.ok(openssl && sha256sum);
      for (const name of files) assert.deepEqual([await openssl(name), await sha256sum(name)], [0, 0], name);
      const flip = (name: string, offset: number) => {
        const bytes = Deno.readFileSync(`${journalOf(folder)}/${name}`);
        bytes[offset]! ^= 1;
        Deno.writeFileSync(`${journalOf(folder)}/${name}`, bytes);
      };
      flip(first, 500);
      flip(signatureOf(second), 10);
      flip(statementOf(third), 25);
      assert.notEqual(await sha256sum(first), 0);
      assert.notEqual(await openssl(second), 0);
      assert.notEqual(await openssl(third), 0);
      assert.notEqual(await run(folder, { name: fourth }), 0);
      const { faults } = await verifyEvidence(journalOf(folder));
      assert.deepEqual(faults.map(({ name }) => name), [first, second, third]);
    }),
);
