import assert from "node:assert/strict";
import {
  type BackfillBlock,
  type HandshakeResponse,
  type Range,
  Ranges,
  type ReplicationClient,
  RpcError,
} from "../../src/replication/mod.ts";
import { TIMEOUT } from "../replication/fixture.ts";
import { eventually, pause } from "../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { batch, BOAT, CloudFixture, framesIn, request, wanted } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const RUNS = rounds(12, 6);
const STEPS = 40;
const MAX_BLOCK_FRAMES = 200;

/** A boat that keeps all its frames, and a cloud that is killed now and then. */
class Voyage {
  readonly #random: Random;
  readonly #folder: string;
  readonly #never = new Ranges();
  #head = 0;
  #acknowledged = 0;
  #lives = 0;
  #cloud: CloudFixture;
  #connection: { client: ReplicationClient; response: HandshakeResponse; live: Live; next: number } | undefined;

  constructor(random: Random, { folder, cloud }: { folder: string; cloud: CloudFixture }) {
    this.#random = random;
    this.#folder = folder;
    this.#cloud = cloud;
  }

  static async run(seed: number, folder: string): Promise<void> {
    const cloud = await CloudFixture.start(`${folder}/0`, { settings: { syncIntervalMs: 3, rotateBytes: 20_000 } });
    const voyage = new Voyage(new Random(seed), { folder, cloud });
    try {
      for (let step = 0; step < STEPS; step++) await voyage.#step();
      await voyage.#finish();
    } finally {
      await voyage.#cloud[Symbol.asyncDispose]();
    }
    const all = new Ranges([{ start: 1, end: voyage.#head + 1 }]).subtract(voyage.#never);
    const seqs = [...all].flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i));
    assert.deepEqual(await framesIn(`${voyage.#cloud.directory}/${BOAT}`), seqs.map(wanted));
  }

  async #step(): Promise<void> {
    const random = this.#random;
    const connection = this.#connection;
    const dice = random.int(100);
    if (!connection || dice < 8) return await this.#connect();
    if (dice < 45) return await this.#sendLive(random.between(1, 150));
    if (dice < 52) return void this.#skipLive();
    if (dice < 80) return await this.#sendBlocks();
    if (dice < 86) return this.#disconnect();
    if (dice < 92) return void await pause(random.int(30));
    await this.#kill();
  }

