// A copy of a boat at the cloud's door: what it shows of itself, and what is taken of it.
import assert from "node:assert/strict";
import { DIGEST_WINDOW, type WindowDigest } from "../../src/journal/mod.ts";
import type { BackfillStatus, BackfillUpstream, HandshakeRequest, MessageStream } from "../../src/replication/mod.ts";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { EPOCH, wireBlock } from "./block_check_fixture.ts";
import { batch, CloudFixture, type CloudInit, digest, request, statusWith } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const FEATURES = ["batch", "void", "bus", "quiet-status", "digest", "former"];
const MINUTE_MS = 60_000;
const OTHER = new Uint8Array(16).fill(0xb7);

function test(name: string, run: (cloud: CloudFixture, clock: FakeClock) => Promise<void>, init: CloudInit = {}): void {
  Deno.test({
    name: `cloud: ${name}`,
    ...CLOUD,
    fn: () =>
      inFolder(async (folder) => {
        const clock = new FakeClock();
        await using cloud = await CloudFixture.start(`${folder}/data`, { clock, ...init });
        await run(cloud, clock);
      }),
  });
}

/** The original, with frames from 1 through `head` on the cloud's disk. */
async function original(cloud: CloudFixture, head: number) {
  const { client } = await cloud.greeted({ features: FEATURES });
  const live = client.live();
  await live.send(batch(1, head));
  await eventually("all of it on disk", () => cloud.boat.acknowledge() === head);
  return { client, live };
}

async function ended(cloud: CloudFixture, live: { end(): void }): Promise<void> {
  live.end();
  await eventually("the end", () => !cloud.boat.connected);
}

const copyOf = (init: Partial<HandshakeRequest>): Partial<HandshakeRequest> => ({ features: FEATURES, ...init });

test(
  "other frames under the same numbers are refused while the original is near, an hour later a new epoch is asked " +
    "for, and nothing is taken",
  async (cloud, clock) => {
    const { live } = await original(cloud, 30);
    const copy = copyOf({ headSeq: 50, void: [{ start: 31, end: 40 }], digests: [digest(1, 30, { fork: 25 })] });
    const near = code(
      "FAILED_PRECONDITION",
      /^frames 1 to 30 are here with other content: two machines may be this boat/,
    );
    await assert.rejects(cloud.greeted(copy), near);
    assert.equal(cloud.boat.connected, true, "the original goes on");
    assert.match(cloud.boat.refusedMachine ?? "", /other content/);
    clock.advance(120 * MINUTE_MS);
    await assert.rejects(cloud.greeted(copy), near, "it streams, however quiet the bus is");
    await live.send({ kind: "status", status: { headSeq: 30, journalBytes: 1 } });
    await eventually("the status", () => cloud.boat.summary().lastSeenMs === clock.wallUs() / 1000);
    await ended(cloud, live);
    const last = cloud.boat.summary().lastSeenMs;
    clock.advance(59 * MINUTE_MS);
    await assert.rejects(cloud.greeted(copy), near);
    clock.advance(2 * MINUTE_MS);
    await assert.rejects(cloud.greeted(copy), code("ALREADY_EXISTS", /with other content: begin a new epoch$/));
    const { boatHeadSeq, cursor, lastSeenMs, epoch } = cloud.boat.summary();
    assert.deepEqual([boatHeadSeq, cursor, lastSeenMs, epoch], [30, 30, last, EPOCH.toHex()]);
    clock.advance(61 * MINUTE_MS);
    assert.equal(cloud.boat.refusedMachine, undefined);
    const { response } = await cloud.greeted({ headSeq: 40, features: FEATURES, digests: [digest(1, 30)] });
    assert.deepEqual([response.cursor, response.liveStartFrom], [30, 40], "the original comes back");
  },
);

test("a boat's word is not taken before it has shown the newest frame that is here, or streams", async (cloud) => {
  const { live } = await original(cloud, 30);
  await ended(cloud, live);
  const said = { headSeq: 90, features: FEATURES, lost: [{ start: 31, end: 60, reason: "gone" }] };
  const client = await cloud.client();
  const shake = async (digests: readonly WindowDigest[]) => {
    const { response } = await client.handshake(
      {
        ...said,
        ...{ instanceId: "boat-001", journalBytes: 1, epoch: EPOCH, void: [], oldestSeq: 1 },
        busNames: ["can0"],
        digests,
      },
      { timeoutMs: 20_000 },
    );
    return response;
  };
  const before = () => [cloud.boat.summary().boatHeadSeq, cloud.boat.summary().cursor];
  // Older windows are the same on a copy, too.
  assert.deepEqual((await shake([digest(1, 20)])).holes, [{ start: 31, end: 90 }]);
  assert.deepEqual(before(), [30, 30]);
  assert.deepEqual((await shake([digest(5, 30)])).holes, [{ start: 60, end: 90 }]);
  assert.deepEqual(before(), [90, 59]);
  const other = await cloud.greeted({ ...said, headSeq: 120 });
  assert.deepEqual(before(), [90, 59]);
  const stream = other.client.live();
  await statusWith(stream, () => true);
  assert.deepEqual(before(), [120, 59], "it has no frame to show, and streams");
});

