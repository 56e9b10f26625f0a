import assert from "node:assert/strict";
import { audit, type EpochReport } from "../../cli/commands/audit/compare.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { importPeer, PeerImportError, type PeerImportReport } from "../../src/cloud/mod.ts";
import { epochWordOf, openBlockFile } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message, START_US } from "../support/messages.ts";
import { environment, needs } from "../support/needs.ts";
import { PeerLiveFiles } from "../support/peer_cloud.ts";
import { Random } from "../support/random.ts";
import { CloudFixture, request } from "./cloud_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const REAL = new URL("../data/lplex_cloud/instances/oboat/", import.meta.url);
/** What the real directory's boat counted in. */
const REAL_EPOCH = Uint8Array.fromHex("8ba2b6050ca5c45efb003e7cc2e4ea78");
const EPOCH = new Uint8Array(16).fill(7);
const ID = "oboat";
/** Runs of a boat and a cloud of the peer. */
const SEEDS = environment("VBG_TEST_FULL") === "1" ? 60 : 5;

function test(name: string, run: (folder: string) => Promise<void>, options = DISK): void {
  Deno.test({ name: `import: ${name}`, ...options, fn: () => inFolder(run) });
}

/** Takes over a boat's directory. */
function importTo(folder: string, from: string): Promise<PeerImportReport> {
  return importPeer({ from, id: ID, dataDirectory: folder, log: silentLogger });
}

async function auditOf(boat: string, cloud: string): Promise<EpochReport> {
  const { epochs, damage } = await audit({ boat, cloud });
  assert.deepEqual([epochs.length, damage.cloud], [1, []]);
  return epochs[0]!;
}

/** Copies a file with its blocks, or some of them, as a file of the epoch where one is given. */
async function copyBlocks(
  from: string,
  { to, only = () => true, epoch }: { to: string; only?: (seq: number) => boolean; epoch?: Uint8Array<ArrayBuffer> },
): Promise<void> {
  const bytes = Deno.readFileSync(from);
  const header = bytes.slice(0, 16);
  if (epoch) new DataView(header.buffer).setUint32(12, epochWordOf(epoch), true);
  const { blocks } = await openBlockFile(from);
  const kept = blocks.filter(({ seq }) => only(seq)).map((each) =>
    bytes.subarray(each.offset, each.offset + each.bytes)
  );
  await new Blob([header, ...kept]).stream().pipeTo((await Deno.create(to)).writable);
}

test("frames of a real directory's garbled block are byte for byte the boat's, as far as they are taken", async (folder) => {
  const journal = new URL("journal/", REAL);
  const [from, boat] = [`${folder}/from`, `${folder}/boat`];
  await Deno.mkdir(`${from}/journal`, { recursive: true });
  await Deno.mkdir(boat);
  Deno.copyFileSync(new URL("state.json", REAL), `${from}/state.json`);
  for (const { name } of Deno.readDirSync(journal)) {
    const path = new URL(name, journal).pathname;
    // The blocks that boats have made are the truth; two in the middle the peer's cloud does not have.
    const isLeftOut = (seq: number) => name.includes("105327") && seq > 7000 && seq < 9000;
    if (name.startsWith("backfill")) await copyBlocks(path, { to: `${boat}/${name}`, epoch: REAL_EPOCH });
    await copyBlocks(path, { to: `${from}/journal/${name}`, only: (seq) => !isLeftOut(seq) });
  }
  const report = await importTo(folder, from);
  const { same, missing, extra, different } = await auditOf(boat, `${folder}/${ID}`);
  assert.deepEqual([missing.count, extra.count, different.count], [0, 0, 0]);
  // Numbers 4415 to 10143, of which 7276 to 9183 were left out.
  assert.deepEqual([same, report.frames, report.liveFrames], [5729, 5729, 1908]);
  assert.equal(report.epochs, 1);
});

