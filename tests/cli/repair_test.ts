import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, journalFiles, makeWriter, readJournal, seenOf } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });

interface Place {
  /** Where the damaged files are. */
  from: string;
  /** Where they are written. */
  out: string;
}

/** Runs a test with a journal of three files with the numbers 1 to 1500. */
function test(
  claim: string,
  { compression = "zstd", run }: {
    compression?: "none" | "zstd";
    run: (place: Place, files: string[]) => Promise<void>;
  },
): void {
  Deno.test(`vbg repair: ${claim}`, DISK, () =>
    inFolder(async (folder) => {
      const place = { from: `${folder}/from`, out: `${folder}/out` };
      await Deno.mkdir(place.from);
      for (const from of [1, 501, 1001]) {
        const { writer } = makeWriter(place.from, { compression });
        appendRange(writer, from, from + 499);
        await writer.close();
      }
      await run(place, journalFiles(place.from).map((name) => `${place.from}/${name}`));
    }));
}

async function damage(path: string, change: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): Promise<void> {
  await Deno.writeFile(path, change(await Deno.readFile(path)));
}

/** Repairs, and makes sure that what is written is whole and right, and that nothing was changed where it was. */
async function repair({ from, out }: Place) {
  const before = journalFiles(from).map((name) => Deno.readFileSync(`${from}/${name}`).toHex());
  const { code, out: text } = await runCommand(["repair", from, "-out", out]);
  assert.deepEqual(journalFiles(from).map((name) => Deno.readFileSync(`${from}/${name}`).toHex()), before);
  const verified = await runCommand(["verify", out]);
  assert.equal(verified.code, 0, verified.out);
  const { frames, indexed } = readJournal(out);
  for (const frame of frames) assert.deepEqual(frame, seenOf(frame.seq));
  const files: { lost: { offset?: number; what: string }[]; missing: { first: number; last: number }[] }[] =
    JSON.parse(text).files;
  const missing = files.flatMap((file) => file.missing);
  return {
    code,
    files,
    missing,
    indexed,
    seqs: frames.map(({ seq }) => seq),
    gaps: JSON.parse(verified.out).runs[0].gaps,
  };
}

/** Numbers from 1 to 1500 without these ranges. */
function without(ranges: readonly { first: number; last: number }[]): number[] {
  const all = Array.from({ length: 1500 }, (_, i) => i + 1);
  return all.filter((seq) => !ranges.some(({ first, last }) => first <= seq && seq <= last));
}

test("a whole journal is copied byte for byte", {
  run: async (place, files) => {
    const { code, missing, seqs } = await repair(place);
    assert.deepEqual([code, missing, seqs], [0, [], without([])]);
    for (const path of files) {
      assert.deepEqual(await Deno.readFile(path), await Deno.readFile(path.replace("/from/", "/out/")));
    }
  },
});

test("a damaged block is left out, and the next one tells the gap", {
  compression: "none",
  run: async (place, [path = ""]) => {
    await damage(path, (bytes) => bytes.with(16 + 4096 + 100, 0xee));
    const { code, files, missing, seqs, gaps } = await repair(place);
    assert.equal(code, 0);
    assert.deepEqual(files[0]?.lost, [{ offset: 16 + 4096, what: "The block's checksum is wrong" }]);
    assert.equal(missing.length, 1);
    assert.deepEqual(seqs, without(missing));
    assert.deepEqual(gaps, [{ ...missing[0], reason: "disk" }]);
  },
});

test("what a file lost at its end is told by the next file", {
  run: async (place, [, path = ""]) => {
    await damage(path, (bytes) => bytes.subarray(0, bytes.length / 2));
    const { missing, seqs, gaps, indexed } = await repair(place);
    assert.deepEqual(seqs, without(missing));
    assert.deepEqual(gaps, [{ ...missing[0], reason: "disk" }]);
    assert.equal(missing[0]?.last, 1000);
    assert.deepEqual(indexed, [true, true, true]);
  },
});

for (const compression of ["zstd", "none"] as const) {
  test(`a file without its first bytes is read by what its blocks tell (${compression})`, {
    compression,
    run: async (place, [, path = ""]) => {
      const original = await Deno.readFile(path);
      await damage(path, (bytes) => bytes.fill(0, 0, 16));
      const { code, files, missing, seqs } = await repair(place);
      assert.deepEqual([code, missing, seqs], [0, [], without([])]);
      assert.match(files[1]?.lost[0]?.what ?? "", /^The file is not a journal: its header is derived/);
      assert.deepEqual(await Deno.readFile(path.replace("/from/", "/out/")), original);
      await Deno.remove(place.out, { recursive: true });
      await damage(path, (bytes) => bytes.fill(0, 0, 500));
      const worse = await repair(place);
      assert.deepEqual([worse.missing.length, worse.seqs], [1, without(worse.missing)]);
      assert.equal(worse.missing[0]?.first, 501);
    },
  });
}

test("a file of which nothing can be read is told, and is not written", {
  run: async (place, [, path = ""]) => {
    await damage(path, () => new Uint8Array(1000));
    const { code, files, missing, seqs } = await repair(place);
    assert.deepEqual([code, missing], [1, [{ first: 501, last: 1000 }]]);
    assert.deepEqual(files[1]?.lost, [{ what: "The file is not a journal" }]);
    assert.deepEqual(seqs, without(missing));
    assert.equal(journalFiles(place.out).length, 2);
  },
});

test("whatever is flipped and cut, what is written is whole, right and explained", {
  run: async (place, files) => {
    const random = new Random(1234);
    const originals = await Promise.all(files.map((path) => Deno.readFile(path)));
    for (let round = 0; round < 60; round++) {
      for (const [index, path] of files.entries()) {
        const bytes = originals[index]!.slice();
        for (let flips = random.int(4); flips > 0; flips--) {
          bytes[16 + random.int(bytes.length - 16)]! ^= 1 << random.int(8);
        }
        await Deno.writeFile(path, random.int(4) === 0 ? bytes.subarray(0, 16 + random.int(bytes.length)) : bytes);
      }
      const out = `${place.out}-${round}`;
      const { out: text } = await runCommand(["repair", place.from, "-out", out]);
      if (journalFiles(out).length === 0) continue;
      const { missing }: { missing: { first: number; last: number }[] } = {
        missing: JSON.parse(text).files.flatMap((file: { missing: unknown }) => file.missing),
      };
      const seqs = readJournal(out).frames.map((frame) => {
        assert.deepEqual(frame, seenOf(frame.seq));
        return frame.seq;
      });
      const inside = without(missing).filter((seq) => seq >= seqs[0]! && seq <= seqs.at(-1)!);
      assert.deepEqual(seqs, inside, `round ${round}`);
      assert.equal((await runCommand(["verify", out])).code, 0, `round ${round}`);
      await Deno.remove(out, { recursive: true });
    }
  },
});

test("nothing is written over, and never in place", {
  run: async (place, [path = ""]) => {
    await Deno.mkdir(place.out);
    await Deno.writeTextFile(path.replace("/from/", "/out/"), "mine");
    assert.equal((await runCommand(["repair", place.from, "-out", place.out])).code, 2);
    assert.deepEqual(journalFiles(place.out).length, 1);
    assert.equal((await runCommand(["repair", place.from, "-out", place.from])).code, 2);
    assert.equal((await runCommand(["repair", place.from])).code, 2);
  },
});
