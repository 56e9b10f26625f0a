// What a boat does that has no room left to record in: the frames go on to its clients, and what is missing is told.
import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import type { Health } from "../../src/http/mod.ts";
import { statIfExists } from "../../src/journal/file/journal_file.ts";
import type { RecordingOptions } from "../../src/feed/recording.ts";
import { ALL_OK, readLog, writeScript } from "../journal/retention/script.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { readJournal } from "../support/journal_run.ts";
import { fillDisk, mayMount, onSmallDisk } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";
import { range, seqs, SessionClient } from "../support/session.ts";
import type { SseClient } from "../support/sse_client.ts";

const PROCESSES = needs({ permissions: ["read", "write", "run", "net"], programs: ["sh", "cat", "chmod"] });
const MOUNTS = needs({ permissions: ["read", "write", "net"], extras: { "root who may mount": mayMount() } });
const ALWAYS = "/history?from=2000-01-01T00:00:00Z&limit=1000000";
/** Small blocks and little patience, so that few frames fill everything. */
const SMALL = { blockBytes: 4096, compression: "none", maxBacklogBytes: 16 * 4096, syncIntervalMs: 50 } as const;

const RING = 256;
/** What the files of a boat that pauses may take up. */
const MAX_BYTES = 50_000;

/** How a boat records, and how many frames it has heard in earlier runs. */
interface RecordingInit extends Partial<RecordingOptions> {
  said?: number;
}