  async #connect(): Promise<void> {
    const client = await this.#cloud.client();
    const never = [...this.#never];
    const asked = request({ headSeq: this.#head, void: never, busNames: ["can0"] });
    const { response } = await client.handshake(asked, TIMEOUT);
    const holes = new Ranges(response.holes);
    const lost = holes.intersect(new Ranges([{ start: 1, end: this.#acknowledged + 1 }]));
    assert.deepEqual([...lost], [], "what was acknowledged is there");
    assert.equal(holes.intersect(this.#never).count, 0);
    const live = new Live(client, (ackSeq) => this.#acknowledged = Math.max(this.#acknowledged, ackSeq));
    this.#connection = { client, response, live, next: response.liveStartFrom };
  }

  #disconnect(): void {
    this.#connection?.client.close();
    this.#connection = undefined;
  }

  /** The boat goes on, and tells it live. */
  async #sendLive(count: number): Promise<void> {
    const connection = this.#connection!;
    this.#head = Math.max(this.#head, connection.next - 1) + count;
    await connection.live.send(batch(connection.next, this.#head));
    // Now and then some come again.
    if (this.#random.chance(0.1)) await connection.live.send(batch(Math.max(1, this.#head - 20), this.#head));
    connection.next = this.#head + 1;
  }

  /** The boat was started anew: it skips numbers, and comes again. */
  #skipLive(): void {
    this.#disconnect();
    if (this.#random.chance(0.5)) {
      this.#never.add(this.#head + 1, this.#head + 11);
      this.#head += 10;
    } else this.#head += this.#random.between(1, 300);
  }

  async #sendBlocks(): Promise<void> {
    const { client, response } = this.#connection!;
    const random = this.#random;
    const holes = random.some(response.holes, 0.7);
    const blocks = holes.flatMap((hole) => this.#blocksOf(hole, random)).slice(0, 30);
    if (random.chance(0.3)) blocks.push(...random.some(blocks, 0.3));
    const wild = blocks.map((block) => random.chance(0.05) ? spoilt(block) : block);
    const stream = client.backfill();
    try {
      for (const block of wild) await stream.send({ block });
      if (random.chance(0.3)) return;
      stream.end();
      for await (const { rejected } of stream) assert.ok(rejected.length <= wild.length);
    } catch (error) {
      assert.ok(error instanceof RpcError, `${error}`);
      this.#disconnect();
    }
  }

  /** Blocks that cover a range; they begin before it and go on behind it, as blocks do. Voids end them. */
  #blocksOf(hole: Range, random: Random): BackfillBlock[] {
    const blocks: BackfillBlock[] = [];
    for (let seq = Math.max(1, hole.start - random.int(20)); seq < hole.end;) {
      const frames = Math.min(random.between(1, MAX_BLOCK_FRAMES), this.#head - seq + 1);
      const end = this.#never.holes(seq + frames, seq)[0];
      if (end === undefined) {
        seq += frames;
        continue;
      }
      blocks.push(wireBlock({ firstSeq: end.start, frames: end.end - end.start, compressed: random.chance(0.8) }));
      seq = end.end;
    }
    return blocks;
  }

  /** The cloud is killed, and another one goes on with what it has left. */
  async #kill(): Promise<void> {
    const next = `${this.#folder}/${++this.#lives}`;
    Deno.mkdirSync(next);
    // What the boat may know by now must be there.
    const acknowledged = this.#cloud.instances.get(BOAT)?.acknowledge() ?? 0;
    this.#acknowledged = Math.max(this.#acknowledged, acknowledged);
    copyAsCrashed(this.#cloud.directory, next);
    this.#connection?.live.forget();
    this.#disconnect();
    await this.#cloud[Symbol.asyncDispose]();
    this.#cloud = await CloudFixture.start(next, { settings: { syncIntervalMs: 3, rotateBytes: 20_000 } });
  }

  /** The boat sends all that is missing. */
  async #finish(): Promise<void> {
    this.#disconnect();
    await this.#connect();
    let { client, response } = this.#connection!;
    const stream = client.backfill();
    for (const hole of response.holes) {
      for (const block of this.#blocksOf(hole, this.#random)) await stream.send({ block });
    }
    stream.end();
    for await (const { rejected } of stream) assert.deepEqual(rejected, []);
    await this.#sendLive(5);
    await eventually("everything to be safe", () => this.#cloud.boat.acknowledge() === this.#head);
    ({ response } = await this.#cloud.greeted({ headSeq: this.#head, void: [...this.#never] }));
    assert.deepEqual([response.cursor, response.holes], [this.#head, []]);
  }
}

/** A live stream whose acknowledgements are heard. */
class Live {
  readonly #stream;
  #hear: (ackSeq: number) => void;

  constructor(client: ReplicationClient, hear: (ackSeq: number) => void) {
    this.#stream = client.live();
    this.#hear = hear;
    void this.#read();
  }

  /** Hears nothing any more. */
  forget(): void {
    this.#hear = () => {};
  }

  async send(message: ReturnType<typeof batch>): Promise<void> {
    await this.#stream.send(message).catch((error) => assert.ok(error instanceof RpcError, `${error}`));
  }

  async #read(): Promise<void> {
    try {
      for await (const { ackSeq } of this.#stream) this.#hear(ackSeq);
    } catch (error) {
      assert.ok(error instanceof RpcError, `${error}`);
    }
  }
}

/** The same block, and one bit is wrong. */
function spoilt(block: BackfillBlock): BackfillBlock {
  return { ...block, data: block.data.map((byte, i) => i === 60 ? byte ^ 4 : byte) };
}

Deno.test({
  name:
    "cloud: whatever happens to boat, link and cloud, every frame is there once in the end, and what was acknowledged always",
  ...CLOUD,
  fn: async (t) => {
    for (let seed = 1; seed <= RUNS; seed++) {
      await t.step(`seed ${seed}`, () => inFolder((folder) => Voyage.run(seed, folder)));
    }
  },
});
