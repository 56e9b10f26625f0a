import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { HistoryTurns } from "../../src/http/history/turns.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { PlayedBlocks } from "../../src/recordings/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { message, START_US } from "../support/messages.ts";
import { type LpjFile, readLpj } from "../support/minimal_lpj_reader.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PATH = "/journal/blocks?from=2020-01-01T00:00:00Z";
const FOREIGN = new URL("../data/lplex_cloud/instances/oboat/journal/", import.meta.url);
const BUSES = ["can0", "can1"];

/** The files that the links lead to, read without our code. */
async function walk(api: TestApi, first: string): Promise<LpjFile[]> {
  const files: LpjFile[] = [];
  for (let path: string | undefined = first; path !== undefined;) {
    const response = await api.fetch(path);
    assert.deepEqual([response.status, response.headers.get("Content-Type")], [200, "application/octet-stream"]);
    const file = readLpj(new Uint8Array(await response.arrayBuffer()));
    assert.ok(file.indexed && file.blocks.length > 0);
    files.push(file);
    const [, link] = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("Link") ?? "") ?? [];
    const next: URL | undefined = link === undefined ? undefined : new URL(link, `http://boat${path}`);
    path = next && next.pathname + next.search;
  }
  return files;
}

/** Frames as texts, in the order in which they come. */
function textsOf(files: readonly LpjFile[]): string[] {
  return files.flatMap(({ blocks }) => blocks).flatMap(({ frames }) => frames)
    .map(({ seq, timeUs, data }) => `${seq} ${timeUs} ${data}`);
}

/** Messages ten seconds apart, or as given. */
function traffic(count: number, { seed, startS, stepS = 10 }: { seed: number; startS: number; stepS?: number }) {
  const random = new Random(seed);
  return Array.from(
    { length: count },
    (_, i) => message({ bus: i % 2, timeUs: START_US + (startS + i * stepS) * 1e6, data: random.bytes(8) }),
  );
}

function textsOfMessages(messages: readonly Message[], firstSeq = 1): string[] {
  return messages.map(({ timeUs, data, offset, length }, i) =>
    `${firstSeq + i} ${timeUs} ${data.subarray(offset, offset + length).toHex()}`
  );
}

Deno.test(
  "files of blocks are valid journals with every frame of all epochs, those not on disk included, each once",
  DISK,
  () =>
    inFolder(async (folder) => {
      const [old, now] = [traffic(500, { seed: 1, startS: 0 }), traffic(400, { seed: 2, startS: 10_000 })];
      const options = { buses: BUSES };
      {
        await using journal = await TestJournal.open(folder, { ...options, epoch: new Uint8Array(16).fill(5) });
        journal.append(1, old);
      }
      await using journal = await TestJournal.open(folder, options);
      journal.append(1, now);
      assert.ok(journal.writer.unwritten().length > 0, "some are not on disk");
      const wanted = [...textsOfMessages(old), ...textsOfMessages(now)];
      const clock = new FakeClock();
      clock.advance(86_400_000);
      for (const heldBytes of [1, 5000, undefined]) {
        const histories = new HistoryTurns(undefined, heldBytes === undefined ? {} : { heldBytes });
        const files = await walk(new TestApi({ index: journal.index, clock, histories }), PATH);
        assert.deepEqual(textsOf(files), wanted, `files of ${heldBytes} bytes`);
        const blocks = files.reduce((sum, file) => sum + file.blocks.length, 0);
        // A file has one epoch.
        if (heldBytes === undefined) assert.equal(files.length, 2);
        else assert.ok(heldBytes === 1 ? files.length === blocks : files.length > 2 && files.length < blocks);
        assert.deepEqual([histories.running, histories.waiting], [0, 0]);
      }
    }),
);