/** A boat that records in a folder, and whoever looks at it. */
class Recording implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly boat: TestBoat;
  /** A client that sees every frame as it comes. */
  readonly live: SseClient;
  readonly session: SessionClient;
  #said = 0;

  private constructor(parts: { clock: FakeClock; boat: TestBoat; live: SseClient }) {
    this.clock = parts.clock;
    this.boat = parts.boat;
    this.live = parts.live;
    this.session = new SessionClient(this.boat.url);
  }

  static async start(directory: string, { said = 0, ...options }: RecordingInit = {}): Promise<Recording> {
    const clock = new FakeClock();
    const stateDirectory = `${directory}/state`;
    await Deno.mkdir(stateDirectory, { recursive: true });
    const journal = { directory, stateDirectory, checkIntervalMs: 10, ...SMALL, ...options };
    const boat = await TestBoat.start({ clock, journal, stateDirectory, ringFrames: RING });
    const recording = new Recording({ clock, boat, live: await boat.events() });
    recording.#said = said;
    await recording.session.put({ buffer_timeout: "P6D" });
    return recording;
  }

  /** Says frames with their number in them, and waits until the live client has them. */
  async say(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const seq = ++this.#said;
      this.boat.say({ data: [seq & 0xff, seq >> 8, seq >> 16, 0, 0, 0, 0, 0] });
      // Before the ring lets them go.
      if (i % RING === RING - 1) await this.#heard();
    }
    await this.#heard();
  }

  #heard(): Promise<boolean> {
    return eventually("the frames, live", () => this.live.frames.at(-1)?.seq === this.#said);
  }

  get said(): number {
    return this.#said;
  }

  async health(): Promise<{ code: number; journal: Health["components"][string] | undefined }> {
    const reply = await this.boat.raw("/healthz");
    return { code: reply.status, journal: JSON.parse(await reply.text()).components.journal };
  }

  /** Whether a power cut takes none of what was said. */
  async isSafe(): Promise<boolean> {
    return await this.boat.metric("vbg_journal_durable_seq") === this.#said;
  }

  /** Waits for health to say something of the journal while frames come, no faster than a slow disk takes them. */
  async until(message: RegExp): Promise<void> {
    await eventually(`${message}`, async () => {
      await this.say(100);
      this.clock.advance(100);
      const said = await eventually("the frames on disk, or why not", async () => {
        const health = (await this.health()).journal?.message;
        return health ?? (await this.isSafe() && "ok");
      });
      return message.test(said);
    });
  }

  /** Waits until everything is well, with nothing said meanwhile. */
  async untilWell(): Promise<void> {
    await eventually("recording", async () => {
      this.clock.advance(60_000);
      return (await this.health()).journal?.status === "ok";
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.live.close();
    await this.boat[Symbol.asyncDispose]();
  }
}

/** Numbers of everything that history has; each frame must say its own. */
async function history({ boat }: Recording): Promise<number[]> {
  const frames = await boat.get<Frame[]>(ALWAYS);
  for (const { seq, data } of frames) {
    assert.equal(data.slice(0, 6), Uint8Array.of(seq & 0xff, seq >> 8, seq >> 16).toHex());
  }
  return seqs(frames);
}

/** Bytes of all journal files of a directory, with their sidecars; of those that are deleted meanwhile none. */
async function bytesOf(directory: string): Promise<number> {
  const names = [...Deno.readDirSync(directory)].map(({ name }) => name).filter((name) => /\.lp[jrt]/.test(name));
  const infos = await Promise.all(names.map((name) => statIfExists(`${directory}/${name}`)));
  return infos.reduce((sum, info) => sum + (info?.size ?? 0), 0);
}

/** Checks what everybody sees of a boat that lost one run of frames, and ends it. */
async function checkGap(recording: Recording, directory: string): Promise<void> {
  const { boat, live, session, said } = recording;
  assert.deepEqual(seqs(live.frames), range(1, said), "live clients got every frame");
  const lost = await boat.metric("vbg_journal_lost_frames_total") ?? 0;
  const kept = await history(recording);
  const oldest = kept[0] ?? 0;
  const breach = kept.findIndex((seq, i) => seq !== oldest + i);
  const [from, to] = [oldest + breach, (kept[breach] ?? 0) - 1];
  assert.ok(breach > 0 && to > from, `${from} to ${to}`);
  assert.deepEqual(kept, [...range(oldest, from - 1), ...range(to + 1, said)], "history shows the rest");
  assert.equal(lost, to - from + 1);
  if (oldest > 1) assert.equal((await session.request("GET", "/events")).status, 410);
  await session.ack(oldest - 1);
  await using events = await session.events();
  await eventually("the newest frame", () => events.frames.at(-1)?.seq === said);
  assert.deepEqual([seqs(events.frames), events.dropped], [kept, [{ from_seq: from, to_seq: to, count: lost }]]);
  await events.close();
  await recording[Symbol.asyncDispose]();
  const gaps = readJournal(directory).blocks.map(({ metadata }) => metadata.gap).filter((gap) => gap !== undefined);
  assert.deepEqual(gaps, [{ firstMissing: from, reason: "disk" }]);
}

Deno.test(
  "with the policy to pause, recording pauses until files are archived, and the gap is told to all",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      await Deno.mkdir(directory);
      await using recording = await Recording.start(directory, {
        rotateBytes: 8192,
        retention: { maxBytes: MAX_BYTES, softPercent: 80, overflow: "pause-recording", archive: "on-rotate" },
        archiveCommand: await writeScript(folder, `echo "$#" >>"$LOG"; exit 1`),
      });
      await recording.until(/^recording is paused: its files take up \d+ bytes, and \d+ of them could not be archived/);
      await eventually("every failure counted", async () => {
        const failures = (await readLog(folder)).reduce((sum, line) => sum + Number(line), 0);
        return failures > 0 && await recording.boat.metric("vbg_journal_archive_failures_total") === failures;
      });
      await recording.say(500);
      const { code, journal } = await recording.health();
      assert.deepEqual([code, journal?.status], [503, "unhealthy"]);
      assert.match(journal?.message ?? "", /; \d+ frames are lost$/);
      assert.equal(await recording.boat.metric("vbg_journal_recording"), 0);
      assert.equal(await recording.session.ack(0), 204, "sessions go on");
      await writeScript(folder, ALL_OK);
      await recording.untilWell();
      assert.equal(await recording.boat.metric("vbg_journal_recording"), 1);
      await recording.say(300);
      await eventually("the frames on disk", () => recording.isSafe());
      // Reading may add sidecars.
      await history(recording);
      await eventually("the last deletion", async () => await bytesOf(directory) <= MAX_BYTES);
      await checkGap(recording, directory);
    }),
);

