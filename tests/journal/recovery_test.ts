import assert from "node:assert/strict";
import { recover, type Recovered } from "../../src/journal/wal/recovery.ts";
import { encodeFileHeader } from "../../src/journal/mod.ts";
import { type FileIndex, readFileIndex } from "../../src/journal/index/file_index.ts";
import { WAL_NAMES } from "../../src/journal/wal/wal_files.ts";
import { inFolder } from "../support/folder.ts";
import {
  appendRange,
  EPOCH,
  frameOf,
  journalFiles,
  keptLog,
  makeWriter,
  readJournal,
  wantedRange,
} from "../support/journal_run.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const FILES = needs({ permissions: ["read", "write"] });

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test({ name: `recovery: ${name}`, ...FILES, fn: () => inFolder(run) });
}

/** What lies in a directory. */
type Content = Map<string, Uint8Array<ArrayBuffer>>;

function contentOf(folder: string): Content {
  const files = [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile);
  return new Map(files.map(({ name }) => [name, Deno.readFileSync(`${folder}/${name}`)]));
}

async function lay(folder: string, content: Content): Promise<void> {
  await Deno.mkdir(folder);
  for (const [name, bytes] of content) Deno.writeFileSync(`${folder}/${name}`, bytes);
}

async function recoverIn(directory: string): Promise<{ found: Recovered; lines: string[] }> {
  const { log, lines } = keptLog();
  return { found: await recover({ directory, log }), lines };
}

/** Recovers, and again, which must change nothing; records on, and reads all. */
async function recoverAndGoOn(directory: string): Promise<{ found: Recovered; lines: string[] }> {
  const { found, lines } = await recoverIn(directory);
  const before = contentOf(directory);
  const again = await recoverIn(directory);
  assert.deepEqual(again.lines, []);
  const { lastSeq, newestFile } = found;
  assert.deepEqual(again.found, { ...found, frames: 0, cutBytes: 0 });
  assert.deepEqual(contentOf(directory), before);
  const gap = { firstMissing: lastSeq + 1, reason: "restart" } as const;
  const { writer } = makeWriter(directory, { newestFile, gap });
  const first = lastSeq + 1000;
  appendRange(writer, first, first + 20);
  await writer.close();
  const { frames, blocks } = readJournal(directory);
  assert.deepEqual(frames.slice(-21), wantedRange(first, first + 20));
  assert.deepEqual(blocks.at(-1)?.metadata.gap, gap);
  assert.equal(frames.at(-22)?.seq ?? 0, lastSeq);
  return { found, lines };
}

function indexOf(bytes: Uint8Array<ArrayBuffer>): Promise<FileIndex> {
  const read = (offset: number, length: number) => Promise.resolve(bytes.slice(offset, offset + length));
  return readFileIndex(read, bytes.length);
}

/** A recording that was cut off: its files, and what they are sure to have. */
async function recording(folder: string, compression: "none" | "zstd"): Promise<Content> {
  const { writer } = makeWriter(folder, { compression });
  for (let seq = 1; seq <= 700; seq++) {
    writer.append(seq, frameOf(seq));
    if (seq % 40 === 0) await writer.sync();
  }
  await writer.sync();
  const content = contentOf(folder);
  await writer.close();
  return content;
}

for (const compression of ["none", "zstd"] as const) {
  test(`nothing is lost where nothing is torn, ${compression}`, async (folder) => {
    await lay(`${folder}/cut`, await recording(folder, compression));
    const { found, lines } = await recoverAndGoOn(`${folder}/cut`);
    assert.equal(found.lastSeq, 700);
    assert.deepEqual(found.epoch, EPOCH);
    assert.equal(lines.length, 1);
    assert.deepEqual(readJournal(`${folder}/cut`).frames.slice(0, 700), wantedRange(1, 700));
    assert.ok(readJournal(`${folder}/cut`).blocks.every(({ metadata }) => metadata.buses?.length === 2));
  });

  test(`a file cut at any byte of its last two blocks gives all that is whole, ${compression}`, async (folder) => {
    const content = await recording(folder, compression);
    const [name = ""] = journalFiles(folder);
    const bytes = content.get(name) ?? new Uint8Array(0);
    const stored = compression === "none" ? 4096 : bytes.length / 5;
    const random = new Random(21);
    const ends = Array.from({ length: rounds(60, 20) }, () => bytes.length - random.int(Math.floor(2 * stored)));
    for (const [round, end] of [bytes.length - 1, ...ends].entries()) {
      const directory = `${folder}/${round}`;
      await lay(directory, new Map([...content, [name, bytes.slice(0, end)]]));
      const { found } = await recoverAndGoOn(directory);
      assert.equal(found.lastSeq, 700, "the tail has what the file ends before, or what comes after");
      const { frames } = readJournal(directory);
      const seqs = frames.map(({ seq }) => seq);
      assert.equal(new Set(seqs).size, seqs.length);
      assert.deepEqual(
        frames.filter(({ seq }) => seq <= 700),
        seqs.filter((seq) => seq <= 700).flatMap((seq) => wantedRange(seq, seq)),
      );
      await Deno.remove(directory, { recursive: true });
    }
  });
}

