import { silentLogger } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import { Assembler } from "../../src/can/mod.ts";
import {
  BlockBuilder,
  type BlockDevice,
  epochWordOf,
  JournalFile,
  JournalIndex,
  nextFileName,
} from "../../src/journal/mod.ts";
import { DEFAULT_SERIES_PGNS, SeriesRollup } from "../../src/series/mod.ts";
import { SimulatedBoat, type SimulatedDevice } from "../../src/simulator/mod.ts";
import { report } from "./figure.ts";
import { sleep, startProcess } from "./process.ts";

const START_US = Date.UTC(2026, 0, 1) * 1000;
const HOUR_US = 3_600_000_000;
const EPOCH = new Uint8Array(16).fill(9);
const ROUNDS = 5;
const FIELDS = ["128267.depth", "130306.wind_speed", "127250.heading"];

/** A message of the simulated boat. */
interface Said {
  id: number;
  timeUs: number;
  data: Uint8Array;
}

function simulateHour(): { said: Said[]; devices: () => BlockDevice[] } {
  const said: Said[] = [];
  const assembler = new Assembler(({ id, timeUs, data, offset, length }) => {
    said.push({ id, timeUs, data: data.slice(offset, offset + length) });
  });
  const boat: SimulatedBoat = new SimulatedBoat({
    clock: { wallUs: () => START_US, monoMs: () => 0 },
    send: (id, data) => {
      const timeUs = Math.round(boat.nowMs * 1000);
      assembler.push({ id, timeUs: START_US + timeUs, monoMs: boat.nowMs, data, offset: 0, length: data.length });
    },
  });
  boat.advance(3_600_000);
  return {
    said: said.filter(({ timeUs }) => timeUs < START_US + HOUR_US),
    devices: () => boat.devices.map(blockDevice),
  };
}

function blockDevice({ name, address = 0, spec: { product } }: SimulatedDevice): BlockDevice {
  const texts = { modelId: String(product.model_id), softwareVersion: "", modelVersion: "", modelSerial: "" };
  return { bus: 0, src: address, name, activeFrom: 0, productCode: Number(product.product_code), ...texts };
}

/** Writes the same hour of the simulated boat again and again, a file an hour. Returns the bytes of all files. */
async function writeHours(directory: string, hours: number): Promise<number> {
  const { said, devices } = simulateHour();
  const builder = new BlockBuilder();
  const metadata = { buses: ["can0"], epoch: EPOCH };
  let [seq, bytes, newest] = [1, 0, undefined as string | undefined];
  for (let hour = 0; hour < hours; hour++) {
    const timeUs = START_US + hour * HOUR_US;
    const name = newest = nextFileName("nmea2k", { timeUs, after: newest, isTaken: () => false });
    const file = await JournalFile.create({
      path: `${directory}/${name}`,
      ...{ directory, blockBytes: builder.blockBytes, compression: "zstd", epochWord: epochWordOf(EPOCH) },
    });
    builder.begin({ devices: devices(), metadata });
    for (const { id, timeUs, data } of said) {
      const frame = { id, bus: 0, timeUs: timeUs + hour * HOUR_US, data, offset: 0, length: data.length };
      if (builder.append(seq, frame) !== "added") {
        await file.append(builder.seal(epochWordOf(EPOCH)));
        builder.begin({ devices: devices(), metadata });
        builder.append(seq, frame);
      }
      seq++;
    }
    await file.append(builder.seal(epochWordOf(EPOCH)));
    await file.end();
    bytes += Deno.statSync(`${directory}/${name}`).size;
  }
  report({ name: "series, messages recorded", value: seq / hours / 3600, unit: "messages/s" });
  return bytes;
}

async function ask(url: string): Promise<number> {
  const startMs = performance.now();
  const reply = await fetch(url);
  const text = await reply.text();
  if (!reply.ok || text.length < 10_000) throw new Error(`${reply.status} ${text.slice(0, 300)}`);
  return performance.now() - startMs;
}

/**
 * Size of the sidecars, time to make them, and series of the whole time, in a process that has just started and again.
 *
 * @param days length of the journal
 */
export async function seriesBench({ days }: { days: number }): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const what = days === 1 ? "a day" : `${days} days`;
  try {
    const bytes = await writeHours(directory, days * 24);
    const index = await JournalIndex.open(directory, { log: silentLogger });
    const decoder = new Decoder();
    const made = { index, pgns: DEFAULT_SERIES_PGNS, buses: ["can0"], decoder, log: silentLogger, restMs: 0 };
    const startMs = performance.now();
    const rollup = new SeriesRollup(made);
    await rollup.caughtUp();
    const seconds = (performance.now() - startMs) / 1000;
    await rollup.stop();
    if (rollup.failures > 0) throw new Error(rollup.fault);
    const sidecars = [...Deno.readDirSync(directory)].filter(({ name }) => name.endsWith(".lpr"))
      .reduce((sum, { name }) => sum + Deno.statSync(`${directory}/${name}`).size, 0);
    report({ name: `series, journal of ${what}`, value: bytes / 1e6, unit: "MB" });
    report({
      name: `series, sidecars of ${what}`,
      value: 100 * sidecars / bytes,
      unit: "% of the journal",
      bar: "<= 5",
    });
    report({ name: "series, making the sidecars of an hour", value: 1000 * seconds / days / 24, unit: "ms" });
    // The ends are in the middle of a minute.
    const from = new Date(START_US / 1000 + 12_345).toISOString();
    const to = new Date((START_US + days * 24 * HOUR_US) / 1000 - 23_456).toISOString();
    const points = days === 1 ? 1440 : 1000;
    const server = await startProcess("./series_server.ts", [directory]);
    try {
      const base = `http://127.0.0.1:${server.line}/series?from=${from}&to=${to}&points=${points}`;
      const bar = days === 1 ? "< 200" : "< 1000";
      const cold = await ask(`${base}&field=${FIELDS[0]}`);
      report({ name: `series, one field of ${what}, cold`, value: cold, unit: "ms", bar });
      await sleep(500);
      const warm = async (fields: readonly string[]) => {
        const times = [];
        for (let i = 0; i < ROUNDS; i++) times.push(await ask(base + fields.map((each) => `&field=${each}`).join("")));
        return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN;
      };
      report({ name: `series, one field of ${what}, warm`, value: await warm(FIELDS.slice(0, 1)), unit: "ms", bar });
      report({ name: `series, three fields of ${what}, warm`, value: await warm(FIELDS), unit: "ms", bar });
    } finally {
      await server.stop();
    }
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
