import assert from "node:assert/strict";
import { EXPORT_FORMATS, MESSAGES, type MessageWriter, PgnFiles } from "../../src/export/mod.ts";
import { newStoredFrame, type StoredFrame } from "../../src/frame/mod.ts";
import { needs } from "../support/needs.ts";
import { parseParquet } from "../support/parquet.ts";

const PACKAGE = needs({ permissions: ["read", "env"] });
const ORIGINS = { busName: () => "", nameOf: () => undefined };
/** PGNs from this one on have no definitions. */
const UNKNOWN = 65_472;
/** Columns of a table without fields. */
const COLUMNS = 9;

/** A message whose number says everything of it. */
function frameOf(seq: number, pgn = UNKNOWN): StoredFrame {
  const data = Uint8Array.of(seq & 0xff, (seq >> 8) & 0xff);
  return { ...newStoredFrame(), seq, pgn, timeUs: seq * 1_000_003, data, length: 2 };
}

/** The whole file. */
function fileOf(writer: MessageWriter): Uint8Array<ArrayBuffer> {
  const parts = [writer.take().slice(), ...writer.end()];
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

Deno.test("a file of any number of row groups describes each of them", PACKAGE, async () => {
  const begin = await EXPORT_FORMATS.parquet.load();
  // 15 groups and more need another kind of list; of 512 each the descriptions are compressed.
  for (const groups of [0, 1, 14, 15, 513]) {
    const writer = begin(ORIGINS, MESSAGES);
    for (let seq = 1; seq <= 2 * groups; seq++) {
      writer.add(frameOf(seq));
      if (seq % 2 === 0) writer.settle();
    }
    const file = await parseParquet(fileOf(writer));
    assert.deepEqual(file.groups, Array(groups).fill(2));
    const rows = Array.from({ length: 2 * groups }, (_, i) => [BigInt((i + 1) * 1_000_003), BigInt(i + 1)]);
    assert.deepEqual(file.rows.map((row) => [row[0], row[7]]), rows, `${groups} row groups`);
  }
});

Deno.test(
  "row groups have 8192 rows, and the last one the rest; nulls and numbers beyond 32 bits come through",
  PACKAGE,
  async () => {
    const writer = (await EXPORT_FORMATS.parquet.load())(ORIGINS, MESSAGES);
    const seqs = Array.from({ length: 20_000 }, (_, i) => i % 7 === 3 ? 0 : 2 ** 33 + i);
    for (const seq of seqs) assert.ok(writer.add(frameOf(seq)));
    assert.equal(writer.waitingValues, (20_000 - 2 * 8192) * COLUMNS);
    const { groups, rows } = await parseParquet(fileOf(writer));
    assert.deepEqual(groups, [8192, 8192, 20_000 - 2 * 8192]);
    assert.deepEqual(rows.map((row) => row[7]), seqs.map((seq) => seq === 0 ? null : BigInt(seq)));
  },
);

Deno.test("values that wait in many files are written before they take much memory", PACKAGE, async () => {
  const maxWaitingValues = 200_000;
  const files = new PgnFiles(await EXPORT_FORMATS.parquet.load(), { origins: ORIGINS, maxWaitingValues });
  let most = 0;
  for (let seq = 1; seq <= 60_000; seq++) {
    files.add(frameOf(seq, UNKNOWN + seq % 30));
    if (seq % 1000 !== 0) continue;
    most = Math.max(most, [...files.all].reduce((sum, { writer }) => sum + writer.waitingValues, 0));
  }
  assert.ok(most > maxWaitingValues / 2 && most <= maxWaitingValues + 8192 * COLUMNS, `${most}`);
  for (const { writer, messages } of files.all) {
    assert.equal(messages, 2000);
    assert.equal((await parseParquet(fileOf(writer))).rows.length, 2000);
  }
});
