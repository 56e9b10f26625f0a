// An hour without the store, on a test clock.
import assert from "node:assert/strict";
import { Logger } from "../../../src/base/mod.ts";
import { ObjectCache } from "../../../src/cloud/mod.ts";
import { FrameShipper, type Shipped } from "../../../src/cloud/store/frame_shipper.ts";
import { type ObjectStore, openStore } from "../../../src/object_store/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { inFolder } from "../../support/folder.ts";
import { needs, rounds } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { batch, CloudFixture, framesOfStore, wanted } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const IDS = Array.from({ length: rounds(50, 10) }, (_, index) => `boat-${index + 1}`);
const INTERVAL_S = 30;
/** Boats send at this interval, so many frames: fewer than a real boat has. */
const SEND_S = 150;
const FRAMES = 75;
const HOUR = 3600 / SEND_S;
/** A store that fails is asked this often, and each time completes the file of one boat. */
const RETRY_S = 5;
/** Number, time, identifier, length and data of a frame, without compression. */
const FRAME_BYTES = 32;
/** Two write-ahead logs and an open file for each boat. */
const OPEN_FILES = 3;

/** Boats that stream into a cloud, which gives their frames to a store at an interval of the test clock. */
class Streams {
  readonly clock: FakeClock;
  readonly logged: string[] = [];
  readonly #cloud: CloudFixture;
  readonly #shipper: FrameShipper;
  readonly #send: ((from: number, to: number) => Promise<unknown>)[] = [];
  /** Boats whose frames are being stored. */
  #working = 0;
  /** Frames of each boat so far. */
  fed = 0;

  private constructor(cloud: CloudFixture, clock: FakeClock) {
    this.clock = clock;
    this.#cloud = cloud;
    const log = new Logger({ format: "json", write: (line) => this.logged.push(JSON.parse(line).message) });
    const boats = {
      [Symbol.iterator]: () => [...cloud.instances].map((boat) => this.#watched(boat))[Symbol.iterator](),
    };
    this.#shipper = new FrameShipper({ boats, intervalMs: INTERVAL_S * 1000, clock, log });
  }

  static async start(directory: string, store: ObjectStore): Promise<Streams> {
    const clock = new FakeClock();
    const frameStore = { store, cache: new ObjectCache({ store }) };
    const cloud = await CloudFixture.start(directory, { clock, frameStore });
    const streams = new Streams(cloud, clock);
    for (const instanceId of IDS) {
      const live = (await cloud.greeted({ instanceId })).client.live();
      streams.#send.push((from, to) => live.send(batch(from, to)));
    }
    return streams;
  }

  /** Lowest and highest number that boats are told. */
  get told(): { low: number; high: number } {
    const told = [...this.#cloud.instances].map(({ record }) => record.storedThrough() ?? NaN);
    return { low: Math.min(...told), high: Math.max(...told) };
  }

  /** All boats send frames, and time passes. */
  async run(): Promise<void> {
    const from = this.fed + 1;
    this.fed += FRAMES;
    await Promise.all(this.#send.map((send) => send(from, this.fed)));
    const isDurable = () => [...this.#cloud.instances].every((boat) => boat.acknowledge() === this.fed);
    await eventually("all frames to be durable", isDurable);
    await this.pass(SEND_S);
  }

  /** Lets seconds pass. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      this.#cloud.instances.runHousekeeping();
      this.#shipper.runHousekeeping();
      await eventually("the store", () => this.#working === 0);
    }
  }

  async stop(): Promise<void> {
    await this.#shipper.stop();
    await this.#cloud[Symbol.asyncDispose]();
  }

  readonly #known = new WeakMap<Shipped, Shipped>();

  #watched(boat: Shipped): Shipped {
    const known = this.#known.get(boat);
    if (known) return known;
    const watched = {
      id: boat.id,
      get hasUnstored() {
        return boat.hasUnstored;
      },
      get keepsFrames() {
        return boat.keepsFrames;
      },
      ship: async (signal: AbortSignal) => {
        this.#working++;
        await boat.ship(signal).finally(() => this.#working--);
      },
    };
    this.#known.set(boat, watched);
    return watched;
  }
}

/** Journal files of all boats, and their bytes. */
function spool(directory: string): { files: number; bytes: number } {
  const sum = { files: 0, bytes: 0 };
  for (const id of IDS) {
    for (const { name } of Deno.readDirSync(`${directory}/${id}`)) {
      if (!/\.lpj$|^tail-/.test(name)) continue;
      sum.files++;
      sum.bytes += Deno.statSync(`${directory}/${id}/${name}`).size;
    }
  }
  return sum;
}

Deno.test(
  "an hour without the store: nothing is told as stored, the spool grows by what is fed, and all is stored after it",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using disk = await openStore({ url: `file://${folder}/store` });
      const store = new WrappedStore(disk);
      const streams = await Streams.start(`${folder}/data`, store);
      await streams.run();
      await streams.pass(2 * INTERVAL_S);
      assert.deepEqual(streams.told, { low: streams.fed, high: streams.fed });
      const before = streams.fed;
      store.isAway = true;
      for (let i = 0; i < HOUR; i++) {
        await streams.run();
        assert.deepEqual(streams.told, { low: before, high: before });
      }
      const { files, bytes } = spool(`${folder}/data`);
      assert.ok(
        bytes <= streams.fed * IDS.length * FRAME_BYTES,
        `${bytes} bytes for ${streams.fed} frames of each boat`,
      );
      assert.ok(files <= 3600 / RETRY_S + OPEN_FILES * IDS.length, `${files} files`);
      store.isAway = false;
      await streams.pass(2 * INTERVAL_S);
      assert.deepEqual(streams.told, { low: streams.fed, high: streams.fed });
      await streams.pass(2 * INTERVAL_S);
      assert.ok(spool(`${folder}/data`).files <= OPEN_FILES * IDS.length);
      assert.deepEqual(streams.logged, ["frames not stored", "object store answers again"]);
      await streams.stop();
      for (const id of IDS) {
        assert.deepEqual(await framesOfStore(disk, { folder, id }), range(1, streams.fed).map(wanted), id);
      }
    }),
);
