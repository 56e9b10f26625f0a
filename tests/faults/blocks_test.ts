import assert from "node:assert/strict";
import { compress } from "../../src/journal/mod.ts";
import type { BackfillBlock, ReplicationClient } from "../../src/replication/mod.ts";
import { EPOCH, wireBlock } from "../cloud/block_check_fixture.ts";
import { code, frame, TIMEOUT } from "../replication/fixture.ts";
import { RawCaller } from "../replication/raw_caller.ts";
import { eventually } from "../support/eventually.ts";
import { environment } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { blocksOf, BlockTalk, reblocked } from "../support/replication_blocks.ts";
import {
  assertAllThere,
  certificateOf,
  greeting,
  impostorOf,
  issueBoat,
  metricOf,
  PROCESSES,
  traffic,
} from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 1) * 150;
const FAILURES = `vbg_cloud_instance_verify_failures_total{instance="boat-1"}`;
const RESIDENT = "process_resident_memory_bytes";
/** What the cloud may grow by while it is lied to; a single bomb that went off would take more. */
const MAX_GROWTH_BYTES = 200 * 1024 * 1024;
/** The block cannot be unpacked, or has another size than it says. */
const UNREADABLE = /^(?!it was taken)/;
const BOMB_BYTES = 256 * 1024 * 1024;

/** What somebody has who pretends to be the boat. */
interface Attack {
  talk: BlockTalk;
  /** Blocks as the boat has them. */
  blocks: readonly BackfillBlock[];
  epoch: Uint8Array<ArrayBuffer>;
}

/** A lab whose boat has written some blocks, and somebody with the boat's own certificate. */
async function attacked(
  run: (lab: ReplicationLab, parts: {
    talk: BlockTalk;
    /** Blocks as the boat has them. */
    blocks: BackfillBlock[];
    epoch: Uint8Array<ArrayBuffer>;
  }) => Promise<void>,
): Promise<void> {
  await using lab = await ReplicationLab.start({ boatFlags: ["-journal-block-size", "4096"] });
  await lab.connected();
  await traffic(lab, 1200);
  const blocks = await eventually("blocks", async () => {
    const found = await blocksOf(`${lab.folder}/journal`);
    const { epoch, cursor } = await statusOf(lab, "boat-1");
    const last = found.at(-1);
    // What the cloud has live it need not be sent.
    return found.length >= 4 && last && epoch !== null && cursor >= last.baseSeq + last.frameCount && found;
  });
  const epoch = Uint8Array.fromHex((await statusOf(lab, "boat-1")).epoch ?? "");
  const client = await impostorOf(lab, "boat-1");
  try {
    // Without a word on what it has nobody may send anything; with it, the boat's own streams go on.
    // Who has less than the cloud is refused: no traffic, so that it has not more by then.
    const { rate } = lab.feed;
    const headSeq = (await lab.converged()).boat_head_seq;
    await client.handshake(greeting({ instanceId: "boat-1", headSeq, epoch }), TIMEOUT);
    lab.feed.rate = rate;
    const talk = new BlockTalk(client.backfill());
    await run(lab, { talk, blocks, epoch });
    await talk.end();
  } finally {
    client.close();
  }
  await assertAllThere(lab);
}

async function statusOf(lab: ReplicationLab, id: string): Promise<{ epoch: string | null; cursor: number }> {
  return await lab.get("cloud", `/instances/${id}/status`) ?? { epoch: null, cursor: 0 };
}

function flipped({ data, ...block }: BackfillBlock, random: Random): BackfillBlock {
  const bytes = data.slice();
  for (let times = random.between(1, 8); times > 0; times--) bytes[random.int(bytes.length)]! ^= 1 << random.int(8);
  return { ...block, data: random.chance(0.2) ? bytes.subarray(0, random.int(bytes.length)) : bytes };
}

Deno.test({
  name: "blocks from somebody with the boat's certificate, between honest traffic, change nothing",
  ...PROCESSES,
  fn: (t) =>
    attacked(async (lab, attack) => {
      const failures = () => metricOf(lab, "cloud", FAILURES);
      await t.step(`${ROUNDS} corrupt ones are refused and counted`, async () => {
        assert.equal(await failures(), 0);
        const refused = await sendCorrupt(attack);
        assert.ok(refused > ROUNDS * 0.9, `${refused} of ${ROUNDS}`);
        assert.equal(await failures(), refused);
      });
      await t.step("those that lie about themselves are refused with what is wrong, and take no memory", async () => {
        const [before, failed] = [await metricOf(lab, "cloud", RESIDENT), await failures()];
        const lies = liesOf(attack);
        for (const [what, block] of lies) assert.match(await attack.talk.refusalOf(block) ?? "it was taken", what);
        assert.equal(await failures() - failed, lies.length);
        const grown = await metricOf(lab, "cloud", RESIDENT) - before;
        assert.ok(grown < MAX_GROWTH_BYTES, `${grown} bytes`);
      });
      await t.step("those that come again, whole or cut in other places, are held once", async () => {
        const failed = await failures();
        await sendAgain(attack, `${lab.folder}/journal`);
        assert.equal(await failures(), failed);
        // The boat itself may have sent some in blocks, when its live stream was behind.
        const { boat_head_seq } = await lab.converged();
        const [live, backfill] = await Promise.all(["live", "backfill"].map((way) =>
          metricOf(lab, "cloud", `vbg_cloud_instance_${way}_frames_total{instance="boat-1"}`)
        ));
        assert.equal((live ?? 0) + (backfill ?? 0), boat_head_seq);
      });
    }),
});

