import assert from "node:assert/strict";
import { formatName } from "../../src/frame/mod.ts";
import type { BlockDevice } from "../../src/journal/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { inFolder } from "../support/folder.ts";
import { journalFiles, makeWriter } from "../support/journal_run.ts";
import { claim, message, START_US } from "../support/messages.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { needs } from "../support/needs.ts";
import { rowsOf, runQuery } from "../support/query.ts";
import { taskArgs } from "../support/task.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const [NAME_A, NAME_B] = [0xc0508c00e7c00001n, 0xc050a000e7e00002n];
const DEVICE = { productCode: 7, softwareVersion: "1", modelVersion: "2", modelSerial: "3", activeFrom: 0 };
const WEATHER: BlockDevice = { ...DEVICE, bus: 1, src: 5, name: NAME_B, modelId: "Weather station" };

type Writer = ReturnType<typeof makeWriter>["writer"];

/** A claim runs with the files of a folder. */
function test(claim: string, run: (folder: string) => Promise<void>): void {
  Deno.test(`vbg query: ${claim}`, RUN, () => inFolder(run));
}

/** Appends wind: every number a second after the one before. */
function wind(
  writer: Writer,
  seq: number,
  { bus = 0, speed = 5, ...values }: { bus?: number; speed?: number | null } = {},
) {
  const fields = { sid: 1, wind_speed: speed, wind_angle: 1.5, wind_reference: "apparent", ...values };
  writer.append(seq, message({ pgn: 130306, src: 5, bus, timeUs: timeUs(seq), data: encode(130306, fields) }));
}

const timeUs = (seq: number) => START_US + seq * 1_000_000;
const timeText = (seq: number) => new Date(timeUs(seq) / 1000).toISOString();
/** As DuckDB shows a time of whole seconds. */
const shown = (seq: number) => timeText(seq).replace("T", " ").replace(".000Z", "");

test("messages of two buses have their sender, NULLs, and what is still in the write-ahead log", async (folder) => {
  const { writer } = makeWriter(folder, { devices: () => [WEATHER] });
  wind(writer, 1, { speed: null });
  writer.append(2, claim(NAME_A, { src: 5, timeUs: timeUs(2) }));
  wind(writer, 3, { speed: 5.25 });
  await writer.rotate();
  wind(writer, 4, { bus: 1, speed: 0 });
  writer.append(5, message({ pgn: 130000, src: 9, timeUs: timeUs(5), data: [1, 2, 0xff] }));
  await writer.sync();
  const fields = { sid: 1, wind_angle: 1.5, wind_reference: "apparent" };
  const common = { source: 5, ...fields };
  const winds = await rowsOf("FROM wind_data ORDER BY seq", folder);
  assert.deepEqual(winds.map(({ data: _, ...row }) => row), [
    { ...common, time: shown(1), bus: "can0", name: null, model: null, seq: 1, wind_speed: null },
    { ...common, time: shown(3), bus: "can0", name: formatName(NAME_A), model: null, seq: 3, wind_speed: 5.25 },
    {
      ...common,
      time: shown(4),
      bus: "can1",
      name: formatName(NAME_B),
      model: "Weather station",
      seq: 4,
      wind_speed: 0,
    },
  ]);
  assert.equal(winds[1]?.data, encode(130306, { ...fields, wind_speed: 5.25 }).toHex());
  assert.deepEqual(await rowsOf("SELECT seq, data FROM pgn_130000", folder), [{ seq: 5, data: "0102ff" }]);
  const times = { first_seen: shown(5), last_seen: shown(5) };
  assert.deepEqual(await rowsOf("FROM devices ORDER BY bus, source, messages", folder), [
    {
      bus: "can0",
      source: 5,
      name: null,
      manufacturer: null,
      model: null,
      first_seen: shown(1),
      last_seen: shown(1),
      messages: 1,
    },
    {
      ...{ bus: "can0", source: 5, name: formatName(NAME_A), manufacturer: "Northstar Technologies", model: null },
      ...{ first_seen: shown(2), last_seen: shown(3), messages: 2 },
    },
    { bus: "can0", source: 9, name: null, manufacturer: null, model: null, ...times, messages: 1 },
    {
      ...{ bus: "can1", source: 5, name: formatName(NAME_B), manufacturer: "Furuno", model: "Weather station" },
      ...{ first_seen: shown(4), last_seen: shown(4), messages: 1 },
    },
  ]);
  assert.deepEqual(await rowsOf("FROM gaps", folder), []);
  await writer.close();
});

