import assert from "node:assert/strict";
import { Interrupted } from "../../cli/program/interrupt.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, EPOCH, frameOf, journalFiles, makeWriter } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const EPOCH_TEXT = EPOCH.toHex();

type Options = Parameters<typeof makeWriter>[1];

/** Writes numbers, both ends included, into a file of a directory. Answers its path. */
async function write(folder: string, [from, to]: [from: number, to: number], options: Options = {}): Promise<string> {
  const before = journalFiles(folder);
  const { writer } = makeWriter(folder, options);
  appendRange(writer, from, to);
  await writer.close();
  return `${folder}/${journalFiles(folder).find((name) => !before.includes(name))}`;
}

function test(claim: string, run: (folder: string) => Promise<void>): void {
  Deno.test(`vbg verify: ${claim}`, DISK, () => inFolder(run));
}

/** Runs it on a folder, for people. */
async function verify(folder: string, ...more: string[]) {
  const { code, out } = await runCommand(["verify", "-json=false", folder, ...more]);
  return { code, lines: out.trimEnd().replaceAll(`${folder}/`, "").split("\n") };
}

test("a whole journal is good, told file by file and run by run", async (folder) => {
  await write(folder, [1, 300]);
  await write(folder, [301, 500], { prefix: "other" });
  const { code, lines } = await verify(folder);
  assert.equal(code, 0);
  const TIME = "2026-01-02T03:04:05";
  assert.deepEqual(lines, [
    `nmea2k-20260102T030405.001Z.lpj: 2 blocks, 300 frames 1 to 300, ${TIME}.001Z to ${TIME}.300Z: OK`,
    `other-20260102T030405.301Z.lpj: 1 block, 200 frames 301 to 500, ${TIME}.301Z to ${TIME}.500Z: OK`,
    `epoch ${EPOCH_TEXT}: numbers 1 to 500 without a gap`,
    "2 files, 500 frames: OK",
  ]);
});

test("a gap that a block tells is told, and is no error; one that nothing tells is one", async (folder) => {
  const { writer } = makeWriter(folder);
  appendRange(writer, 1, 100);
  appendRange(writer, 151, 200);
  await writer.close();
  const told = await verify(folder);
  assert.equal(told.code, 0);
  assert.deepEqual(told.lines.slice(1), [
    `epoch ${EPOCH_TEXT}: numbers 1 to 200`,
    "  note: Missing 101 to 150 (50 frames): missing at the source",
    "1 file, 150 frames: OK",
  ]);
  await write(folder, [301, 310], { prefix: "later" });
  const { code, out } = await runCommand(["verify", folder]);
  const { ok, errors, runs: [run] } = JSON.parse(out);
  assert.deepEqual([code, ok, errors], [1, false, 1]);
  assert.deepEqual(run.gaps, [
    { first: 101, last: 150, reason: "source" },
    { first: 201, last: 300, reason: null },
  ]);
});

test("each flipped byte of blocks that are not compressed is found", async (folder) => {
  const path = await write(folder, [1, 300], { compression: "none" });
  const bytes = await Deno.readFile(path);
  const step = 97;
  for (let at = 16; at < bytes.length; at += step) {
    const damaged = bytes.slice();
    damaged[at]! ^= 0x10;
    await Deno.writeFile(path, damaged);
    const { code, out } = await runCommand(["verify", path]);
    const { files: [file], runs } = JSON.parse(out);
    assert.equal(code, 1, `byte ${at}`);
    const offset = 16 + Math.floor((at - 16) / 4096) * 4096;
    assert.deepEqual(file.errors, [{ offset, what: "The block's checksum is wrong" }]);
    assert.ok(runs[0].gaps.length <= 1, "and what is behind it is read");
  }
});

test("a compressed file that was cut anywhere is torn, or has no index", async (folder) => {
  const path = await write(folder, [1, 300]);
  const bytes = await Deno.readFile(path);
  const { out } = await runCommand(["inspect", path]);
  const { blocks } = JSON.parse(out);
  const ends = [16, ...blocks.map((block: { offset: number; bytes: number }) => block.offset + block.bytes)];
  for (let length = 0; length < bytes.length; length += 53) {
    await Deno.writeFile(path, bytes.subarray(0, length));
    const { code, out } = await runCommand(["verify", path]);
    assert.equal(code, ends.includes(length) ? 0 : 1, `${length} bytes`);
    assert.equal(JSON.parse(out).files[0].index, false);
  }
});

test("numbers that are twice must hold the same frames", async (folder) => {
  await write(folder, [1, 300]);
  await write(folder, [201, 400], { prefix: "again" });
  const same = await verify(folder);
  assert.equal(same.code, 0);
  assert.ok(same.lines.includes("  note: 100 numbers twice, with the same frames"), same.lines.join("\n"));
  const { writer } = makeWriter(folder, { prefix: "liar" });
  writer.append(5, frameOf(5));
  writer.append(6, frameOf(7));
  await writer.close();
  const other = await verify(folder);
  assert.equal(other.code, 1);
  assert.match(other.lines.join("\n"), /error: .*byte 16: Frame 6 differs in .*byte 16/);
});

test("software that names no epoch begins anew in every file, and never inside of one", async (folder) => {
  const first = await write(folder, [1, 120]);
  const second = await write(folder, [1, 90], { prefix: "second" });
  for (const path of [first, second]) {
    const bytes = await Deno.readFile(path);
    bytes.fill(0, 12, 16);
    await Deno.writeFile(path, bytes);
  }
  const { code, lines } = await verify(folder);
  assert.equal(code, 0, lines.join("\n"));
  assert.match(lines.join("\n"), /note: second-.*: Numbers restart at 1/);
});

test("it ends when it is asked to, and shows how far it is on a terminal alone", async (folder) => {
  await write(folder, [1, 300]);
  const stopped = await runCommand(["verify", folder], { stopping: AbortSignal.abort(new Interrupted("Stopped")) });
  assert.deepEqual(stopped, { code: 130, out: "", err: "" });
  assert.equal((await runCommand(["verify", folder])).err, "");
  const { err } = await runCommand(["verify", folder], { isTerminal: true });
  const erase = "\r\u001b[K";
  assert.ok(err.startsWith(erase) && err.endsWith(erase), JSON.stringify(err));
  assert.match(err.replaceAll(erase, ""), /^[█░]+ \d+ % /);
});