/** What happens between a boat and a peer's cloud; what the boat recorded is in one directory, what the cloud in another. */
async function livePeer(
  folder: string,
  { seed, hasFaults }: { seed: number; hasFaults: boolean },
): Promise<{ boat: string; from: string; frames: number }> {
  const random = new Random(seed);
  const [boat, from] = [`${folder}/boat`, `${folder}/from`];
  await Deno.mkdir(boat);
  await Deno.mkdir(`${from}/journal`, { recursive: true });
  const peer = new PeerLiveFiles(`${from}/journal`);
  let [timeUs, seq, isConnected] = [START_US, 0, false];
  {
    await using journal = await TestJournal.open(boat, { epoch: EPOCH, buses: ["can0"] });
    const devices = random.int(4);
    const frames = 1500 + random.int(1500);
    while (seq < frames) {
      if (!isConnected) {
        for (let src = 0; src < devices; src++) {
          // The copies have the time of now, which is later than that of the frames on their way.
          peer.take({ seq: 0, id: message({ pgn: 60928, src }).id, timeUs: timeUs + 50_000, data: random.bytes(8) });
        }
        isConnected = true;
      }
      const data = random.chance(0.5) ? new Uint8Array(8).fill(1) : random.bytes(1 + random.int(20));
      const frame = message({ pgn: random.chance(0.02) ? 60928 : 127250, src: random.int(5), timeUs, data });
      journal.writer.append(++seq, frame);
      const isMissed = hasFaults && random.chance(0.002);
      if (!isMissed) peer.take({ seq, id: frame.id, timeUs, data });
      timeUs += random.int(4) * 1000;
      if (hasFaults && random.chance(0.002)) {
        isConnected = false;
        for (let gap = random.int(devices + 60); gap > 0; gap--, timeUs += 1000) {
          journal.writer.append(++seq, message({ pgn: 127250, timeUs, data: random.bytes(8) }));
        }
      }
      if (random.chance(0.003)) peer.rotate();
    }
    peer.rotate();
  }
  // Some of the boat's blocks have come by backfill.
  for (const { name } of [...Deno.readDirSync(boat)].filter(({ name }) => name.endsWith(".lpj"))) {
    const only = (first: number) => hasFaults ? random.chance(0.3) : first === 1;
    await copyBlocks(`${boat}/${name}`, { to: `${from}/journal/${name.replace("nmea2k", "backfill")}`, only });
  }
  const state = {
    id: ID,
    cursor: hasFaults ? 3 : seq,
    boat_head_seq: seq,
    last_seen: "2026-11-22T11:14:54.28831+02:00",
  };
  Deno.writeTextFileSync(`${from}/state.json`, JSON.stringify(state));
  return { boat, from, frames: seq };
}

test("whatever a peer's cloud missed, what is taken over is the boat's, and the rest is missing", async (folder) => {
  let live = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const place = `${folder}/${seed}`;
    await Deno.mkdir(place);
    const { boat, from, frames } = await livePeer(place, { seed, hasFaults: true });
    const report = await importTo(place, from);
    const { same, missing, extra, different } = await auditOf(boat, `${place}/${ID}`);
    assert.deepEqual([extra.count, different.count], [0, 0], `seed ${seed}`);
    assert.deepEqual([same, missing.count], [report.frames, report.missing], `seed ${seed}`);
    assert.equal(same + missing.count, frames);
    live += report.liveFrames;
  }
  assert.ok(live > 60 * SEEDS, `${live} frames of the live stream`);
});

test("of a peer's cloud that missed nothing all is taken over but address claims", async (folder) => {
  const { boat, from, frames } = await livePeer(folder, { seed: 5, hasFaults: false });
  await importTo(folder, from);
  const { same, missing, extra, different } = await auditOf(boat, `${folder}/${ID}`);
  assert.deepEqual([same + missing.count, extra.count, different.count], [frames, 0, 0]);
  // Claims are one frame in fifty.
  assert.ok(missing.count > 0 && missing.count < frames * 0.04, `${missing.count} of ${frames}`);
});

test("a boat that is there with other data is refused, and an import can be run again", async (folder) => {
  const from = REAL.pathname;
  const before = snapshotOf(from);
  // What an interrupted one leaves.
  await Deno.mkdir(`${folder}/.import-${ID}/rest`, { recursive: true });
  const first = await importTo(folder, from);
  assert.equal(first.kind, "imported");
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), [ID]);
  assert.deepEqual(await importTo(folder, from), { ...first, kind: "same" });
  const { from: other } = await livePeer(folder, { seed: 1, hasFaults: false });
  await assert.rejects(importTo(folder, other), PeerImportError);
  await Deno.mkdir(`${folder}/second/${ID}`, { recursive: true });
  await assert.rejects(importTo(`${folder}/second`, from), /is there with other data/);
  assert.deepEqual(snapshotOf(from), before, "the source is as it was");
});