/** Gives how many were refused: some bits of a packed block mean nothing, and the cloud has what it was already. */
async function sendCorrupt({ talk, blocks }: Attack): Promise<number> {
  const random = new Random(101);
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    if (await talk.refusalOf(flipped(random.pick(blocks), random)) !== undefined) refused++;
  }
  return refused;
}

/** Blocks, and what is wrong with them. */
function liesOf({ blocks, epoch }: Attack): [what: RegExp, block: BackfillBlock][] {
  const first = blocks[0]!;
  const bomb = compress(new Uint8Array(BOMB_BYTES), "zstd");
  return [
    [/first number of the block is 1, but its message says 2/, { ...first, baseSeq: 2 }],
    [/first time of the block/, { ...first, baseTimeUs: first.baseTimeUs + 1 }],
    [/frame count of the block/, { ...first, frameCount: first.frameCount + 1 }],
    [UNREADABLE, { ...first, blockSize: first.blockSize * 2 }],
    [/power of two/, { ...first, blockSize: 2 ** 31 }],
    [/power of two/, { ...first, blockSize: 5000 }],
    [/has epoch a1a1/, wireBlock({ epoch: EPOCH })],
    [/has epoch unknown/, wireBlock({ epoch: undefined })],
    [/after the boat's head/, wireBlock({ epoch, firstSeq: 1_000_000 })],
    [UNREADABLE, { ...first, data: bomb }],
    [UNREADABLE, { ...first, data: bomb, blockSize: 16 * 1024 * 1024 }],
    [UNREADABLE, { ...first, data: new Uint8Array(0) }],
    [UNREADABLE, { ...first, compressed: false }],
  ];
}

async function sendAgain({ talk, blocks, epoch }: Attack, journal: string): Promise<void> {
  const random = new Random(103);
  const last = blocks.at(-1)!.baseSeq;
  for (let round = 0; round < 20; round++) {
    assert.equal(await talk.refusalOf(random.pick(blocks)), undefined);
    const from = random.between(1, last - 200);
    const other = await reblocked(journal, { from, to: from + random.between(1, 200), epoch });
    assert.equal(await talk.refusalOf(other), undefined);
  }
}

Deno.test({
  name: "a made-up boat beside the real one: nothing before a handshake, nothing too long, overlaps are read once",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start();
    await lab.connected();
    await issueBoat(lab.folder, "boat-2");
    const client = await impostorOf(lab, "boat-2");
    try {
      await unannounced(lab, client);
      const handshake = greeting({ instanceId: "boat-2", headSeq: 1001, epoch: EPOCH });
      const { response } = await client.handshake(handshake, TIMEOUT);
      assert.deepEqual(response.holes.map(({ start, end }) => ({ start, end })), [{ start: 1, end: 1001 }]);
      const talk = new BlockTalk(client.backfill());
      for (const [firstSeq, frames] of [[101, 100], [151, 100], [51, 300], [101, 100], [901, 100], [1, 950]]) {
        assert.equal(await talk.refusalOf(wireBlock({ firstSeq: firstSeq!, frames: frames! })), undefined);
      }
      assert.equal((await statusOf(lab, "boat-2")).cursor, 1000);
      await tooLong(lab);
      await talk.end();
      const path = "/instances/boat-2/history?from=2000-01-01T00:00:00Z&limit=5000";
      const history = await lab.get<{ seq: number }[]>("cloud", path) ?? [];
      assert.deepEqual(history.map(({ seq }) => seq), Array.from({ length: 1000 }, (_, i) => i + 1));
    } finally {
      client.close();
    }
    await traffic(lab, 200);
    await assertAllThere(lab);
  },
});

/** Streams of a boat that has not introduced itself. */
async function unannounced(lab: ReplicationLab, client: ReplicationClient): Promise<void> {
  const [live, backfill] = [client.live(), client.backfill()];
  await live.send({ kind: "frame", frame: frame(1) }).catch(() => {});
  await backfill.send({ block: wireBlock() }).catch(() => {});
  for (const stream of [live, backfill]) {
    await assert.rejects(Array.fromAsync<unknown>(stream), code("FAILED_PRECONDITION", /handshake comes first/));
  }
  assert.equal(await lab.text("cloud", "/instances/boat-2/status"), undefined, "it is not known by that");
}

/** A message that is longer than any may be ends its stream, and no other one. */
async function tooLong(lab: ReplicationLab): Promise<void> {
  const { certPath, keyPath, caPath } = certificateOf(lab.folder, "boat-2");
  const [cert, key, ca] = await Promise.all([certPath, keyPath, caPath].map((path) => Deno.readTextFile(path)));
  const pair = { cert: cert!, key: key! };
  const caller = await RawCaller.start(lab.proxy.port, { ca: ca!, pair, instanceId: "boat-2" });
  const path = "/vessel.replication.v1.Replication/Live";
  const { code: found } = await caller.statusOf(path, new Uint8Array(8 * 1024 * 1024));
  caller.close();
  assert.equal(found, "RESOURCE_EXHAUSTED");
}
