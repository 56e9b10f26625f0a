import { silentLogger } from "../../src/base/mod.ts";
import {
  type BlockMetadata,
  BlockReader,
  JOURNAL_EXTENSION,
  openJournalDirectory,
  SIGNATURE_EXTENSION,
  STATEMENT_EXTENSION,
} from "../../src/journal/mod.ts";
import { encodeMetadata } from "../../src/journal/block/metadata.ts";
import { report } from "./figure.ts";
import { type BenchProcess, cpuMs, rssMb, sleep, startProcess } from "./process.ts";

const RATE = 2000;
/** The ledger cannot be turned off. */
const SERVERS = { "without": "", "with the doctor": "doctor", "with all": "doctor,blackbox,sources,evidence" };
type ServerName = keyof typeof SERVERS;
const NAMES: readonly ServerName[] = ["without", "with the doctor", "with all"];
/** Each has processes of its own: no two of the same program are laid out alike. */
const ROUNDS = 2;
/** Until then the alert about the load of the bus has its file of the black box. */
const WARM_UP_MS = 75_000;
/** The black box writes a minute after the event, which is at the beginning. */
const MEASURE_MS = 58_000;
const EVENT_MS = 6000;
const HOUR_MS = 3_600_000;

/** What a server has used and written, by the name of the figure. */
type Use = Readonly<Record<keyof typeof UNITS, number>>;
/** The units, and which figures a server without the parts has as well. */
const UNITS = {
  "CPU": { unit: "% of a core", isCommon: true },
  "RSS": { unit: "MB", isCommon: true },
  "memory in use": { unit: "MB", isCommon: true },
  "journal growth": { unit: "kB/h", isCommon: true },
  "ledger in blocks, before compression": { unit: "kB/h", isCommon: false },
  "evidence, each file": { unit: "bytes", isCommon: false },
  "source history": { unit: "bytes", isCommon: false },
  "source history, growth": { unit: "bytes/h", isCommon: false },
  "doctor's memory on disk": { unit: "bytes", isCommon: false },
  "black box, each event": { unit: "kB", isCommon: false },
  "CPU while the black box writes an event": { unit: "ms", isCommon: false },
} as const;

/** A server that runs. */
interface Running {
  name: ServerName;
  process: BenchProcess;
  directory: string;
}

/** What network doctor, black box, source history, ledger and evidence take of a server: beside the same server without. */
export async function doctorServerBench(): Promise<void> {
  const rounds: ReadonlyMap<ServerName, Use>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await measure([...NAMES.slice(round), ...NAMES.slice(0, round)]));
  }
  const mean = (name: ServerName, figure: keyof Use) =>
    rounds.reduce((sum, round) => sum + (round.get(name)?.[figure] ?? NaN), 0) / ROUNDS;
  const working: readonly (keyof Use)[] = [
    "evidence, each file",
    "source history",
    "doctor's memory on disk",
    "black box, each event",
  ];
  const idle = working.filter((figure) => !(mean("with all", figure) > 0));
  if (idle.length > 0) throw new Error(`Cannot measure: nothing was written of ${idle.join("; ")}`);
  for (const [figure, { unit, isCommon }] of Object.entries(UNITS) as [keyof Use, typeof UNITS[keyof Use]][]) {
    const name = `${RATE} frames/s recorded`;
    const without = mean("without", figure);
    if (!isCommon) {
      report({ name: `${name}, ${figure}`, value: mean("with all", figure), unit });
      continue;
    }
    report({ name: `${name}, ${figure}: server without`, value: without, unit });
    for (const other of NAMES.slice(1)) {
      const bar = figure === "CPU" ? { bar: "<= 2" } : {};
      report({
        name: `${name}, ${figure}: server ${other}, beyond`,
        value: mean(other, figure) - without,
        unit,
        ...bar,
      });
    }
  }
}

