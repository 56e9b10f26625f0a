// What a boat's retention does with files that the cloud has not stored: it keeps them while there is room, and says
// exactly what it had to delete.
import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import type { RecordingOptions } from "../../src/feed/recording.ts";
import type { Health } from "../../src/http/mod.ts";
import { LOST_UNSTORED, type Range, type ReplicationStatus } from "../../src/replication/mod.ts";
import { BOAT, CloudFixture, framesIn } from "../cloud/cloud_fixture.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { readFile } from "../support/journal_files.ts";
import { journalFiles } from "../support/journal_run.ts";
import { needs, SLOW } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const PERMISSIONS = ["net", "read", "write", "env", "sys"] as const;
const CLOUD = needs({ permissions: [...PERMISSIONS] });
const SLOW_CLOUD = needs({ permissions: [...PERMISSIONS], extras: SLOW });
/** Files of one block, and every complete file is too old at the next look. */
const SMALL = { blockBytes: 4096, rotateBytes: 2000, syncIntervalMs: 50, checkIntervalMs: 20 } as const;
const TOO_OLD = { maxAgeMs: 1, softPercent: 80, overflow: "delete-unarchived", archive: "off" } as const;

/** A boat that records and replicates, a cloud whose store is told by the test, and what was said on the bus. */
class Pair implements AsyncDisposable {
  readonly journal: string;
  /** Lines of all runs of the boat. */
  readonly lines: string[] = [];
  readonly #folder: string;
  /** Of the next start. */
  options: Partial<RecordingOptions>;
  /** What is not random takes no space. */
  readonly #random = new Random(7);
  #boat: TestBoat | undefined;
  #cloud: CloudFixture | undefined;
  /** Where the cloud was. */
  #awayPort = 0;
  /** Frames that were said. */
  said = 0;

  constructor(folder: string, journal: Partial<RecordingOptions> = {}) {
    this.#folder = folder;
    this.journal = `${folder}/journal`;
    this.options = journal;
  }