test(
  "a machine whose numbers end below what is here is refused at once, and told to begin a new epoch when the original " +
    "was away for the time that is set",
  async (cloud, clock) => {
    const { live } = await original(cloud, 30);
    const copy = copyOf({ headSeq: 20, digests: [digest(1, 20)] });
    const words = /^the boat is at 20, and frames up to 30 are here: two machines may be this boat.* streams now$/;
    await assert.rejects(cloud.greeted(copy), code("FAILED_PRECONDITION", words));
    assert.equal(cloud.boat.connected, true);
    assert.match((await cloud.boat.events.list(1))[0]?.detail ?? "", /^refused: the boat is at 20/);
    await ended(cloud, live);
    cloud.settings.copyRefuseMs = 10 * MINUTE_MS;
    clock.advance(9 * MINUTE_MS);
    await assert.rejects(cloud.greeted(copy), code("FAILED_PRECONDITION", /was here 9 minutes ago$/));
    clock.advance(2 * MINUTE_MS);
    await assert.rejects(cloud.greeted(copy), code("ALREADY_EXISTS", /^the boat is at 20, .* begin a new epoch$/));
    assert.equal(cloud.boat.summary().epoch, EPOCH.toHex());
  },
);

test(
  "a boat that knows no digests and has less of its epoch than is here is refused while another streams or did so " +
    "lately, and sees it later by where live is to begin",
  async (cloud, clock) => {
    const live = (await cloud.greeted()).client.live();
    await live.send(batch(3, 30));
    await eventually("frames", () => cloud.boat.received.last === 30);
    const refusal = code(
      "FAILED_PRECONDITION",
      /^the boat is at 12, and frames up to 30 are here: two machines may be/,
    );
    await assert.rejects(cloud.greeted({ headSeq: 12 }), refusal);
    await ended(cloud, live);
    await assert.rejects(cloud.greeted({ headSeq: 12 }), refusal);
    clock.advance(61 * MINUTE_MS);
    const { response } = await cloud.greeted({ headSeq: 12 });
    assert.deepEqual([response.cursor, response.holes, response.liveStartFrom], [0, [{ start: 1, end: 3 }], 31]);
  },
);

test(
  "a boat that lost its newest frames to a power cut, and goes on above them, is taken at once; while another one streams " +
    "it may be an image of that and is refused",
  async (cloud, clock) => {
    const { live } = await original(cloud, 30);
    const cut = copyOf({ headSeq: 90, void: [{ start: 26, end: 91 }], digests: [digest(1, 25)] });
    const words = /^frame 30 is here and was not shown: two machines may be this boat, and the other one streams now$/;
    await assert.rejects(cloud.greeted(cut), code("FAILED_PRECONDITION", words));
    assert.equal(cloud.boat.connected, true);
    // A connection that a power cut has left: nothing comes of it.
    clock.advance(11_000);
    assert.deepEqual((await cloud.greeted(cut)).response.holes, []);
    const { boatHeadSeq, cursor, epoch } = cloud.boat.summary();
    assert.deepEqual([boatHeadSeq, cursor, epoch], [90, 90, EPOCH.toHex()]);
    await ended(cloud, live);
  },
);

test("a boat that is asked has to show something of what is here, as far as it has not deleted it", async (cloud) => {
  const { live } = await original(cloud, 30);
  await ended(cloud, live);
  const shakeTwice = async (init: Partial<HandshakeRequest>, digests: readonly WindowDigest[]) => {
    const { client } = await cloud.greeted(copyOf({ headSeq: 50, ...init }));
    return await client.handshake(request(copyOf({ headSeq: 50, ...init, digests })), TIMEOUT);
  };
  const words = /^frames up to 30 are here, and the boat can show none of them: two machines/;
  await assert.rejects(shakeTwice({}, []), code("FAILED_PRECONDITION", words));
  assert.equal(cloud.boat.summary().boatHeadSeq, 30);
  await shakeTwice({}, [digest(3, 22)]);
  assert.equal(cloud.boat.summary().boatHeadSeq, 50, "the rest of it cannot be read");
  await shakeTwice({ headSeq: 60, oldestSeq: 31 }, []);
  assert.equal(cloud.boat.summary().boatHeadSeq, 60);
});

test("a boat that streams is not refused for frames that came after it had sent its handshake", async (cloud) => {
  const { client, live } = await original(cloud, 30);
  const copy = copyOf({ headSeq: 12 });
  await assert.rejects(cloud.greeted(copy), code("FAILED_PRECONDITION", /at 12/));
  const lost = [{ start: 1, end: 3, reason: "gone" }];
  await client.handshake(request(copyOf({ headSeq: 28, void: [{ start: 27, end: 29 }], lost })), TIMEOUT);
  await live.send(batch(31, 40));
  await eventually("the rest", () => cloud.boat.received.cursor === 40);
  assert.equal(cloud.boat.connected, true);
});