test("a tail cut at any byte gives its whole frames, exactly once and in order", async (folder) => {
  const content = await recording(folder, "zstd");
  const random = new Random(22);
  for (const name of WAL_NAMES) {
    const bytes = content.get(name) ?? new Uint8Array(0);
    assert.ok(bytes.length > 1000);
    for (let round = 0; round < rounds(40, 15); round++) {
      const directory = `${folder}/${name}-${round}`;
      await lay(directory, new Map([...content, [name, bytes.slice(0, random.int(bytes.length))]]));
      const { found } = await recoverAndGoOn(directory);
      const { frames } = readJournal(directory);
      assert.deepEqual(frames.filter(({ seq }) => seq <= found.lastSeq), wantedRange(1, found.lastSeq));
      await Deno.remove(directory, { recursive: true });
    }
  }
});

test("garbage and zeros behind the last block are cut off, in one line", async (folder) => {
  const content = await recording(folder, "zstd");
  const [name = ""] = journalFiles(folder);
  const bytes = content.get(name) ?? new Uint8Array(0);
  const random = new Random(23);
  for (const [round, rest] of [random.bytes(3000), new Uint8Array(4000), random.bytes(1)].entries()) {
    const directory = `${folder}/${round}`;
    await lay(directory, new Map([...content, [name, new Uint8Array([...bytes, ...rest])]]));
    const { found, lines } = await recoverAndGoOn(directory);
    assert.equal(found.cutBytes, rest.length);
    assert.equal(lines.length, 1);
    assert.deepEqual(Deno.readFileSync(`${directory}/${name}`), bytes);
    assert.deepEqual(readJournal(directory).frames.slice(0, 700), wantedRange(1, 700));
  }
});

test("a damaged block costs its own frames and none behind it, open or closed", async (folder) => {
  const open = await recording(folder, "zstd");
  const closed = contentOf(folder);
  const random = new Random(24);
  const [name = ""] = journalFiles(folder);
  for (const [kind, content] of Object.entries({ open, closed })) {
    const bytes = content.get(name) ?? new Uint8Array(0);
    const whole = (await indexOf(bytes)).blocks.length;
    for (let round = 0; round < rounds(60, 20); round++) {
      const directory = `${folder}/${kind}-${round}`;
      const damaged = bytes.slice();
      const from = 16 + random.int(bytes.length / 2);
      damaged.set(random.bytes(random.between(1, 40)), from);
      await lay(directory, new Map([...content, [name, damaged]]));
      const { found } = await recoverIn(directory);
      assert.equal(found.lastSeq, 700, `damage at ${from}`);
      assert.deepEqual(Deno.readFileSync(`${directory}/${name}`), damaged);
      const { blocks } = await indexOf(damaged);
      assert.ok(blocks.length >= whole - 2, `${blocks.length} of ${whole} blocks`);
      await Deno.remove(directory, { recursive: true });
    }
  }
});

test("a file in which nothing was written is taken away, and the one before it counts", async (folder) => {
  const { writer } = makeWriter(folder);
  appendRange(writer, 1, 100);
  await writer.close();
  const header = encodeFileHeader({ version: 2, blockBytes: 4096, compression: "zstd", epochWord: 1 });
  for (const [i, bytes] of [new Uint8Array(0), header.subarray(0, 7), header, new Uint8Array(16)].entries()) {
    await Deno.writeFile(`${folder}/nmea2k-2040010${i + 1}T000000.000Z.lpj`, bytes);
  }
  const { found } = await recoverAndGoOn(folder);
  assert.equal(found.lastSeq, 100);
  assert.equal(journalFiles(folder).length, 2);
});