Deno.test(
  "files of blocks of a time have all frames of it, and blocks far from it are left out",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, { buses: BUSES });
      const all = traffic(1200, { seed: 3, startS: 0 });
      journal.append(1, all);
      await journal.writer.rotate();
      const api = new TestApi({ index: journal.index });
      const [fromS, toS] = [5000, 6000];
      const at = (seconds: number) => new Date(START_US / 1000 + seconds * 1000).toISOString();
      const found = new Set(textsOf(await walk(api, `/journal/blocks?from=${at(fromS)}&to=${at(toS)}`)));
      const wanted = textsOfMessages(all).slice(fromS / 10, toS / 10 + 1);
      assert.deepEqual(wanted.filter((text) => !found.has(text)), []);
      assert.ok(found.size < all.length * 0.8, `${found.size}`);
      const none = await api.fetch(`/journal/blocks?from=2031-01-01T00:00:00Z&to=2031-01-02T00:00:00Z`);
      assert.deepEqual([none.status, await none.text()], [204, ""]);
    }),
);

Deno.test("blocks of other software are sent with their version and numbers", DISK, () =>
  inFolder(async (folder) => {
    await cp(FOREIGN, folder, { recursive: true });
    const wanted = [...Deno.readDirSync(folder)].flatMap(({ name }) =>
      textsOf([readLpj(Deno.readFileSync(`${folder}/${name}`))])
    );
    const index = await JournalIndex.open(folder, { log: silentLogger });
    for (const heldBytes of [1, 4_000_000]) {
      const api = new TestApi({ index, histories: new HistoryTurns(undefined, { heldBytes }) });
      const found = textsOf(await walk(api, `${PATH}&to=2030-01-01T00:00:00Z`));
      assert.deepEqual(new Set(found), new Set(wanted));
    }
    assert.ok(wanted.length > 100);
  }));

Deno.test(
  "a damaged block is left out of a file of blocks, the others are there",
  DISK,
  () =>
    inFolder(async (folder) => {
      const all = traffic(600, { seed: 4, startS: 0 });
      {
        await using journal = await TestJournal.open(folder);
        journal.append(1, all);
      }
      const [name = ""] = [...Deno.readDirSync(folder)].map((entry) => entry.name);
      const bytes = Deno.readFileSync(`${folder}/${name}`);
      const { blocks } = readLpj(bytes);
      // In the middle of the second block's data.
      bytes[Math.floor(bytes.length * 1.5 / blocks.length)]! ^= 0xff;
      Deno.writeFileSync(`${folder}/${name}`, bytes);
      const api = new TestApi({ index: await JournalIndex.open(folder, { log: silentLogger }) });
      const found = await walk(api, `${PATH}&to=2030-01-01T00:00:00Z`);
      assert.equal(found[0]?.blocks.length, blocks.length - 1);
    }),
);

Deno.test(
  "blocks are not compressed again, and requests that cannot be answered say why",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      journal.append(1, traffic(10, { seed: 5, startS: -1000 }));
      const api = new TestApi({ index: journal.index });
      const request = new Request(`http://boat${PATH}`, { headers: { "Accept-Encoding": "gzip" } });
      const { headers, body } = await api.handle(request);
      assert.equal(headers.get("Content-Encoding"), null);
      await body?.cancel();
      const refusals: [TestApi, string, number, RegExp][] = [
        [api, "/journal/blocks", 400, /"from": is required/],
        [api, `${PATH}&to=2019-01-01T00:00:00Z`, 400, /"to"/],
        [api, `${PATH}&after=somewhere`, 400, /"after"/],
        [new TestApi({}), PATH, 503, /-journal-dir/],
      ];
      for (const [each, path, status, detail] of refusals) {
        const response = await each.fetch(path);
        assert.equal(response.status, status);
        assert.match((await response.json()).detail, detail);
      }
    }),
);

Deno.test("a played recording has no blocks to send", DISK, () =>
  inFolder(async (folder) => {
    {
      await using journal = await TestJournal.open(folder);
      journal.append(1, traffic(10, { seed: 6, startS: 0 }));
    }
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const [path = ""] = index.files.map((file) => file.path);
    const [location] = await index.blocksOf(path);
    assert.ok(location);
    const played = new PlayedBlocks(() => 10);
    using reader = index.reader();
    const block = await reader.read(path, location);
    played.begin(block, { location: { path, ...location }, skipped: 0, timeUs: START_US });
    const response = await new TestApi({ index: played }).fetch(`${PATH}&to=2030-01-01T00:00:00Z`);
    assert.equal(response.status, 503);
    assert.match((await response.json()).detail, /played recording/);
  }));
