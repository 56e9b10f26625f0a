// Compares what SQL finds in recordings with what is found by going through them frame by frame.
import assert from "node:assert/strict";
import { messageView } from "../../cli/commands/query/views.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { findRecorded, readRecorded } from "../../src/recordings/mod.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { environment, needs } from "../support/needs.ts";
import { rowsOf } from "../support/query.ts";
import { wantedValue } from "../support/query_columns.ts";
import { SAMPLES } from "../support/recordings.ts";

const DATA = new URL("../data/", import.meta.url).pathname;
const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
/** A directory with whole recordings; default: none are read. */
const WHOLE = environment("VBG_TEST_RECORDINGS");

/** What is known of the messages of a PGN: how many, their times, and of each column how many values, and their sum. */
interface Found {
  count: number;
  firstUs: number;
  lastUs: number;
  columns: { count: number; sum: number }[];
}

/** Goes through a journal frame by frame. */
async function bruteForce(path: string): Promise<Map<number, Found>> {
  const found = new Map<number, Found>();
  const frame = newStoredFrame();
  for await (const part of readRecorded([await findRecorded(path)], { log: silentLogger })) {
    while (part.next(frame, () => {})) {
      const { pgn, timeUs, data, offset, length } = frame;
      const { columns } = messageView(pgn);
      const each = found.get(pgn) ??
        { count: 0, firstUs: Infinity, lastUs: -Infinity, columns: columns.map(() => ({ count: 0, sum: 0 })) };
      found.set(pgn, each);
      each.count++;
      each.firstUs = Math.min(each.firstUs, timeUs);
      each.lastUs = Math.max(each.lastUs, timeUs);
      const decoded = decode(pgn, data.subarray(offset, offset + length));
      for (const [i, { source, type }] of columns.entries()) {
        if (source.kind !== "field") continue;
        const value = wantedValue(decoded, { field: source.field, type });
        if (value === null) continue;
        each.columns[i]!.count++;
        each.columns[i]!.sum += typeof value === "number" ? value : value.length;
      }
    }
  }
  return found;
}

/** One query over all views: a row for each. */
function sqlOf(pgns: Iterable<number>): string {
  return Array.from(pgns, (pgn) => {
    const { name, columns } = messageView(pgn);
    const fields = columns.map((column) => {
      if (column.source.kind !== "field") return "NULL";
      const quoted = `"${column.name}"`;
      const size = column.type === "VARCHAR" ? `length(${quoted})` : quoted;
      return `{'count': count(${quoted}), 'sum': coalesce(sum(${size})::DOUBLE, 0)}`;
    });
    const times = "epoch_us(min(time)) AS first, epoch_us(max(time)) AS last";
    return `SELECT ${pgn} AS pgn, count(*) AS n, ${times}, [${fields.join(", ")}] AS columns FROM ${name}`;
  }).join("\nUNION ALL ");
}

/** Compares a journal. Returns the number of its messages. */
async function compare(path: string): Promise<number> {
  const wanted = await bruteForce(path);
  const rows = await rowsOf(sqlOf(wanted.keys()), path);
  assert.equal(rows.length, wanted.size);
  for (const { pgn, n, first, last, columns } of rows) {
    const { count, firstUs, lastUs, columns: sums } = wanted.get(Number(pgn)) ?? assert.fail();
    assert.deepEqual([n, first, last], [count, firstUs, lastUs], `${path} ${pgn}`);
    assert.ok(Array.isArray(columns));
    for (const [i, column] of messageView(Number(pgn)).columns.entries()) {
      if (column.source.kind !== "field") continue;
      const found: Found["columns"][number] = columns[i];
      const { count, sum } = sums[i]!;
      const what = `${path} ${pgn} ${column.name}: ${JSON.stringify(found)}, not ${count} ${sum}`;
      assert.equal(found.count, count, what);
      assert.ok(Math.abs(found.sum - sum) <= 1e-9 * Math.max(1, Math.abs(sum)), what);
    }
  }
  return [...wanted.values()].reduce((sum, { count }) => sum + count, 0);
}

Deno.test(
  "SQL finds what is in the recordings of the tests, converted to one journal, and in journals of other software",
  RUN,
  () =>
    inFolder(async (folder) => {
      const files = SAMPLES.map(({ file }) => DATA + file);
      const { code, err } = await runCommand(["convert", ...files, "-out", `${folder}/all.lpj`]);
      assert.equal(code, 0, err);
      assert.ok(await compare(`${folder}/all.lpj`) > 2000);
      assert.ok(await compare(`${DATA}lplex_cloud/instances/oboat/journal`) > 100);
    }),
);

Deno.test("SQL finds what is in whole recordings", {
  ...needs({
    permissions: ["env", "net", "read", "run", "sys", "write"],
    extras: { "VBG_TEST_RECORDINGS, a directory with whole recordings": WHOLE !== undefined },
  }),
}, () =>
  inFolder(async (folder) => {
    for (const { name } of Deno.readDirSync(WHOLE ?? "")) {
      const out = `${folder}/${name}.lpj`;
      const { code, err } = await runCommand(["convert", `${WHOLE}/${name}`, "-out", out]);
      assert.equal(code, 0, err);
      assert.ok(await compare(out) > 0, name);
    }
  }));
