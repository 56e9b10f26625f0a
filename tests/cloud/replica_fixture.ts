import { type Clock, Logger } from "../../src/base/mod.ts";
import { type Broker, type DeviceRecord, type Registry, RingPool } from "../../src/broker/mod.ts";
import { Replica, type ReplicaOptions } from "../../src/cloud/mod.ts";
import { formatHex, type Message } from "../../src/frame/mod.ts";
import { type BlockDevice, Journal, NO_PRODUCT } from "../../src/journal/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { claim, message, product } from "../support/messages.ts";
import type { Random } from "../support/random.ts";

const BUSES = ["can0", "can1"];

/** A boat's directory in the cloud, with a journal that takes what its replica takes. */
export class BoatHere {
  readonly clock = new FakeClock();
  readonly pool = new RingPool();
  /** What was logged. */
  readonly lines: string[] = [];
  readonly directory: string;
  /** Last number that came. */
  head = 0;
  readonly #journal: Journal;
  readonly #late: { registry?: Registry };

  private constructor(directory: string, journal: Journal, late: { registry?: Registry }) {
    this.directory = directory;
    this.#journal = journal;
    this.#late = late;
  }

  static async open(folder: string): Promise<BoatHere> {
    const directory = `${folder}/boat-1`;
    await Deno.mkdir(directory);
    const silent: Clock = new FakeClock();
    const log = new Logger({ write: () => {} });
    const late: { registry?: Registry } = {};
    const journal = await Journal.open({
      ...{ directory, log, buses: BUSES, clock: silent, compression: "zstd", blockBytes: 4096, rotateBytes: 10_000 },
      stateDirectory: directory,
      devices: () => Array.from(late.registry ?? [], blockDevice).filter(({ name }) => name !== 0n),
      productOf: (bus, src) => late.registry?.get(bus, src)?.product,
    });
    return new BoatHere(directory, journal, late);
  }

  /** The run of numbers that the journal is in. */
  get epoch(): string {
    return this.#journal.epoch.toHex();
  }

  /** Opens the replica as it would be after whatever came before. */
  async replica(options: Partial<ReplicaOptions> = {}): Promise<Replica> {
    const { clock, pool, directory, epoch, head } = this;
    const replica = await Replica.open({
      ...{ clock, pool, directory, epoch, head },
      id: "boat-1",
      buses: BUSES,
      index: this.#journal.index,
      ringFrames: 1024,
      maxValues: 65_536,
      deviceIdleTimeoutMs: 300_000,
      sessionLimits: () => ({ maxSessions: 10, maxSessionsPerOwner: 10, maxTimeoutMs: 3_600_000 }),
      log: new Logger({ write: (line) => this.lines.push(line) }),
      ...options,
    });
    this.#late.registry = replica.broker.registry;
    return replica;
  }

  /** A live frame comes: it is recorded, and given to the replica if there is one. */
  feed(frame: Message, replica?: Replica): void {
    this.head = this.#journal.next();
    this.#journal.append(this.head, frame);
    replica?.publish(this.head, frame);
  }

  /** So many numbers go by, and nothing comes with them. */
  skip(count: number): void {
    for (let i = 0; i < count; i++) this.head = this.#journal.next();
  }

  /** Files of the journal that are whole, the oldest first. */
  async closedFiles(): Promise<string[]> {
    await this.#journal.sync();
    return this.#journal.index.files.slice(0, -1).map(({ path }) => path);
  }

  /** Lines of the log that say this. */
  told(what: string): string[] {
    return this.lines.filter((line) => line.includes(what));
  }

  async close(): Promise<void> {
    await this.#journal.close();
  }
}

/** What a block says of a device. */
function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}

/** Ends a replica as a crash does: nothing is written any more. */
export async function crash(replica: Replica): Promise<void> {
  await replica.sessions.stop();
}

/** What the API tells of devices and values, and more. */
export function knowledge(broker: Broker): { devices: unknown[]; values: unknown[] } {
  const devices = [...broker.registry];
  return {
    devices: devices.map((device) => broker.registry.describe(device)),
    values: devices.flatMap(({ bus, src }) =>
      broker.values.of(bus, src).map(({ data, length, ...value }) => ({
        bus,
        ...value,
        data: formatHex(data, { start: 0, length }),
      }))
    ),
  };
}

/** The next message of a busy boat: devices that claim, move, tell what they are, and say all kinds of things. */
export function anyMessage(random: Random, at: number): Message {
  const init = { bus: random.int(2), src: random.int(20), monoMs: at };
  const kind = random.int(20);
  if (kind === 0) return claim(BigInt(random.between(1, 30)) << 32n, init);
  if (kind === 1) return product(`model ${random.int(5)}`, init);
  const pgn = random.pick([127250, 129025, 129029, 126720, 130306, 59904]);
  return message({ ...init, pgn, data: random.bytes(random.pick([0, 1, 8, 8, 8, 43, 223])) });
}
