import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { journalOf, openSigned, recordSigned } from "../support/evidence.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });

function test(claim: string, run: (folder: string) => Promise<void>): void {
  Deno.test(`vbg verify -evidence: ${claim}`, DISK, () => inFolder(run));
}

/** Runs it on the journal of a folder, for people. */
async function verify(folder: string, ...more: string[]) {
  const { code, out, err } = await runCommand(["verify", "-json=false", ...more, journalOf(folder)]);
  return { code, err, lines: out.trimEnd().replaceAll(`${journalOf(folder)}/`, "").split("\n") };
}

test("says what was changed, with the block, and which key it has trusted", async (folder) => {
  const { files } = await recordSigned(folder, 1500);
  const NOTE =
    "note: The key is evidence.pub.pem. Who can write there can replace it: -evidence-key names a copy elsewhere";
  const good = await verify(folder, "-evidence");
  assert.deepEqual([good.code, good.lines], [0, [NOTE, `${files.length} files, ${files.length} signed: OK`]]);
  const [name = ""] = files;
  const path = `${journalOf(folder)}/${name}`;
  const bytes = Deno.readFileSync(path);
  bytes[200]! ^= 4;
  Deno.writeFileSync(path, bytes);
  const { code, lines } = await verify(folder, "-evidence");
  assert.equal(code, 1);
  assert.equal(lines[0], `${name}: error: its content was changed`);
  assert.match(lines[1] ?? "", /^ {2}error: byte 16: /);
  assert.deepEqual(lines.slice(2), [NOTE, `${files.length} files, ${files.length - 1} signed: 1 error`]);
  const copy = `${folder}/copy.pem`;
  Deno.copyFileSync(`${journalOf(folder)}/evidence.pub.pem`, copy);
  const { lines: others } = await verify(folder, "-evidence", "-evidence-key", copy);
  assert.deepEqual(others, lines.filter((line) => line !== NOTE));
});

test("finds that every file is missing while a server records, and says so where none is signed yet", async (folder) => {
  const { files } = await recordSigned(folder, 1500);
  const { journal, record } = await openSigned(folder);
  record(10);
  await journal.sync();
  for (const name of files) Deno.removeSync(`${journalOf(folder)}/${name}`);
  const { code, lines } = await verify(folder, "-evidence");
  assert.equal(code, 1);
  for (const name of files) assert.ok(lines.some((line) => line.startsWith(`${name}: error: `)), name);
  for (const { name } of Deno.readDirSync(journalOf(folder))) {
    if (/\.lp[jr]/.test(name)) Deno.removeSync(`${journalOf(folder)}/${name}`);
  }
  const none = await verify(folder, "-evidence");
  assert.equal(none.code, 0);
  assert.ok(
    none.lines.includes("note: No file is complete yet: nothing is signed, and nothing was checked"),
    none.lines.join(),
  );
  await journal.close();
});

test("without a key, with another file as key, and a key without -evidence it refuses", async (folder) => {
  const { files: [name] } = await recordSigned(folder, 50);
  const key = `${journalOf(folder)}/evidence.pub.pem`;
  const refusals = [
    [["-evidence-key", key], /without -evidence/],
    [["-evidence", "-evidence-key", `${journalOf(folder)}/${name}`], /expected an Ed25519 public key/],
    [["-evidence", "-evidence-key", `${folder}/none.pem`], /none\.pem/],
  ] as const;
  for (const [args, message] of refusals) {
    const { code, err } = await verify(folder, ...args);
    assert.equal(code, 2);
    assert.match(err, message);
  }
  Deno.removeSync(key);
  const { code, err } = await verify(folder, "-evidence");
  assert.equal(code, 2);
  assert.match(err, /no evidence\.pub\.pem; -evidence-key/);
});

test("other commands that read the directory find the frames, and no other file there confuses them", async (folder) => {
  const { files } = await recordSigned(folder, 1500);
  const { code, lines } = await verify(folder);
  assert.equal(code, 0);
  assert.match(lines.at(-1) ?? "", new RegExp(`^${files.length} files, 1500 frames: OK`));
  const repaired = await runCommand(["repair", "-out", `${folder}/repaired`, journalOf(folder)]);
  assert.equal(repaired.code, 0);
  assert.deepEqual([...Deno.readDirSync(`${folder}/repaired`)].map(({ name }) => name).sort(), files);
});
