import assert from "node:assert/strict";
import { encode } from "../../src/pgn/mod.ts";
import { inFolder } from "../support/folder.ts";
import { namesIn } from "../support/converted.ts";
import { type FrameInit, message, START_US } from "../support/messages.ts";
import { makeWriter } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { readParquet } from "../support/parquet.ts";
import { CommandRun } from "./dump_run.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });
/** A PGN that no definition describes. */
const UNKNOWN = 65500;
const HEAD = "time,bus,src,dst,prio,name,pgn,seq";
const HOUR_US = 3_600_000_000;

/** Runs with a journal of these messages, numbered from 1. */
function withJournal(
  messages: readonly FrameInit[],
  test: (paths: { folder: string; journal: string }) => Promise<void>,
) {
  return () =>
    inFolder(async (folder) => {
      const journal = `${folder}/journal`;
      await Deno.mkdir(journal);
      const { writer } = makeWriter(journal, { maxBacklogBytes: 2 ** 28 });
      messages.forEach((init, index) => writer.append(index + 1, message({ timeUs: START_US, ...init })));
      await writer.close();
      await test({ folder, journal });
    });
}

/** The standard output of a command that succeeds. */
async function output(...args: string[]): Promise<string> {
  const { code, text, complaints } = await CommandRun.end(["export", ...args]);
  assert.equal(code, 0, complaints);
  return text;
}

const wind = (init: FrameInit = {}): FrameInit => ({
  pgn: 130306,
  data: [5, 0x26, 2, 0x39, 0x30, 2, 0xff, 0xff],
  ...init,
});

Deno.test(
  "nothing that matches: a heading without rows, an empty table, no file in a directory, and words about it",
  OFFLINE,
  withJournal([wind()], async ({ folder, journal }) => {
    const { code, text, complaints } = await CommandRun.end(["export", journal, "-pgn", "127250"]);
    assert.deepEqual([code, complaints], [0, "vbg export: no messages found"]);
    assert.equal(text, `${HEAD},sid,heading,deviation,variation,heading_reference\n`);
    await output(journal, "-from", "2030-01-01T00:00:00Z", "-out", `${folder}/none.parquet`);
    const { columns, rows } = await readParquet(`${folder}/none.parquet`);
    assert.deepEqual([columns.length, rows], [9, []]);
    await output(journal, "-to", "2000-01-01T00:00:00Z", "-out", `${folder}/out/`);
    assert.deepEqual(await namesIn(`${folder}/out`), []);
  }),
);

Deno.test(
  "a PGN without definition has a column with its payload, and a file named by its number",
  OFFLINE,
  withJournal([{ pgn: UNKNOWN, data: [0, 0xab] }, wind(), { pgn: UNKNOWN, data: [] }], async ({ folder, journal }) => {
    const row = (seq: number, data: string) => `2026-01-02T03:04:05.000000Z,can0,1,255,2,,${UNKNOWN},${seq},${data}\n`;
    // An empty payload is not null.
    const table = `${HEAD},data\n${row(1, "00ab")}${row(3, '""')}`;
    assert.equal(await output(journal, "-pgn", `${UNKNOWN}`), table);
    await output(journal, "-out", `${folder}/out/`);
    assert.deepEqual(await namesIn(`${folder}/out`), [`pgn_${UNKNOWN}.csv`, "wind_data.csv"]);
    assert.equal(await Deno.readTextFile(`${folder}/out/pgn_${UNKNOWN}.csv`), table);
  }),
);

Deno.test(
  "a payload that no definition of its PGN matches is in the column data, the fields of others are not",
  OFFLINE,
  withJournal([
    { pgn: 61184, data: [0x66, 0x99, 2, 0x20, 0xf8, 4, 0, 0] },
    { pgn: 61184, data: [1, 2, 3] },
  ], async ({ journal }) => {
    const [heading = "", first = "", second = ""] = (await output(journal, "-pgn", "61184")).split("\n");
    const [columns, one, other] = [heading, first, second].map((line) => line.split(","));
    assert.equal(columns?.at(-1), "data");
    assert.deepEqual([one?.[columns!.indexOf("register")], one?.at(-1)], ["8194", ""]);
    assert.deepEqual(other?.slice(8), [...columns!.slice(9).map(() => ""), "010203"]);
  }),
);

Deno.test(
  "fields that are not available are empty; a short payload has them, too, and more bytes than fields are no matter",
  OFFLINE,
  withJournal(
    [
      wind({ data: Array(8).fill(0xff) }),
      wind({ data: [5, 0x26, 2] }),
      wind({ data: [...wind().data as number[], 1, 2] }),
    ],
    async ({ folder, journal }) => {
      const rows = (await output(journal, "-pgn", "130306")).trimEnd().split("\n").slice(1);
      assert.deepEqual(rows.map((row) => row.split(",").slice(8).join()), [",,,", "5,5.5,,", "5,5.5,1.2345,apparent"]);
      const path = `${folder}/wind.parquet`;
      await output(journal, "-pgn", "130306", "-out", path);
      assert.deepEqual((await readParquet(path)).rows.map((row) => row.slice(8)), [
        [null, null, null, null],
        [5, 5.5, null, null],
        [5, 5.5, 1.2345, "apparent"],
      ]);
    },
  ),
);

const NAMES = [`a "B", c`, "x\ny", "1\r2", ",", "plain", "=1+1"];

