import assert from "node:assert/strict";
import { convertRecordings } from "../../src/recordings/mod.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, journalFiles, makeWriter } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { sampleBytes } from "../support/recordings.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const SAMPLE = "candump_sample3.txt";

/** Runs a test with a journal of a recording, in blocks of 16 KiB. */
function withSample(test: (path: string) => Promise<void>) {
  return () =>
    inFolder(async (folder) => {
      const path = `${folder}/a.lpj`;
      const chunks = ReadableStream.from([sampleBytes(SAMPLE)]);
      await convertRecordings([{ name: SAMPLE, chunks }], {
        ...{ to: { kind: "file", path }, format: undefined, overwrite: false, startTime: undefined, prefix: "nmea2k" },
        ...{ rotateDurationMs: 3_600_000, rotateBytes: 2 ** 30, compression: "zstd", blockBytes: 16_384 },
      });
      await test(path);
    });
}

Deno.test(
  "vbg inspect shows header, blocks, totals and index of a file, in a table on a terminal",
  DISK,
  withSample(async (path) => {
    const { code, out } = await runCommand(["inspect", path], { isTerminal: true });
    assert.equal(code, 0);
    assert.deepEqual(out.split("\n"), [
      `${path}: version 2, zstd, blocks of 16384 bytes, epoch 6eb64152388f395efd088d0f46c23970, 9313 bytes`,
      "OFFSET  FIRST SEQ  FRAMES  TIME                      BYTES  RATIO  DEVICES  NOTES",
      "    16          1    1065  2017-08-17T15:47:46.421Z   5194   3.15        2",
      "  5210       1066     809  2017-08-17T15:47:56.257Z   4079   4.02        2",
      "2 blocks, 1874 frames 1 to 1874, 2017-08-17T15:47:46.421Z to 2017-08-17T15:48:03.826Z, 5.0 bytes a frame",
      "buses: slcan0; index: there",
      "",
    ]);
  }),
);

Deno.test(
  "vbg inspect gives an object a file where its output is no terminal",
  DISK,
  withSample(async (path) => {
    const { code, out } = await runCommand(["inspect", path, path.replace(/\/[^/]*$/, "")]);
    assert.equal(code, 0);
    const [line, ...rest] = out.split("\n");
    assert.deepEqual(rest, [""], "the same file is told once");
    const { blocks, ...file } = JSON.parse(line ?? "");
    assert.deepEqual(file, {
      ...{ path, bytes: 9313, version: 2, compression: "zstd", block_bytes: 16_384 },
      ...{ epoch: "6eb64152388f395efd088d0f46c23970", buses: ["slcan0"], index: true, torn_at: null },
      ...{ damaged_places: 0, frames: 1874, first_seq: 1, last_seq: 1874 },
      ...{ first_ts: "2017-08-17T15:47:46.421Z", last_ts: "2017-08-17T15:48:03.826Z" },
    });
    assert.deepEqual(blocks[1], {
      ...{ offset: 5210, bytes: 4079, first_seq: 1066, frames: 809, devices: 2 },
      ...{ first_ts: "2017-08-17T15:47:56.257Z", last_ts: "2017-08-17T15:48:03.826Z" },
      notes: { buses: ["slcan0"], epoch: "6eb64152388f395efd088d0f46c23970" },
    });
  }),
);

Deno.test(
  "vbg inspect tells gaps, damaged blocks and torn ends where they are, and goes on behind them",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder, { compression: "none" });
      appendRange(writer, 1, 300);
      appendRange(writer, 350, 600);
      await writer.close();
      const path = `${folder}/${journalFiles(folder)[0]}`;
      const bytes = await Deno.readFile(path);
      bytes[16 + 4096 + 100]! ^= 1;
      await Deno.writeFile(path, new Uint8Array([...bytes, 1, 2, 3]));
      const { code, out } = await runCommand(["inspect", "-json=false", path]);
      assert.equal(code, 0);
      assert.match(out, /\n +4112 .*DAMAGED: The block's checksum is wrong\n/);
      assert.match(out, /\n.* 350 .*gap from 301 \(source\)\n/);
      assert.match(out, new RegExp(`\\ntorn: 3 bytes after byte ${bytes.length} are no block\\n$`));
      assert.match(out, /index: not needed/);
    }),
);

Deno.test(
  "vbg inspect goes on behind a file that is no journal, and its code tells",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder);
      appendRange(writer, 1, 10);
      await writer.close();
      await Deno.writeTextFile(`${folder}/a.lpj`, "no journal, however long it is");
      const { code, out, err } = await runCommand(["inspect", folder]);
      assert.deepEqual([code, err], [
        1,
        `vbg inspect: ${folder}/a.lpj: The file is not a journal; "vbg convert" makes one of a recording of another program\n`,
      ]);
      assert.equal(JSON.parse(out).frames, 10);
      assert.equal((await runCommand(["inspect"])).code, 2);
      assert.equal((await runCommand(["inspect", `${folder}/none`])).code, 2);
    }),
);