test("frames of a new run that are in a tail alone are kept, though the files are another run's", async (folder) => {
  const old = makeWriter(folder);
  appendRange(old.writer, 5000, 5500);
  await old.writer.close();
  const epoch = Uint8Array.from({ length: 16 }, () => 7);
  const { writer } = makeWriter(folder, { epoch, newestFile: journalFiles(folder)[0] });
  appendRange(writer, 1, 20);
  await writer.sync();
  const content = contentOf(folder);
  await writer.close();
  await lay(`${folder}/cut`, content);
  const { found } = await recoverIn(`${folder}/cut`);
  assert.equal(found.lastSeq, 20);
  assert.deepEqual(found.epoch, epoch);
  const { frames, blocks } = readJournal(`${folder}/cut`);
  assert.deepEqual(frames, [...wantedRange(5000, 5500), ...wantedRange(1, 20)]);
  assert.deepEqual(blocks.at(-1)?.metadata.epoch, epoch);
});

test("a tail of an old run, whose frames are in its files, gives nothing", async (folder) => {
  const old = makeWriter(folder);
  appendRange(old.writer, 5000, 5010);
  await old.writer.sync();
  const tails = contentOf(folder);
  await old.writer.close();
  const epoch = Uint8Array.from({ length: 16 }, () => 7);
  const { writer } = makeWriter(folder, { epoch, newestFile: journalFiles(folder)[0] });
  appendRange(writer, 1, 20);
  await writer.close();
  for (const [name, bytes] of tails) Deno.writeFileSync(`${folder}/${name}`, bytes);
  const { found } = await recoverIn(folder);
  assert.deepEqual([found.frames, found.lastSeq], [0, 20]);
  assert.deepEqual(readJournal(folder).frames, [...wantedRange(5000, 5010), ...wantedRange(1, 20)]);
});

test("others' files of version 1 and with dictionaries are read as they are, and not cut", async (folder) => {
  const random = new Random(25);
  const names = ["nmea2k-20260101T000000.000Z.lpj", "nmea2k-20260101T000001.000Z.lpj"];
  for (const [i, name] of names.entries()) {
    const kind = i === 0
      ? { version: 1, compression: "none" } as const
      : { version: 2, compression: "zstd-dict" } as const;
    const header = encodeFileHeader({ ...kind, blockBytes: 4096, epochWord: 0 });
    await Deno.writeFile(`${folder}/${name}`, new Uint8Array([...header, ...random.bytes(10_000)]));
  }
  const before = contentOf(folder);
  const { lines, found } = await recoverIn(folder);
  assert.deepEqual([contentOf(folder), lines, found.lastSeq], [before, [], 0]);
});

test("foreign, empty, random and boastful files do no harm and stay", async (folder) => {
  const random = new Random(26);
  const header = encodeFileHeader({ version: 2, blockBytes: 65_536, compression: "zstd", epochWord: 1 });
  const boast = new Uint8Array(100_000).fill(0xff);
  boast.set(header);
  const blocks = random.bytes(200_000);
  blocks.set(encodeFileHeader({ version: 2, blockBytes: 4096, compression: "zstd", epochWord: 1 }));
  for (let at = 100; at < blocks.length - 100; at += 90) blocks.set([0, 1, 0, 0, 0x28, 0xb5, 0x2f, 0xfd], at);
  const files: Record<string, Uint8Array> = {
    "metadata.txt": random.bytes(100),
    "nmea2k-99991231T235959.999Z.lpj": random.bytes(50_000),
    "nmea2k-20260101T000000.000Z.lpj": boast,
    "nmea2k-20260101T000001.000Z.lpj": blocks,
    "nmea2k-20260231T000000.000Z.lpj": random.bytes(10),
    "zzz-20260101T000000Z.lpj": random.bytes(10_000),
    "tail-a": random.bytes(100_000),
    "tail-b": new Uint8Array(50),
  };
  for (const [name, bytes] of Object.entries(files)) Deno.writeFileSync(`${folder}/${name}`, bytes);
  await Deno.mkdir(`${folder}/nmea2k-20270101T000000.000Z.lpj`);
  const { found } = await recoverIn(folder);
  assert.deepEqual([found.lastSeq, found.frames, found.newestFile], [0, 0, undefined]);
  const { "tail-a": _, "tail-b": __, ...stay } = files;
  for (const [name, bytes] of Object.entries(stay)) {
    assert.deepEqual(new Uint8Array(Deno.readFileSync(`${folder}/${name}`)), bytes, name);
  }
});