  get boat(): TestBoat {
    assert.ok(this.#boat);
    return this.#boat;
  }

  get cloud(): CloudFixture {
    assert.ok(this.#cloud);
    return this.#cloud;
  }

  /** @param stored what the cloud says of its store; undefined: it has none */
  async startCloud(stored: () => number | undefined): Promise<void> {
    this.#cloud = await CloudFixture.start(`${this.#folder}/cloud`);
    (await this.#cloud.instances.ensure(BOAT)).record.storedThrough = stored;
  }

  async stopCloud(): Promise<void> {
    this.#awayPort = this.cloud.server.port;
    const cloud = this.#cloud;
    this.#cloud = undefined;
    await cloud?.[Symbol.asyncDispose]();
  }

  /** The boat's numbers begin again at its next start. */
  async loseNumbers(): Promise<void> {
    await Deno.remove(`${this.#folder}/state/head.json`);
    this.said = 0;
  }

  /** All frames in the cloud's files, of all epochs. */
  async framesInCloud(): Promise<number> {
    return (await framesIn(`${this.#folder}/cloud/${BOAT}`)).length;
  }

  async startBoat(): Promise<void> {
    const port = this.#cloud?.server.port ?? this.#awayPort;
    const stateDirectory = `${this.#folder}/state`;
    for (const each of [stateDirectory, this.journal]) await Deno.mkdir(each, { recursive: true });
    this.#boat = await TestBoat.start({
      replication: { target: `127.0.0.1:${port}`, instanceId: BOAT, insecure: true },
      journal: { directory: this.journal, stateDirectory, ...SMALL, retention: TOO_OLD, ...this.options },
      stateDirectory,
      log: new Logger({ write: (line) => this.lines.push(line) }),
    });
  }

  async stopBoat(): Promise<void> {
    const boat = this.#boat;
    this.#boat = undefined;
    await boat?.[Symbol.asyncDispose]();
  }

  /** Says frames, and waits until a power cut takes none of them. */
  async say(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.said++;
      this.boat.say({ data: this.#random.bytes(8) });
      if (i % 100 === 99) await this.#recorded();
    }
    await this.#recorded();
  }

  #recorded(): Promise<boolean> {
    return eventually(
      "the frames on disk",
      async () => await this.boat.metric("vbg_journal_durable_seq") === this.said,
    );
  }

  /** Waits until the cloud has all frames that the boat has, and the boat knows it. */
  async acknowledged(): Promise<ReplicationStatus> {
    return await eventually("the acknowledgement", async () => {
      const status = await this.boat.get<ReplicationStatus>("/replication/status");
      return status.cloud_durable_seq === this.said && status;
    });
  }

  /** Names of the complete files: they end with an index. */
  get files(): string[] {
    return journalFiles(this.journal).filter((file) => {
      try {
        return readFile(Deno.readFileSync(`${this.journal}/${file}`)).offsets !== undefined;
      } catch {
        // It is being written, or was deleted.
        return false;
      }
    });
  }

  /** Waits until the boat keeps so many files for the cloud. */
  async kept(count: number): Promise<void> {
    await eventually(`${count} kept files`, async () => await this.boat.metric("vbg_journal_kept_files") === count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopBoat();
    if (this.#cloud) await this.stopCloud();
  }
}

function seqsOf({ journal }: Pair, file: string): number[] {
  return readFile(Deno.readFileSync(`${journal}/${file}`)).blocks.flatMap(({ baseSeq = 0, frameCount }) =>
    Array.from({ length: frameCount }, (_, i) => baseSeq + i)
  );
}

function upTo(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}

function test(
  name: string,
  run: (pair: Pair) => Promise<void>,
  { needed = CLOUD, ...journal }: Partial<RecordingOptions> & { needed?: typeof CLOUD } = {},
): void {
  Deno.test({
    name,
    ...needed,
    fn: () =>
      inFolder(async (folder) => {
        await using pair = new Pair(folder, journal);
        await run(pair);
      }),
  });
}

test("files stay past their age while the store stands still, over a restart, and go exactly as it moves", async (pair) => {
  let stored = 0;
  await pair.startCloud(() => stored);
  await pair.startBoat();
  await pair.say(1000);
  assert.equal((await pair.acknowledged()).cloud_stored_seq, 0);
  const { files } = pair;
  assert.ok(files.length > 2, `${files.length} files`);
  await pair.kept(files.length);
  await pair.stopBoat();
  assert.deepEqual(pair.files.flatMap((file) => seqsOf(pair, file)), upTo(1000), "nothing is deleted");

  await pair.startBoat();
  await pair.say(300);
  await pair.acknowledged();
  const later = pair.files;
  await pair.kept(later.length);
  assert.deepEqual(later.flatMap((file) => seqsOf(pair, file)), upTo(seqsOf(pair, later.at(-1)!).at(-1)!));

  // All but one frame of the third file.
  const ends = later.map((file) => seqsOf(pair, file).at(-1)!);
  stored = ends[2]! - 1;
  await eventually("two deleted files", () => pair.files.length === later.length - 2);
  await pair.kept(later.length - 2);
  assert.deepEqual(pair.files, later.slice(2), "a file with one frame that is not stored stays");
  const status = await pair.boat.get<ReplicationStatus>("/replication/status");
  assert.deepEqual([status.cloud_stored_seq, status.cloud_durable_seq], [stored, 1300]);
  assert.equal(await pair.boat.metric("vbg_replication_stored_seq"), stored);

  stored = 1300;
  await eventually("all complete files to be deleted", () => pair.files.length === 0);
  await pair.kept(0);
  assert.equal(await pair.boat.metric("vbg_journal_deleted_unstored_frames_total"), 0);
  assert.deepEqual(pair.cloud.boat.summary().lost, []);
  assert.equal(pair.lines.filter((line) => line.includes("before the cloud stored it")).length, 0);
});

/** What the log says of the files that were deleted before they were stored. */
function deletedIn(lines: readonly string[]): { file: string; reason: string; frames: number; range: Range }[] {
  return lines.filter((line) => line.includes("journal file deleted before the cloud stored it")).map((line) => {
    const field = (name: string) => new RegExp(`\\b${name}=(\\S+)`).exec(line)?.[1] ?? "";
    const range = { start: Number(field("firstSeq")), end: Number(field("lastSeq")) + 1 };
    return { file: field("file"), reason: field("reason"), frames: Number(field("frames")), range };
  });
}

/** A cloud that is away until the boat has no more room. */
async function runOutOfRoom(pair: Pair, { reason }: { reason: string }): Promise<void> {
  let stored: number | undefined;
  await pair.startCloud(() => stored ?? pair.said);
  await pair.startBoat();
  await pair.say(300);
  await pair.acknowledged();
  await eventually("the store", async () => {
    const { cloud_stored_seq } = await pair.boat.get<ReplicationStatus>("/replication/status");
    return cloud_stored_seq === 300;
  });
  stored = 300;
  await pair.stopCloud();
  await pair.say(2000);
  const firstKept = () => seqsOf(pair, pair.files[0]!)[0]!;
  const count = await eventually("the count of what was deleted", async () => {
    const counted = await pair.boat.metric("vbg_journal_deleted_unstored_frames_total");
    const isEnough = await pair.boat.metric("vbg_journal_kept_files") === pair.files.length;
    return isEnough && counted === firstKept() - 301 && counted;
  });
  assert.ok(count > 500, `${count} frames are deleted`);
  const { components } = await pair.boat.get<Health>("/healthz");
  assert.equal(components.replication?.status, "degraded");
  assert.match(
    components.replication?.message ?? "",
    new RegExp(`${count} frames were deleted from the journal before`),
  );
  await pair.stopBoat();

  const lost = { start: 301, end: firstKept() };
  assert.deepEqual(
    pair.files.flatMap((file) => seqsOf(pair, file)),
    upTo(2300).slice(lost.end - 1),
    "the rest is there",
  );
  const deleted = deletedIn(pair.lines);
  assert.equal(new Set(deleted.map(({ file }) => file)).size, deleted.length, "once for each file");
  assert.ok(deleted.every((each) => each.reason === reason), JSON.stringify(deleted));
  let next = lost.start;
  for (const { frames, range } of deleted) {
    assert.deepEqual([range.start, range.end - range.start], [next, frames]);
    next = range.end;
  }
  assert.equal(next, lost.end);

  // The last block, written at the stop, must not cost another file.
  pair.options = {};
  await pair.startCloud(() => stored);
  await pair.startBoat();
  await pair.acknowledged();
  const { lost: told, holes, cursor } = pair.cloud.boat.summary();
  assert.deepEqual([told, holes, cursor], [[{ ...lost, reason: LOST_UNSTORED }], [], 2300]);
  assert.deepEqual((await pair.boat.get<ReplicationStatus>("/replication/status")).lost, told);
  stored = 2300;
  await eventually("health", async () => {
    return (await pair.boat.get<Health>("/healthz")).components.replication?.status === "ok";
  });
  await eventually("all files to be deleted", () => pair.files.length === 0);
  assert.equal(
    await pair.boat.metric("vbg_journal_deleted_unstored_frames_total"),
    0,
    "only what was not stored counts",
  );
  assert.deepEqual(pair.cloud.boat.summary().lost, told);
}

test(
  "at the size limit the oldest files go; what was not stored is logged, counted, and lost in the cloud, exactly",
  (pair) => runOutOfRoom(pair, { reason: "size" }),
  { retention: { ...TOO_OLD, maxBytes: 10_000 }, needed: SLOW_CLOUD },
);

const DISK_BYTES = 400_000;

Deno.test({
  name: "without a size limit the same happens when the disk is 90 % full",
  ...SLOW_CLOUD,
  fn: () =>
    inFolder(async (folder) => {
      const diskSpace = (directory: string) => {
        const used = journalFiles(directory).reduce((sum, file) => sum + Deno.statSync(`${directory}/${file}`).size, 0);
        return Promise.resolve({ freeBytes: DISK_BYTES / 10 + 10_000 - used, totalBytes: DISK_BYTES });
      };
      await using pair = new Pair(folder, { diskSpace });
      await runOutOfRoom(pair, { reason: "disk" });
    }),
});

test("files of a former epoch stay until the cloud has no holes of it", async (pair) => {
  await pair.startCloud(() => 100);
  await pair.startBoat();
  await pair.say(100);
  await pair.acknowledged();
  await pair.stopCloud();
  await pair.say(900);
  await pair.stopBoat();
  const former = pair.files;
  assert.ok(former.length > 2, `${former.length} files`);

  await pair.loseNumbers();
  await pair.startBoat();
  await pair.say(10);
  await pair.kept(former.length);
  assert.deepEqual(pair.files, former);
  await pair.stopBoat();
  const all = pair.files;

  await pair.startCloud(() => 0);
  await pair.startBoat();
  await pair.acknowledged();
  await eventually(
    "the files of the former epoch to be deleted",
    () => pair.files.length === all.length - former.length,
  );
  assert.deepEqual(pair.files, all.slice(former.length), "of the current one nothing is stored");
  assert.equal(await pair.boat.metric("vbg_journal_deleted_unstored_frames_total"), 0);
  const { formerEpochs, lost } = pair.cloud.boat.summary();
  assert.deepEqual([formerEpochs, lost], [[], []]);
  await pair.stopBoat();
  await pair.stopCloud();
  assert.equal(await pair.framesInCloud(), 1010);
});

/** Says frames while the cloud is away; gives back the files that the boat has then. */
async function filesOfOutage(pair: Pair, stored: () => number | undefined): Promise<readonly string[]> {
  await pair.startCloud(stored);
  await pair.startBoat();
  await pair.say(10);
  await pair.acknowledged();
  await pair.stopCloud();
  await pair.say(1000);
  // A look that begins now sees every complete file.
  await eventually("the retention", async () => {
    const files = pair.files.length;
    return files === 0 || await pair.boat.metric("vbg_journal_kept_files") === files;
  });
  return pair.files;
}

test("a cloud without a store changes nothing: files go at their age", async (pair) => {
  assert.deepEqual(await filesOfOutage(pair, () => undefined), []);
});

test(
  "with -journal-keep-unacknowledged files stay for a cloud without a store until it acknowledges them",
  async (pair) => {
    const files = await filesOfOutage(pair, () => undefined);
    assert.ok(files.length > 2, `${files.length} files`);
    await pair.stopBoat();
    await pair.startCloud(() => undefined);
    await pair.startBoat();
    assert.equal((await pair.acknowledged()).cloud_stored_seq, 1010);
    await eventually("all files to be deleted", () => pair.files.length === 0);
    assert.deepEqual(pair.cloud.boat.summary().lost, []);
    assert.equal(pair.cloud.boat.summary().cursor, 1010);
  },
  { keepUnacknowledged: true, needed: SLOW_CLOUD },
);

test("with -journal-keep-unacknowledged=false files go at their age, whatever the store has", async (pair) => {
  assert.deepEqual(await filesOfOutage(pair, () => 0), []);
}, { keepUnacknowledged: false });