Deno.test(
  "texts with quotes, commas and line breaks are quoted, and read back by others as they are",
  OFFLINE,
  withJournal(
    NAMES.map((name) => ({
      pgn: 129794,
      data: encode(129794, { message_id: 5, name }),
    })),
    async ({ folder, journal }) => {
      const text = await output(journal, "-pgn", "129794");
      for (const quoted of [`,"a ""B"", c",`, `,"x\ny",`, `,"1\r2",`, `,",",`, ",plain,", ",=1+1,"]) {
        assert.ok(text.includes(quoted), quoted);
      }
      const path = `${folder}/ais.parquet`;
      await output(journal, "-pgn", "129794", "-out", path);
      const { columns, rows } = await readParquet(path);
      const at = columns.findIndex(({ name }) => name === "field_name");
      assert.deepEqual(rows.map((row) => row[at]), NAMES);
    },
  ),
);

Deno.test(
  "lists are JSON, and numbers are written as JSON has them",
  OFFLINE,
  withJournal([
    { pgn: 129025, data: [0x01, 0, 0, 0, 0xff, 0xff, 0xff, 0x80] },
    { pgn: 129540, data: [1, 0xff, 1, 7, 0x10, 0x27, 0x20, 0x4e, 0x94, 0x11, 0, 0, 0, 0, 0xf2] },
  ], async ({ journal }) => {
    const rowOf = async (pgn: number) => (await output(journal, "-pgn", `${pgn}`)).split("\n")[1] ?? "";
    assert.match(await rowOf(129025), /,1,1e-7,-213\.0706433$/);
    assert.match(await rowOf(129540), /,"\[\{""prn"":7,""elevation"":1,""azimuth"":2,""snr"":45/);
  }),
);

Deno.test(
  "two buses: each row names its own, and so does each frame of candump's log; a capture does not, which is reported",
  OFFLINE,
  withJournal([wind(), wind({ bus: 1 }), wind()], async ({ folder, journal }) => {
    const buses = (await output(journal)).trimEnd().split("\n").slice(1).map((row) => row.split(",")[1]);
    assert.deepEqual(buses, ["can0", "can1", "can0"]);
    const lines = (await output(journal, "-format", "candump")).trimEnd().split("\n");
    assert.deepEqual(lines.map((line) => line.split(" ")[1]), buses);
    const capture = await CommandRun.end(["export", journal, "-quiet", "-out", `${folder}/two.pcap`]);
    assert.equal(
      capture.complaints,
      "vbg export: messages of 2 buses, which the format does not name: -bus chooses one",
    );
    const one = await CommandRun.end(["export", journal, "-quiet", "-bus", "can1", "-out", `${folder}/one.pcap`]);
    assert.equal(one.complaints, "");
  }),
);

Deno.test(
  "times in the first days of 1970 and before, with microseconds; frames have none before 1970, which is counted",
  OFFLINE,
  withJournal([-1_500_001, 0, 1, 30 * HOUR_US + 7].map((timeUs) => wind({ timeUs })), async ({ folder, journal }) => {
    const times = ["1969-12-31T23:59:58.499999Z", "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000001Z"];
    const rows = (await output(journal)).trimEnd().split("\n").slice(1).map((row) => row.split(",")[0]);
    assert.deepEqual(rows, [...times, "1970-01-02T06:00:00.000007Z"]);
    await output(journal, "-out", `${folder}/early.parquet`);
    const { rows: typed } = await readParquet(`${folder}/early.parquet`);
    assert.deepEqual(typed.map(([time]) => time), [-1_500_001n, 0n, 1n, 108_000_000_007n]);
    const { text, complaints } = await CommandRun.end(["export", journal, "-format", "candump"]);
    assert.deepEqual(text.split("\n").map((line) => line.split(" ")[0]), [
      "(0000000000.000000)",
      "(0000000000.000001)",
      "(0000108000.000007)",
      "",
    ]);
    assert.match(complaints, /^vbg export: 1 message not written: time before 1970/);
  }),
);

Deno.test(
  "more files than are open at a time are all complete",
  OFFLINE,
  withJournal(
    Array.from({ length: 3000 }, (_, i) => ({ pgn: 0x1ff00 - 200 + (i % 200), data: [i & 0xff, i >> 8] })),
    async ({ folder, journal }) => {
      for (const format of ["csv", "parquet"]) {
        const out = `${folder}/${format}`;
        await output(journal, "-format", format, "-out", `${out}/`);
        const names = await namesIn(out);
        assert.equal(names.length, 200);
        for (const name of names) {
          const path = `${out}/${name}`;
          const rows = format === "csv"
            ? (await Deno.readTextFile(path)).trimEnd().split("\n").slice(1)
            : (await readParquet(path)).rows;
          assert.equal(rows.length, 15, name);
        }
      }
    },
  ),
);

Deno.test(
  "more than 1000 files are refused, and none of them is left",
  OFFLINE,
  withJournal(
    Array.from({ length: 1001 }, (_, i) => ({ pgn: 0x1f000 + i, data: [1] })),
    async ({ folder, journal }) => {
      const { code, complaints } = await CommandRun.end(["export", journal, "-out", `${folder}/out/`]);
      assert.deepEqual([code, complaints], [
        2,
        "vbg export: Cannot write more than 1000 files: -pgn chooses what is exported",
      ]);
      assert.deepEqual(await namesIn(`${folder}/out`), []);
    },
  ),
);