/** One round, with all servers at the same time: what else the machine does concerns each of them. */
async function measure(names: readonly ServerName[]): Promise<ReadonlyMap<ServerName, Use>> {
  const root = await Deno.makeTempDir({ prefix: "vbg_bench_" });
  const servers: Running[] = [];
  try {
    for (const name of names) {
      const directory = `${root}/${name}`;
      const process = await startProcess("doctor_server.ts", [directory, String(RATE), SERVERS[name]]);
      servers.push({ name, process, directory });
    }
    await sleep(WARM_UP_MS);
    const before = await Promise.all(servers.map(sourcesBytes));
    const startMs = performance.now();
    const cpu = () => servers.map(({ process: { pid } }) => cpuMs(pid));
    const cpuBefore = cpu();
    await Promise.all(servers.map(mark));
    await sleep(MEASURE_MS);
    const spentMs = performance.now() - startMs;
    const cpuAfter = cpu();
    await sleep(EVENT_MS);
    const cpuAtEnd = cpu();
    const after = await Promise.all(servers.map(sourcesBytes));
    const rss = servers.map(({ process: { pid } }) => rssMb(pid));
    await Promise.all(servers.map(({ process }) => process.stop("SIGTERM")));
    const eventMs = (index: number) => (cpuAtEnd[index] ?? NaN) - (cpuAfter[index] ?? NaN);
    const usual = servers.findIndex(({ name }) => name === "without");
    return new Map(
      await Promise.all(servers.map(async ({ name, directory }, index): Promise<[ServerName, Use]> => {
        const grown = (after[index] ?? NaN) - (before[index] ?? NaN);
        return [name, {
          "CPU": ((cpuAfter[index] ?? NaN) - (cpuBefore[index] ?? NaN)) / spentMs * 100,
          "RSS": rss[index] ?? NaN,
          "memory in use": Number(await Deno.readTextFile(`${directory}/memory`)) / 1e6,
          "source history": after[index] ?? NaN,
          "source history, growth": grown / (spentMs + EVENT_MS) * HOUR_MS,
          "CPU while the black box writes an event": eventMs(index) - eventMs(usual),
          ...await diskOf(directory),
        }];
      })),
    );
  } finally {
    await Promise.allSettled(servers.map(({ process }) => process.stop()));
    await Deno.remove(root, { recursive: true });
  }
}

/** Sets a mark; one without a black box refuses it. */
async function mark({ name, process: { line: port } }: Running): Promise<void> {
  const headers = { "content-type": "application/json" };
  const { status, body } = await fetch(`http://127.0.0.1:${port}/mark`, { method: "POST", headers, body: "{}" });
  await body?.cancel();
  if ((status === 202) !== (name === "with all")) {
    throw new Error(`Cannot measure: server "${name}" answers a mark with ${status}`);
  }
}

/** Size of the log of the source history, with all changes until now. */
async function sourcesBytes({ process: { line: port }, directory }: Running): Promise<number> {
  await (await fetch(`http://127.0.0.1:${port}/sources/history`)).text();
  return sizesOf(`${directory}/state`).get("sources.log") ?? 0;
}

type Disk = Pick<
  Use,
  | "journal growth"
  | "ledger in blocks, before compression"
  | "evidence, each file"
  | "doctor's memory on disk"
  | "black box, each event"
>;

async function diskOf(directory: string): Promise<Disk> {
  const journal = `${directory}/journal`;
  const { files } = await openJournalDirectory(journal, { log: silentLogger });
  using reader = new BlockReader();
  let [frames, ledger] = [0, 0];
  for (const { path, blocks } of files) {
    for (const block of blocks) {
      const { metadata } = await reader.read(path, block);
      ledger += encodeMetadata(metadata).length - encodeMetadata(withoutLedger(metadata)).length;
      frames = Math.max(frames, metadata.end?.counts[0]?.received ?? 0);
    }
  }
  const hours = frames / RATE * 1000 / HOUR_MS;
  const sizes = sizesOf(journal);
  const boxes = [...sizesOf(`${journal}/blackbox`)].filter(([name]) => /^mark-.*\.lpj$/.test(name));
  return {
    "journal growth": sum(sizes, JOURNAL_EXTENSION) / hours / 1000,
    "ledger in blocks, before compression": ledger / hours / 1000,
    "evidence, each file": (sum(sizes, STATEMENT_EXTENSION) + sum(sizes, SIGNATURE_EXTENSION)) / files.length,
    "doctor's memory on disk": sizesOf(`${directory}/state`).get("doctor.json") ?? 0,
    "black box, each event": boxes.reduce((bytes, [, size]) => bytes + size, 0) / 1000,
  };
}

/** Metadata without what the ledger has added. */
function withoutLedger({ end: _end, counts = [], boot, ...metadata }: BlockMetadata): BlockMetadata {
  const clocks = boot && { boot: { bootId: boot.bootId, monoMs: boot.monoMs, timeUs: boot.timeUs, clock: boot.clock } };
  return { ...metadata, ...clocks, counts: counts.map(({ fates: _fates, ...others }) => others) };
}

/** Sizes of the files in a directory, by name; none if it does not exist. */
function sizesOf(directory: string): Map<string, number> {
  try {
    const files = [...Deno.readDirSync(directory)].filter(({ isFile }) => isFile);
    return new Map(files.map(({ name }) => [name, Deno.statSync(`${directory}/${name}`).size]));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Map();
    throw error;
  }
}

function sum(sizes: ReadonlyMap<string, number>, extension: string): number {
  return [...sizes].reduce((bytes, [name, size]) => name.endsWith(extension) ? bytes + size : bytes, 0);
}
