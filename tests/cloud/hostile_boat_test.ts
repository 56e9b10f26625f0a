import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { BackfillSession } from "../../src/cloud/service/backfill_session.ts";
import { backfillStatusCodec, backfillUpstreamCodec } from "../../src/replication/wire/codec.ts";
import { type ByteCall, MessageStream } from "../../src/replication/grpc/stream.ts";
import { type RejectedBlock, RpcError } from "../../src/replication/mod.ts";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { batch, CloudFixture, type CloudInit, framesIn, request, statusWith, wanted } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

function test(name: string, run: (cloud: CloudFixture, folder: string) => Promise<void>, init: CloudInit = {}): void {
  Deno.test({
    name: `cloud, two machines or a hostile one: ${name}`,
    ...CLOUD,
    fn: () =>
      inFolder(async (folder) => {
        await using cloud = await CloudFixture.start(`${folder}/data`, init);
        await run(cloud, folder);
      }),
  });
}

const OTHER = new Uint8Array(16).fill(0xb2);

test("live frames of a run that another machine has ended meanwhile are not taken for the new run's", async (cloud) => {
  const { client: first } = await cloud.greeted({ headSeq: 5000 });
  // Between the first one's handshake and its stream.
  const { client: second } = await cloud.greeted({ epoch: OTHER });
  const late = first.live();
  await late.send(batch(5000, 5010));
  await assert.rejects(statusWith(late, () => true), code("FAILED_PRECONDITION", /handshake/));
  const live = second.live();
  await live.send(batch(1, 10));
  await eventually("all of the second", () => cloud.boat.acknowledge() === 10);
  const { receivedThrough, counters } = cloud.boat.summary();
  assert.deepEqual([receivedThrough, counters.duplicateFrames], [10, 0]);
  await assert.rejects(
    first.handshake(request({ headSeq: 5010 }), TIMEOUT),
    code("FAILED_PRECONDITION", /two machines/),
  );
});

for (const isOnDisk of [true, false]) {
  const where = isOnDisk ? "on disk" : "about to be";
  test(`a block of numbers that are ${where} with other frames is refused, and not a frame is mixed`, async (cloud) => {
    cloud.settings.syncIntervalMs = isOnDisk ? 20 : 3_600_000;
    const { client } = await cloud.greeted();
    const live = client.live();
    await live.send(batch(1, 100));
    await eventually("frames", () => cloud.boat.received.cursor === 100);
    if (isOnDisk) await eventually("disk", () => cloud.boat.acknowledge() === 100);
    const { client: clone, response } = await cloud.greeted({ headSeq: 301 });
    assert.deepEqual(response.holes, [{ start: 101, end: 301 }]);
    const backfill = clone.backfill();
    const good = wireBlock({ firstSeq: 51, frames: 100 });
    await backfill.send({ block: wireBlock({ firstSeq: 91, frames: 100, startUs: START_US + 1 }) });
    await backfill.send({ block: good });
    const rejected: RejectedBlock[] = [];
    for await (const answer of backfill) {
      rejected.push(...answer.rejected);
      if (cloud.boat.received.cursor === 150) break;
    }
    assert.deepEqual(rejected, [{
      baseSeq: 91,
      reason: "Frame 91 is here with other content: two machines may be this boat",
    }]);
    const { counters, holes } = cloud.boat.summary();
    assert.deepEqual([counters.verifyFailures, counters.backfillFrames, holes[0]?.start], [1, 50, 151]);
    assert.match((await cloud.boat.events.list()).map(({ detail }) => detail).join(), /refused: Frame 91/);
    await cloud.instances.stop();
    assert.deepEqual(await framesIn(cloud.boat.directory), Array.from({ length: 150 }, (_, i) => wanted(i + 1)));
  });
}

/** A call on which the same message comes for ever, and what is sent is never read. */
class UnheardCall implements ByteCall {
  readonly writableNeedDrain = true;
  reads = 0;
  readonly #message: Buffer;

  constructor(message: Buffer) {
    this.#message = message;
  }

  read(): Buffer {
    this.reads++;
    return this.#message;
  }

  write(): boolean {
    return false;
  }

  end(): void {}

  on(): void {}
}

test("who sends blocks that are none and does not hear it has to wait", async (cloud) => {
  await cloud.greeted({ headSeq: 5000 });
  const lie = { ...wireBlock({ frames: 10, blockBytes: 4096 }), baseSeq: 2 };
  const call = new UnheardCall(Buffer.from(backfillUpstreamCodec.encode({ block: lie })));
  const ofCall = {
    incoming: backfillUpstreamCodec,
    outgoing: backfillStatusCodec,
    toError: (error: unknown) => new RpcError("UNKNOWN", String(error)),
  };
  const session = new BackfillSession({
    instance: cloud.boat,
    stream: new MessageStream(call, ofCall),
    caller: cloud.server.callers.at(-1)!,
    settings: () => cloud.settings,
    clock: systemClock,
    log: silentLogger,
  });
  const running = session.run();
  const told = 256;
  await eventually("as many as are remembered", () => call.reads >= told);
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setTimeout(resolve));
  // Those of the answer that is under way, and the one that waits.
  assert.ok(call.reads <= told + 3, `${call.reads}`);
  session.end(new RpcError("CANCELLED", "enough"));
  await assert.rejects(running, code("CANCELLED", /enough/));
});