Deno.test(
  "frames that were lost when a run ended, and in the next one, are told",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      const options = {
        retention: { maxBytes: 20_000, softPercent: 80, overflow: "pause-recording", archive: "on-rotate" },
        archiveCommand: await writeScript(folder, "exit 1"),
        rotateBytes: 8192,
      } as const;
      const first = await Recording.start(directory, options);
      await first.until(/^recording is paused/);
      const last = (await history(first)).at(-1)!;
      await first.say(300);
      const { said } = first;
      await first[Symbol.asyncDispose]();
      await using second = await Recording.start(directory, { ...options, said });
      await second.until(/^recording is paused/);
      await second.say(300);
      await writeScript(folder, ALL_OK);
      await second.untilWell();
      await second.say(100);
      await second.session.ack(last);
      await using events = await second.session.events();
      await eventually("the newest frame", () => events.frames.at(-1)?.seq === second.said);
      const kept = seqs(events.frames);
      const missing = range(last + 1, second.said).filter((seq) => !kept.includes(seq));
      assert.deepEqual(events.dropped.flatMap(({ from_seq: from, to_seq: to }) => range(from, to)), missing);
      assert.ok(missing.length >= 600 && missing.includes(said));
    }),
);

Deno.test(
  "on a full disk a boat serves on and says why, and records again when there is room",
  MOUNTS,
  () =>
    inFolder((folder) =>
      onSmallDisk(folder, async (disk) => {
        await using recording = await Recording.start(disk);
        await recording.say(1000);
        await eventually("the frames on disk", () => recording.isSafe());
        const filler = fillDisk(disk);
        await recording.until(/^cannot be written: .*No space left.*; \d+ frames are lost$/);
        await recording.say(500);
        assert.equal((await recording.health()).code, 503);
        assert.equal(await recording.boat.metric("vbg_journal_recording"), 0);
        await using meanwhile = await recording.session.events();
        await eventually("the newest frame", () => meanwhile.frames.at(-1)?.seq === recording.said);
        assert.equal(meanwhile.dropped.length, 1, "a session that reads meanwhile is told, too");
        await meanwhile.close();
        await Deno.remove(filler);
        await recording.untilWell();
        await recording.say(300);
        await checkGap(recording, disk);
      })
    ),
);

Deno.test(
  "a boat with the policy to delete never fills its disk, and loses nothing",
  MOUNTS,
  () =>
    inFolder((folder) =>
      onSmallDisk(folder, async (disk) => {
        await using recording = await Recording.start(disk, {
          rotateBytes: 16_384,
          retention: { maxBytes: 200_000, softPercent: 80, overflow: "delete-unarchived", archive: "off" },
        });
        for (let round = 0; round < 30; round++) {
          await recording.say(1000);
          // No bus is so full that a machine cannot write it down.
          await eventually("the frames on disk", () => recording.isSafe());
          assert.deepEqual(await recording.health(), { code: 200, journal: { status: "ok" } });
        }
        // A file may be deleted while its frames are read.
        const kept = await eventually("the last deletion", async () => {
          const found = await history(recording);
          return found[0] === recording.said - found.length + 1 && found;
        });
        assert.deepEqual(kept, range(kept[0]!, recording.said));
        assert.ok(kept[0]! > 10_000 && kept.length > 2000, `${kept[0]}`);
        assert.equal(await recording.boat.metric("vbg_journal_lost_frames_total"), 0);
        const bytes = await bytesOf(disk);
        assert.ok(bytes < 300_000, `${bytes}`);
      })
    ),
);