test("gaps have the reasons of the journal, epochs a column, and no number counts twice", async (folder) => {
  const [one, two] = [1, 2].map((byte) => new Uint8Array(16).fill(byte));
  const first = makeWriter(folder, { epoch: one! }).writer;
  for (const seq of [1, 2, 6, 7]) wind(first, seq);
  await first.close();
  const second = makeWriter(folder, { epoch: one!, gap: { firstMissing: 8, reason: "restart" } }).writer;
  for (const seq of [10, 11]) wind(second, seq);
  await second.close();
  // The same frames in another file, as after a recovery, and a loss that nothing explains.
  const again = makeWriter(folder, { epoch: one!, prefix: "again" }).writer;
  for (const seq of [10, 11]) wind(again, seq);
  await again.close();
  const other = makeWriter(folder, { epoch: two!, prefix: "other" }).writer;
  wind(other, 20);
  await other.close();
  const late = makeWriter(folder, { epoch: two!, prefix: "late" }).writer;
  wind(late, 25);
  await late.close();
  const [a, b] = ["01".repeat(16), "02".repeat(16)];
  assert.deepEqual(await rowsOf("FROM gaps ORDER BY epoch, from_seq", folder), [
    { epoch: a, from_seq: 3, to_seq: 5, from_time: shown(2), to_time: shown(6), reason: "source" },
    { epoch: a, from_seq: 8, to_seq: 9, from_time: shown(7), to_time: shown(10), reason: "restart" },
    { epoch: b, from_seq: 21, to_seq: 24, from_time: shown(20), to_time: shown(25), reason: null },
  ]);
  const numbers = await rowsOf(
    "SELECT epoch, list(seq ORDER BY seq) AS seqs FROM wind_data GROUP BY 1 ORDER BY 1",
    folder,
  );
  assert.deepEqual(numbers, [{ epoch: a, seqs: [1, 2, 6, 7, 10, 11] }, { epoch: b, seqs: [20, 25] }]);
  const [file = ""] = journalFiles(folder);
  assert.ok(!("epoch" in (await rowsOf("FROM wind_data LIMIT 1", `${folder}/${file}`))[0]!), "one epoch has no column");
});

test("-from and -to are inclusive, wherever blocks end", async (folder) => {
  const { writer } = makeWriter(folder);
  const last = 1500;
  for (let seq = 1; seq <= last; seq++) wind(writer, seq);
  await writer.close();
  const { out } = await runQuery(["-tables", folder, "-format", "json"]);
  assert.equal(JSON.parse(out.split("\n")[0]!).messages, last);
  const { blocks } = readLpj(Deno.readFileSync(`${folder}/${journalFiles(folder)[0]}`));
  const edge = Number(blocks[2]!.baseSeq);
  assert.ok(blocks.length > 4);
  for (const [from, to] of [[edge, edge], [edge - 1, edge], [edge + 1, last + 5], [1, edge - 1]] as const) {
    const rows = await rowsOf(
      "SELECT min(seq) a, max(seq) b, count(*) n, (SELECT sum(messages) FROM devices) sent FROM wind_data",
      ...[folder, "-from", timeText(from), "-to", timeText(to)],
    );
    const end = Math.min(to, last);
    assert.deepEqual(rows, [{ a: from, b: end, n: end - from + 1, sent: end - from + 1 }]);
  }
  const none = await runQuery(["FROM wind_data", folder, "-to", "2020-01-01T00:00:00Z"]);
  assert.match(
    none.err,
    /^vbg query: Cannot read wind_data: the recording has no message of PGN 130306 in this time\n$/,
  );
});

test("times are UTC in any time zone of the machine, also beside now() and times with a zone", async (folder) => {
  const { writer } = makeWriter(folder);
  const nowUs = Date.now() * 1000;
  writer.append(1, message({ pgn: 130000, src: 5, timeUs: nowUs, data: [1] }));
  await writer.close();
  assert.equal((await runQuery(["SELECT 1", folder])).code, 0, "DuckDB is installed");
  const sql =
    `SELECT abs(epoch(now()) - epoch(time::TIMESTAMPTZ)) < 1800 AS near, time > now() - INTERVAL 30 MINUTE AS new,
    time < now() + INTERVAL 30 MINUTE AS past, TIMESTAMPTZ '2026-07-01 12:00:00Z'::VARCHAR AS shown FROM pgn_130000`;
  for (const TZ of ["America/New_York", "Asia/Kolkata"]) {
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: taskArgs("cli", "query", sql, folder, "-format", "json"),
      env: { TZ },
    }).output();
    const row = { near: true, new: true, past: true, shown: "2026-07-01 12:00:00+00" };
    assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), row, TZ);
  }
});

test("a damaged block is skipped and reported, and the rest is there", async (folder) => {
  const { writer } = makeWriter(folder, { compression: "none" });
  for (let seq = 1; seq <= 600; seq++) wind(writer, seq);
  await writer.close();
  const path = `${folder}/${journalFiles(folder)[0]}`;
  const bytes = Deno.readFileSync(path);
  bytes[16 + 4096 + 300]! ^= 1;
  Deno.writeFileSync(path, bytes);
  const before = Deno.statSync(path).mtime;
  const { code, out, err } = await runQuery([
    "SELECT (SELECT count(*) FROM wind_data) AS n, (SELECT sum(to_seq - from_seq + 1) FROM gaps) AS missing",
    folder,
  ]);
  assert.equal(code, 0);
  assert.equal(err, `vbg query: "${path}": damaged block at byte 4112 skipped: The block's checksum is wrong\n`);
  const [rows = 0, missing = 0] = out.split("\n")[1]!.split(",").map(Number);
  assert.ok(missing > 0);
  assert.equal(rows + missing, 600);
  assert.deepEqual([journalFiles(folder).length, Deno.statSync(path).mtime], [1, before], "nothing is changed");
});
