import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter, type Filter } from "../../src/filter/mod.ts";
import { buildName, type Frame, type Message, parseName } from "../../src/frame/mod.ts";
import { type BlockDevice, JournalIndex, NO_PRODUCT } from "../../src/journal/mod.ts";
import { FrameSource, Sessions } from "../../src/stream/mod.ts";
import { CommandRun } from "../cli/dump_run.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { claim, message, nameFields } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const FRAMES = 1500;
/** The second bus is no longer there when the journal is read. */
const [RECORDED_BUSES, BUSES] = [["can0", "old1"], ["can0"]];
/** NAMEs of devices; 0 is nobody's, though somebody claims it. */
const NAMES = [0n, 1n, 2n, 3n].map((number) =>
  number && buildName(nameFields({ manufacturerCode: 229 + Number(number % 2n), uniqueNumber: Number(number) }))
);

/** A frame with the NAME that held its address then. */
interface Fed {
  message: Message;
  name: bigint | undefined;
}

/** Writes a journal of several files in which addresses change hands, also with the first frame of a block. */
async function record(folder: string): Promise<Fed[]> {
  const random = new Random(5);
  const holders = new Map<string, BlockDevice>();
  await using journal = await TestJournal.open(folder, {
    buses: RECORDED_BUSES,
    devices: () => [...holders.values()],
  });
  const fed: Fed[] = [];
  for (let seq = 1; seq <= FRAMES; seq++) {
    const isNewFile = seq % 300 === 0;
    if (isNewFile) await journal.writer.rotate();
    const [bus, src] = [random.int(2), random.between(1, 6)];
    const key = `${bus} ${src}`;
    const name = isNewFile || random.chance(0.1) ? random.pick(NAMES) : undefined;
    const at = { bus, src, monoMs: seq };
    const each = name === undefined ? message({ ...at, pgn: random.pick([127250, 129025]) }) : claim(name, at);
    journal.append(seq, [each]);
    if (name) holders.set(key, { ...NO_PRODUCT, bus, src, name, activeFrom: 0 });
    fed.push({ message: each, name: holders.get(key)?.name });
  }
  return fed;
}

/** What a filter means, said in another way. */
function isWanted({ message: { pgn, bus }, name }: Fed, filter: Filter): boolean {
  const fields = name === undefined ? undefined : parseName(name);
  const hex = name?.toString(16);
  return (filter.pgn?.includes(pgn) ?? true) && (filter.bus?.includes(RECORDED_BUSES[bus]!) ?? true) &&
    (filter.manufacturer?.includes(`${fields?.manufacturerCode}`) ?? true) &&
    (filter.instance?.includes(fields?.deviceInstance ?? -1) ?? true) &&
    (filter.name?.includes(hex ?? "") ?? true) && !filter.exclude_name?.includes(hex ?? "");
}

async function byHistory(folder: string, filter: Filter): Promise<number[]> {
  const clock = new FakeClock();
  clock.advance(3_600_000);
  const index = await JournalIndex.open(folder, { log: silentLogger });
  const api = new TestApi({ index, clock, buses: BUSES });
  const query = Object.entries(filter).flatMap(([key, list]) => list.map((each: unknown) => `&${key}=${each}`)).join(
    "",
  );
  return (await api.get<Frame[]>(`/history?from=2026-01-02T03:04:05Z${query}`)).map(({ seq }) => seq);
}

async function bySession(folder: string, filter: Filter): Promise<number[]> {
  const broker = new Broker({ buses: BUSES, firstSeq: FRAMES + 1 });
  const archive = await JournalIndex.open(folder, { log: silentLogger });
  const sessions = await Sessions.open({
    source: new FrameSource(broker, { archive }),
    compile: (each) => compileFilter(each, { buses: BUSES, manufacturerCode: Number }),
    clock: new FakeClock(),
    log: silentLogger,
    limits: () => ({ maxSessions: 3, maxSessionsPerOwner: 10, maxTimeoutMs: 60_000 }),
    slots: [{ id: "a", filter, timeoutMs: 60_000 }],
    slotsFrom: 1,
  });
  const seqs: number[] = [];
  const stream = sessions.stream("a", { ended: () => {} });
  const reading = (async () => {
    while (await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 100 }) > 0);
  })();
  await eventually("the last frame", () => stream.readThrough >= FRAMES);
  await sessions.stop();
  await reading;
  return seqs;
}

async function byDump(folder: string, filter: Filter): Promise<number[]> {
  const flags = Object.entries(filter).flatMap(([key, list]) =>
    list.flatMap((each: unknown) => [`-${key.replace("_", "-")}`, `${each}`])
  );
  const { lines, complaints } = await CommandRun.end(["dump", folder, ...flags]);
  assert.equal(complaints, "");
  return lines.map((line) => JSON.parse(line).seq);
}

Deno.test(
  "a filter accepts the same recorded frames for history, sessions and dump, by the devices of the time",
  DISK,
  () =>
    inFolder(async (folder) => {
      const fed = await record(folder);
      const [some, other] = NAMES.slice(1).map((name) => name.toString(16));
      const filters: Filter[] = [
        {},
        { pgn: [127250] },
        { bus: ["can0"] },
        { manufacturer: ["229"] },
        { instance: [0] },
        { name: [some!] },
        { exclude_name: [some!, other!], pgn: [127250, 60928] },
      ];
      for (const filter of filters) {
        const expected = fed.flatMap((each, i) => isWanted(each, filter) ? [i + 1] : []);
        assert.ok(expected.length > 0);
        const what = JSON.stringify(filter);
        assert.deepEqual(await byHistory(folder, filter), expected, `history ${what}`);
        assert.deepEqual(await bySession(folder, filter), expected, `session ${what}`);
        assert.deepEqual(await byDump(folder, filter), expected, `dump ${what}`);
      }
    }),
);

Deno.test(
  "a device that claimed before the recording's second bus was heard keeps its NAME for the filter",
  DISK,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/two.log`;
      const name = NAMES[1]!;
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setBigUint64(0, name, true);
      const lines = [
        `can0 18EEFF07#${bytes.toHex()}`,
        "can1 09F11208#0102030405060708",
        "can0 09F11207#0102030405060708",
      ];
      await Deno.writeTextFile(path, lines.map((line, i) => `(1502984866.${i}21964) ${line}\n`).join(""));
      assert.deepEqual((await CommandRun.end(["dump", path, "-name", name.toString(16)])).lines.length, 2);
    }),
);
