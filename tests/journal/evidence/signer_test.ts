import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { EvidenceSigner } from "../../../src/journal/evidence/signer.ts";
import { parseStatement } from "../../../src/journal/evidence/statement.ts";
import { removeJournalFile } from "../../../src/journal/retention/listing.ts";
import { signatureOf, statementOf } from "../../../src/journal/file/name.ts";
import { eventually } from "../../support/eventually.ts";
import { journalOf, openSigned, recordSigned, verifyEvidence } from "../../support/evidence.ts";
import { type Files, keyAt, sign } from "../../support/evidence_changes.ts";
import { inFolder } from "../../support/folder.ts";
import { journalFiles, keptLog } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
/** Frames of a run that gives some files. */
const FRAMES = 1500;

function test(claim: string, run: (folder: string) => Promise<void>): void {
  Deno.test(`evidence: ${claim}`, DISK, () => inFolder(run));
}

/** Removes the statement of a file and the signature. */
function unsign(folder: string, name: string): void {
  for (const each of [statementOf(name), signatureOf(name)]) Deno.removeSync(`${journalOf(folder)}/${each}`);
}

/** What is found in the journal of a folder, as names and kinds. */
async function faultsOf(folder: string, ...args: string[]): Promise<string[]> {
  const { faults } = await verifyEvidence(...args, journalOf(folder));
  return faults.map(({ name, kind }) => `${name} ${kind}`);
}

test("each file of several runs is signed when it is complete, and a healthy directory has no fault", async (folder) => {
  await recordSigned(folder, FRAMES);
  const { files, lines } = await recordSigned(folder, FRAMES);
  assert.ok(files.length >= 7, `${files.length} files`);
  const { code, faults, signed, late, open } = await verifyEvidence(journalOf(folder));
  assert.deepEqual({ code, faults, signed, late, open }, {
    ...{ code: 0, faults: [], late: 0, open: [] },
    signed: files.length,
  });
  assert.match(lines.join("\n"), /journal files are signed.*key=[0-9a-f]{64}/);
  assert.equal(Deno.statSync(`${folder}/state/evidence.pem`).mode! & 0o777, 0o600);
});

test("what was recorded without evidence is signed at the next start with it, and says so", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES, { evidence: undefined });
  await recordSigned(folder, FRAMES);
  const { faults, signed, late } = await verifyEvidence(journalOf(folder));
  assert.deepEqual([faults, late], [[], files.length]);
  assert.ok(signed > late);
});

test("what a crash has left is signed at the next start: unsigned, half signed, torn", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const [half = "", torn = ""] = files.slice(-2);
  Deno.removeSync(`${journalOf(folder)}/${statementOf(half)}`);
  unsign(folder, torn);
  Deno.truncateSync(`${journalOf(folder)}/${torn}`, Deno.statSync(`${journalOf(folder)}/${torn}`).size - 30);
  // The state is written after the statement.
  const state = JSON.parse(Deno.readTextFileSync(`${folder}/state/evidence.json`));
  Deno.writeTextFileSync(`${folder}/state/evidence.json`, JSON.stringify({ ...state, head: "" }));
  assert.deepEqual((await verifyEvidence(journalOf(folder))).open, [`${journalOf(folder)}/${torn}`]);
  const { lines } = await recordSigned(folder, 10);
  assert.match(lines.join("\n"), /cut short/);
  const { faults, late } = await verifyEvidence(journalOf(folder));
  assert.deepEqual([faults, late], [[], 2]);
});

test("the file that is being written is no fault; a complete one without a statement is", async (folder) => {
  const { journal, record } = await openSigned(folder);
  record(FRAMES);
  await journal.sync();
  await eventually("signatures", async () => (await verifyEvidence(journalOf(folder))).faults.length === 0);
  const { open, files, signed } = await verifyEvidence(journalOf(folder));
  assert.deepEqual([open.length, files - signed], [1, 1]);
  await journal.close();
  const last = journalFiles(journalOf(folder)).at(-1) ?? "";
  unsign(folder, last);
  assert.deepEqual(await faultsOf(folder), [`${last} unsigned`]);
});

