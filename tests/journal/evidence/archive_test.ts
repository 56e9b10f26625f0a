import assert from "node:assert/strict";
import { signatureOf, statementOf } from "../../../src/journal/file/name.ts";
import { eventually } from "../../support/eventually.ts";
import { journalOf, openSigned } from "../../support/evidence.ts";
import { inFolder } from "../../support/folder.ts";
import { journalFiles } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";
import { readLog, writeScript } from "../retention/script.ts";

const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["sh", "cat", "chmod"] });
const RETENTION = { softPercent: 80, overflow: "delete-unarchived", archive: "on-rotate" } as const;
/** Logs what it is asked, and how many of the files are there. */
const COUNTING = `
cat >>"$LOG"
for path in "$@"; do
  echo "there $(ls "$path" "$path".evidence "$path".evidence.sig 2>/dev/null | wc -l)" >>"$LOG"
  printf '{"path":"%s","status":"ok"}\\n' "$path"
done
`;

/** Records some files with that command; what it was asked. */
async function archived(folder: string, evidence: { keyFile?: string } | undefined) {
  const archiveCommand = await writeScript(folder, COUNTING);
  const { journal, record } = await openSigned(folder, { retention: RETENTION, archiveCommand, evidence });
  record(1500);
  await journal.sync();
  const directory = journalOf(folder);
  const complete = journalFiles(directory).slice(0, -1);
  assert.ok(complete.length >= 3);
  const requests = await eventually("all files archived", async () => {
    const lines = await readLog(folder);
    const counts = lines.filter((line) => line.startsWith("there"));
    return counts.length >= complete.length && lines;
  });
  await journal.close();
  const asked = requests.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  const there = requests.filter((line) => line.startsWith("there"));
  return { asked, there: new Set(there), paths: complete.map((name) => `${directory}/${name}`) };
}

Deno.test(
  "evidence: a file is archived after it was signed, and the command gets statement and signature",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const { asked, there, paths } = await archived(folder, {});
      assert.deepEqual(asked.map(({ path }) => path).sort(), paths);
      for (const { path, sidecars } of asked) assert.deepEqual(sidecars, [statementOf(path), signatureOf(path)]);
      assert.deepEqual([...there], ["there 3"]);
    }),
);

Deno.test("evidence: files that cannot be signed are archived without it", PROCESSES, () =>
  inFolder(async (folder) => {
    const keyFile = `${folder}/boat.pem`;
    Deno.writeTextFileSync(keyFile, "no key");
    const { asked, there, paths } = await archived(folder, { keyFile });
    assert.deepEqual(asked.map(({ path, sidecars }) => [path, sidecars]), paths.map((path) => [path, undefined]));
    assert.deepEqual([...there], ["there 1"]);
  }));