async function answered(stream: MessageStream<BackfillStatus, BackfillUpstream>): Promise<BackfillStatus> {
  for await (const status of stream) return status;
  throw new Error("the stream ended before");
}

test(
  "a block with other frames under numbers that are here ends the streams of its machine, which is refused from " +
    "then on until it shows what is here",
  async (cloud) => {
    const { live } = await original(cloud, 50);
    await ended(cloud, live);
    const { client } = await cloud.greeted({ headSeq: 150, features: FEATURES });
    const taken = client.live();
    const blocks = client.backfill();
    await blocks.send({ block: wireBlock({ firstSeq: 41, frames: 100, startUs: 1.7e15 }) });
    await assert.rejects(answered(blocks), code("FAILED_PRECONDITION", /Frame 41 is here with other content/));
    await assert.rejects(statusWith(taken, () => false), code("FAILED_PRECONDITION", /other content/));
    await assert.rejects(cloud.greeted({ headSeq: 150, features: FEATURES }), code("FAILED_PRECONDITION", /Frame 41/));
    assert.equal(cloud.boat.received.last, 50);
    assert.equal(
      (await cloud.greeted({ headSeq: 60, features: FEATURES, digests: [digest(1, 50)] })).response.cursor,
      50,
    );
  },
);

test("blocks of a former epoch are filed with it, answered with its name, and count for nothing else", async (cloud) => {
  const { live } = await original(cloud, 50);
  await ended(cloud, live);
  const former = [{ epoch: EPOCH, head: 150, oldest: 1, void: [], lost: [{ start: 140, end: 151, reason: "gone" }] }];
  const base = { epoch: OTHER, headSeq: 3, features: FEATURES };
  const first = await cloud.greeted({ ...base, former });
  assert.deepEqual(first.response.formerHoles, [{ epoch: EPOCH, holes: [{ start: 51, end: 151 }] }]);
  const shown = [{ ...former[0]!, digests: [digest(1, 50)] }];
  const { client, response } = await cloud.greeted({ ...base, former: shown });
  assert.deepEqual(response.formerHoles, [{ epoch: EPOCH, holes: [{ start: 51, end: 140 }] }]);
  const blocks = client.backfill();
  await blocks.send({ block: { ...wireBlock({ firstSeq: 41, frames: 99 }), epoch: EPOCH } });
  const { epoch, continuousThrough, remaining, filled, rejected } = await answered(blocks);
  assert.deepEqual([epoch, continuousThrough, remaining, filled, rejected], [
    EPOCH,
    150,
    [],
    [{ start: 41, end: 140 }],
    [],
  ]);
  const { cursor, holes, epoch: current, formerEpochs } = cloud.boat.summary();
  assert.deepEqual([cursor, holes, current], [0, [{ start: 1, end: 4 }], OTHER.toHex()]);
  assert.deepEqual(formerEpochs.map(({ holes, lost }) => [holes, lost]), [[[], [{
    start: 140,
    end: 151,
    reason: "gone",
  }]]]);
});

test("of a former epoch with other frames nothing is taken, and nothing of one that no handshake told", async (cloud) => {
  const { live } = await original(cloud, 50);
  await ended(cloud, live);
  const former = [{ epoch: EPOCH, head: 150, oldest: 1, void: [], lost: [], digests: [digest(1, 50, { fork: 40 })] }];
  const { client, response } = await cloud.greeted({ epoch: OTHER, features: FEATURES, former });
  const words = `frames 1 to 50 of epoch ${EPOCH.toHex()} are here with other content`;
  assert.equal(response.formerHoles?.[0]?.refused, words);
  assert.equal(cloud.boat.former.isRefused, true);
  const blocks = client.backfill();
  await blocks.send({ block: { ...wireBlock({ firstSeq: 51 }), epoch: EPOCH } });
  assert.deepEqual((await answered(blocks)).rejected, [{ baseSeq: 51, reason: words }]);
  const unknown = new Uint8Array(16).fill(9);
  const others = (await cloud.greeted({ epoch: OTHER, features: FEATURES })).client.backfill();
  await others.send({ block: { ...wireBlock({ epoch: unknown }), epoch: unknown } });
  await assert.rejects(answered(others), code("FAILED_PRECONDITION", /handshake must declare epoch 0909/));
});

test("no more former epochs are kept of a boat than there is room for, and digests without frames cost nothing", async (cloud) => {
  const former = Array.from({ length: 64 }, (_, i) => {
    return { epoch: new Uint8Array(16).fill(i), head: 10, oldest: 1, void: [], lost: [] };
  });
  const far = 2 ** 36 * DIGEST_WINDOW;
  const digests = Array.from(
    { length: 128 },
    (_, i) => ({ firstSeq: far + i, lastSeq: far + i, hash: new Uint8Array(8) }),
  );
  const { response } = await cloud.greeted({ headSeq: 5, features: FEATURES, former, digests });
  const refused = response.formerHoles?.filter((each) => each.refused !== undefined).length;
  assert.deepEqual([response.formerHoles?.length, refused], [64, 48]);
  assert.equal(cloud.boat.summary().formerEpochs.length, 16);
});