test("the newest files that are deleted with their statements are missing once another is signed", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const [one = "", other = ""] = files.slice(-2);
  for (const name of [one, other]) await removeJournalFile(journalOf(folder), name);
  assert.deepEqual(await faultsOf(folder), []);
  await recordSigned(folder, FRAMES);
  const { faults: [fault, ...others] } = await verifyEvidence(journalOf(folder));
  assert.deepEqual([fault?.name, fault?.kind, others], [other, "missing", []]);
  assert.match(fault?.what ?? "", /2 files are missing/);
});

test("a start that signs again what somebody has changed and unsigned does not hide it", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const name = files[2] ?? "";
  Deno.writeFileSync(`${journalOf(folder)}/${name}`, Deno.readFileSync(`${journalOf(folder)}/${files[1]}`));
  unsign(folder, name);
  await recordSigned(folder, 10);
  assert.deepEqual(await faultsOf(folder), [`${name} statement`]);
});

test("files that retention deletes take their statements along, and the chain begins later", async (folder) => {
  await recordSigned(folder, FRAMES);
  const before = journalFiles(journalOf(folder));
  const retention = { maxBytes: 12_000, softPercent: 80, overflow: "delete-unarchived", archive: "off" } as const;
  const { journal } = await openSigned(folder, { retention });
  await eventually("deleted files", () => journalFiles(journalOf(folder)).length < before.length);
  await journal.close();
  const names = [...Deno.readDirSync(journalOf(folder))].map(({ name }) => name);
  assert.ok(!names.some((name) => name.startsWith(before[0] ?? "")));
  await recordSigned(folder, FRAMES);
  assert.deepEqual(await faultsOf(folder), []);
  const statements = journalFiles(journalOf(folder)).map((name) => `${journalOf(folder)}/${statementOf(name)}`);
  assert.ok(!statements.some((path) => Deno.readTextFileSync(path).includes("# deleted")));
});

test("what retention deletes between others is in the next statement, also after a restart", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const [directory, name] = [journalOf(folder), files[2] ?? ""];
  await removeJournalFile(directory, name);
  assert.deepEqual(await faultsOf(folder), [`${name} missing`]);
  const signer = new EvidenceSigner({
    ...{ directory, stateDirectory: `${folder}/state`, log: silentLogger, onSigned: () => {} },
    ...{ isOpen: () => false, isUnmounted: () => Promise.resolve(false) },
  });
  signer.noteRemoved(name);
  await eventually("the start", () => !signer.isPending("other"));
  signer.noteRemoved(files[0] ?? "");
  await removeJournalFile(directory, files[0] ?? "");
  await signer.close();
  await recordSigned(folder, FRAMES);
  assert.deepEqual(await faultsOf(folder), []);
  assert.ok(
    journalFiles(directory).some((each) =>
      Deno.readTextFileSync(`${directory}/${statementOf(each)}`).includes(`# deleted ${name}\n`)
    ),
  );
});

test("nothing is signed while the directory is not mounted or not writable, and all of it afterwards", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES, { evidence: undefined });
  const directory = journalOf(folder);
  let isMounted = false;
  const { log, lines } = keptLog();
  const signer = new EvidenceSigner({
    ...{ directory, stateDirectory: `${folder}/state`, log, onSigned: () => {}, retryMs: 5 },
    ...{ isOpen: () => false, isUnmounted: () => Promise.resolve(!isMounted) },
  });
  signer.noteEnded(files[0] ?? "");
  await eventually("the first failure", () => signer.health().message?.includes("not mounted"));
  assert.equal(signer.isPending(files[0] ?? ""), false);
  // Nobody, not even root, writes a file over a directory.
  Deno.mkdirSync(`${directory}/${statementOf(files[1] ?? "")}`);
  isMounted = true;
  await eventually("the other failure", () => signer.health().message?.includes("Cannot write"));
  Deno.removeSync(`${directory}/${statementOf(files[1] ?? "")}`);
  await eventually("health", () => signer.health().status === "ok");
  await signer.close();
  const { faults, signed, late } = await verifyEvidence(directory);
  assert.deepEqual([faults, signed, late], [[], files.length, files.length]);
  assert.deepEqual(lines.map((line) => /journal files (?:not signed|are signed)/.exec(line)?.[0]), [
    ...["journal files not signed", "journal files are signed", "journal files not signed", "journal files are signed"],
  ]);
});

