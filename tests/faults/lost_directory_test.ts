// What a boat does whose journal directory is removed, or whose card is unmounted, and what it says of damaged files.
import assert from "node:assert/strict";
import type { ComponentHealth, Health } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { journalFiles, readJournal } from "../support/journal_run.ts";
import { mayMount, mount, unmount } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";
import { range } from "../support/session.ts";

const DISK = needs({ permissions: ["read", "write", "net"] });
const MOUNTS = needs({ permissions: ["read", "write", "net"], extras: { "root who may mount": mayMount() } });

/** A boat that records, and how many frames its bus has had. */
class Recording implements AsyncDisposable {
  readonly boat: TestBoat;
  #fed = 0;

  private constructor(boat: TestBoat) {
    this.boat = boat;
  }

  static async start(directory: string, stateDirectory: string): Promise<Recording> {
    await Deno.mkdir(stateDirectory, { recursive: true });
    const sizes = { blockBytes: 4096, rotateBytes: 8192, compression: "none" } as const;
    const journal = { directory, stateDirectory, ...sizes, syncIntervalMs: 20 };
    return new Recording(await TestBoat.start({ stateDirectory, journal }));
  }

  get fed(): number {
    return this.#fed;
  }

  async feed(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const seq = ++this.#fed;
      this.boat.say({ data: [seq & 0xff, seq >> 8, 0, 0, 0, 0, 0, 0] });
    }
    await eventually("the frames", () => this.boat.boat.broker.head === this.#fed);
  }

  async synced(): Promise<void> {
    await eventually("the frames on disk", async () => {
      return await this.boat.metric("vbg_journal_durable_seq") === this.#fed;
    });
  }

  async health(): Promise<{ code: number } & Partial<ComponentHealth>> {
    const reply = await this.boat.raw("/healthz");
    const { components }: Health = JSON.parse(await reply.text());
    return { code: reply.status, ...components["journal"] };
  }

  /** Numbers in the answer of /history. */
  async history(): Promise<number[]> {
    const frames = await this.boat.get<{ seq: number }[]>("/history?from=2000-01-01T00:00:00Z&limit=100000");
    return frames.map(({ seq }) => seq);
  }

  async until(code: number, message: RegExp): Promise<void> {
    await eventually(`${message}`, async () => {
      const health = await this.health();
      return health.code === code && message.test(health.message ?? "");
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.boat[Symbol.asyncDispose]();
  }
}

/** Removes a directory. False if something was written to it in between. */
async function isRemoved(path: string): Promise<boolean> {
  try {
    await Deno.remove(path, { recursive: true });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTEMPTY") return false;
    throw error;
  }
}

Deno.test(
  "a journal directory that is removed is made again, recording goes on, and health says what is gone",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/boats/journal`;
      const recording = await Recording.start(directory, `${folder}/state`);
      await recording.feed(1000);
      await recording.synced();
      await eventually("the directory gone, though it is written to", () => isRemoved(`${folder}/boats`));
      await recording.until(
        200,
        /journal directory ".*\/boats\/journal" was removed and made again: the files .* are gone/,
      );
      assert.equal((await recording.health()).status, "degraded");
      await recording.feed(1000);
      await recording.synced();
      // The block that was open when the directory went is written once more.
      const kept = await recording.history();
      assert.deepEqual(kept, range(kept[0] ?? 0, 2000));
      assert.ok((kept[0] ?? 0) > 1, `${kept[0]}`);
      const other = Recording.start(directory, `${folder}/other`);
      await assert.rejects(other, /used by another process/, "the directory is held as before");
      await recording[Symbol.asyncDispose]();
      assert.deepEqual(readJournal(directory).frames.map(({ seq }) => seq), kept);
    }),
);

for (const [what, below] of [["that is a card's own", ""], ["below a card", "/boats/journal"]] as const) {
  Deno.test(
    `a journal directory ${what} is not made on the file system under it when the card is unmounted, and recording ` +
      "goes on when the card is back",
    MOUNTS,
    () =>
      inFolder(async (folder) => {
        const card = `${folder}/card`;
        const kept = `${folder}/kept`;
        for (const path of [card, kept]) await Deno.mkdir(path);
        mount(["-t", "tmpfs", "-o", "size=8m", "none", kept]);
        mount(["--bind", kept, card]);
        try {
          const directory = card + below;
          await using recording = await Recording.start(directory, `${folder}/state`);
          await recording.feed(1000);
          await recording.synced();
          const before = await recording.history();
          unmount(card);
          await recording.feed(500);
          await recording.until(503, /^cannot be written: journal directory ".*" is .*is its card unmounted\?/);
          await recording.feed(500);
          assert.deepEqual([...Deno.readDirSync(card)], [], "nothing is written under the mount point");
          await recording.history();
          mount(["--bind", kept, card]);
          await recording.synced();
          await recording.until(200, /^$/);
          assert.deepEqual(before, range(1, 1000));
          assert.deepEqual(await recording.history(), range(1, 2000), "nothing is lost");
          await recording[Symbol.asyncDispose]();
          assert.deepEqual(readJournal(directory).frames.map(({ seq }) => seq), range(1, 2000));
        } finally {
          for (const path of [card, kept]) {
            try {
              unmount(path);
            } catch {
              // It is not mounted.
            }
          }
        }
      }),
  );
}

Deno.test(
  "a damaged journal file degrades health, which names it until it is removed",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      await using recording = await Recording.start(directory, `${folder}/state`);
      await recording.feed(2000);
      await recording.synced();
      const [name = "", second = ""] = journalFiles(directory);
      assert.notEqual(second, "", "the first is ended");
      const path = `${directory}/${name}`;
      const bytes = await Deno.readFile(path);
      bytes.fill(0x55, 200, 300);
      await Deno.writeFile(path, bytes);
      assert.equal((await recording.history()).at(-1), 2000);
      await recording.until(200, new RegExp(`^journal file "${name}" is damaged: `));
      assert.equal((await recording.health()).status, "degraded");
      await Deno.remove(path);
      await recording.history();
      assert.deepEqual(await recording.health(), { code: 200, status: "ok" });
    }),
);

Deno.test(
  "a file that is no journal degrades the health of a boat that starts, and is named",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      await Deno.mkdir(directory);
      await Deno.writeFile(`${directory}/nmea2k-20260101T000000.000Z.lpj`, new Uint8Array(5000).fill(7));
      await using recording = await Recording.start(directory, `${folder}/state`);
      await recording.until(200, /^journal file "nmea2k-20260101T000000.000Z.lpj" is damaged: /);
    }),
);