/** Every file below a directory with its size and time. */
function snapshotOf(directory: string): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) => {
    const path = `${directory}/${name}`;
    const { size, mtime } = Deno.statSync(path);
    return isDirectory ? [path, ...snapshotOf(path)] : [`${path} ${size} ${mtime?.getTime()}`];
  }).sort();
}

test("a cloud serves what was taken over, and asks the boat for the rest", async (folder) => {
  const { frames } = await importTo(folder, REAL.pathname);
  await using cloud = await CloudFixture.start(folder);
  const client = await cloud.client(ID);
  const { response } = await client.handshake(
    request({ instanceId: ID, headSeq: 1_186_891, epoch: REAL_EPOCH }),
    { timeoutMs: 60_000 },
  );
  const [hole] = response.holes;
  assert.deepEqual([response.known, hole], [true, { start: 1, end: 4415 }]);
  assert.equal(cloud.instances.get(ID)?.received.count, frames);
}, CLOUD);

test(
  "numbers of a boat that names no epoch begin again with each start, and the newest run goes on",
  async (folder) => {
    const from = `${folder}/from`;
    await Deno.mkdir(`${from}/journal`, { recursive: true });
    const peer = new PeerLiveFiles(`${from}/journal`);
    let timeUs = START_US;
    for (const frames of [700, 500]) {
      for (let seq = 1; seq <= frames; seq++, timeUs += 5000) {
        peer.take({ seq, id: message().id, timeUs, data: Uint8Array.of(seq & 0xff, seq >> 8) });
      }
      peer.rotate();
      timeUs += 60_000_000;
    }
    Deno.writeTextFileSync(`${from}/state.json`, JSON.stringify({ id: ID, cursor: 500, boat_head_seq: 500 }));
    const { epochs, frames, liveFrames, missing } = await importTo(folder, from);
    // Nothing tells the number of the last frame of the first run's last block.
    assert.deepEqual([epochs, frames, missing], [2, liveFrames, 0]);
    assert.ok(frames > 500 + 400, String(frames));
    await using cloud = await CloudFixture.start(folder);
    const client = await cloud.client(ID);
    const { response } = await client.handshake(
      request({ instanceId: ID, headSeq: 600, epoch: undefined, features: [] }),
      { timeoutMs: 60_000 },
    );
    assert.deepEqual([response.known, response.cursor, response.holes], [true, 500, [{ start: 501, end: 600 }]]);
  },
  CLOUD,
);

test("frames of a new epoch that came live first are of the epoch that the boat's blocks name later", async (folder) => {
  const [boat, from, other] = [`${folder}/boat`, `${folder}/from`, new Uint8Array(16).fill(9)];
  for (const each of [boat, `${from}/journal`]) await Deno.mkdir(each, { recursive: true });
  const peer = new PeerLiveFiles(`${from}/journal`);
  {
    await using journal = await TestJournal.open(boat, { epoch: EPOCH });
    let timeUs = START_US;
    for (const epoch of [EPOCH, other]) {
      if (epoch === other) journal.writer.beginEpoch(epoch);
      for (let seq = 1; seq <= 900; seq++, timeUs += 5000) {
        const data = Uint8Array.of(seq & 0xff, seq >> 8, 3, 4, 5, 6, 7, 8);
        const frame = message({ timeUs, data });
        journal.writer.append(seq, frame);
        // Of each epoch the first came live, and the rest by backfill.
        if (seq <= 640) peer.take({ seq, id: frame.id, timeUs, data });
      }
      peer.rotate();
    }
  }
  for (const { name } of [...Deno.readDirSync(boat)].filter(({ name }) => name.endsWith(".lpj"))) {
    const to = `${from}/journal/${name.replace("nmea2k", "backfill")}`;
    await copyBlocks(`${boat}/${name}`, { to, only: (seq) => seq > 300 });
  }
  Deno.writeTextFileSync(`${from}/state.json`, JSON.stringify({ id: ID, cursor: 900, boat_head_seq: 900 }));
  const { epochs, missing } = await importTo(folder, from);
  assert.deepEqual([epochs, missing], [2, 0]);
  const report = await audit({ boat, cloud: `${folder}/${ID}` });
  assert.deepEqual(report.epochs.map(({ epoch, same }) => [epoch, same]), [[EPOCH.toHex(), 900], [other.toHex(), 900]]);
  assert.equal(report.isGood, true);
});