test("a key that cannot be read is not replaced; recording goes on, and health says so", async (folder) => {
  const keyFile = `${folder}/boat.pem`;
  Deno.writeTextFileSync(keyFile, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  const { journal, record, lines } = await openSigned(folder, { evidence: { keyFile } });
  record(FRAMES);
  await eventually("health", () => journal.evidence?.health().status === "degraded");
  assert.match(journal.evidence?.health().message ?? "", /boat\.pem.*Ed25519/);
  await journal.close();
  assert.ok(journalFiles(journalOf(folder)).length > 3);
  assert.equal(lines.filter((line) => line.includes("not signed")).length, 1);
  assert.match(Deno.readTextFileSync(keyFile), /AAAA/);
});

test("after a change of the key, files of before are verified with the former one", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  Deno.removeSync(`${folder}/state/evidence.pem`);
  await recordSigned(folder, FRAMES);
  assert.deepEqual(await faultsOf(folder), files.map((name) => `${name} key`));
  const keys = [...Deno.readDirSync(journalOf(folder))].map(({ name }) => name).filter((name) => /\.pem$/.test(name));
  assert.equal(keys.length, 2);
  const args = keys.flatMap((name) => ["-evidence-key", `${journalOf(folder)}/${name}`]);
  assert.deepEqual(await faultsOf(folder, ...args), []);
});

test("a statement with another predecessor is found even if the boat's key has signed it", async (folder) => {
  const { files: names } = await recordSigned(folder, FRAMES);
  const [before = "", name = "", after = ""] = names.slice(1);
  const key = await keyAt(`${folder}/state/evidence.pem`);
  const files: Files = new Map();
  for (const each of [statementOf(name), signatureOf(name)]) {
    files.set(each, Deno.readFileSync(`${journalOf(folder)}/${each}`));
  }
  const { previous } = parseStatement(new TextDecoder().decode(files.get(statementOf(name))));
  assert.ok(previous?.name === before);
  for (const other of [{ name: names[0] ?? "" }, { sha256: "0".repeat(64) }, { statementSha256: "1".repeat(64) }]) {
    await sign(files, { name, key, change: { previous: { ...previous, ...other } } });
    for (const [each, bytes] of files) Deno.writeFileSync(`${journalOf(folder)}/${each}`, bytes);
    assert.deepEqual(await faultsOf(folder), [`${name} predecessor`, `${after} predecessor`]);
  }
});

test("of a file with a changed statement, the statement after it tells whether the content was changed", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const name = files[1] ?? "";
  Deno.truncateSync(`${journalOf(folder)}/${signatureOf(name)}`, 60);
  assert.deepEqual(await faultsOf(folder), [`${name} signature`]);
  Deno.copyFileSync(`${journalOf(folder)}/${files[2]}`, `${journalOf(folder)}/${name}`);
  assert.deepEqual(await faultsOf(folder), [`${name} signature`, `${name} changed`]);
});

test("a file whose torn end the next start cuts off is signed after that", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const [directory, name] = [journalOf(folder), files.at(-1) ?? ""];
  unsign(folder, name);
  Deno.removeSync(`${folder}/state/evidence.json`);
  const before = Deno.readFileSync(`${directory}/${name}`);
  Deno.writeFileSync(`${directory}/${name}`, before.subarray(0, before.length - 30));
  const signer = new EvidenceSigner({
    ...{ directory, stateDirectory: `${folder}/state`, log: silentLogger, onSigned: () => {} },
    ...{ isOpen: () => false, isUnmounted: () => Promise.resolve(false) },
  });
  signer.noteEnded(name);
  await eventually("health", () => signer.health().message?.includes("torn"));
  await signer.close();
  await recordSigned(folder, 10);
  assert.deepEqual(await faultsOf(folder), []);
});

test("single files are verified without what is missing between them", async (folder) => {
  const { files } = await recordSigned(folder, FRAMES);
  const paths = [files[1], files[3]].map((name) => `${journalOf(folder)}/${name}`);
  const { ok, signed } = await verifyEvidence(...paths);
  assert.deepEqual([ok, signed], [true, 2]);
});
