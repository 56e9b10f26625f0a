import { Broker, Decoder } from "../../src/broker/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { listDevices, listValues } from "../../src/http/reads.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { Past, type PastOptions } from "../../src/past/mod.ts";
import { silentLogger } from "../../src/base/mod.ts";
import type { FakeClock } from "../support/fake_clock.ts";
import { EPOCH, makeWriter } from "../support/journal_run.ts";
import { claim, message, product } from "../support/messages.ts";
import { Random } from "../support/random.ts";

export const BUSES = ["can0", "can1"];
export const IDLE_MS = 300_000;
const decoder = new Decoder();

/** What a server shows at a time. */
export interface Shown {
  timeUs: number;
  devices: unknown;
  values: unknown;
}

/** What the tables show. */
export function shownOf(broker: Broker, { timeUs, isCounted = true }: { timeUs: number; isCounted?: boolean }): Shown {
  const devices = listDevices(broker, { labels: true, isCounted });
  return { timeUs, devices, values: [...listValues(broker, {}, { decode: true, labels: true })] };
}

/** Devices that come, fall silent, change their address and NAME; messages of many PGNs, some sent once. */
export function* traffic(random: Random, { clock, frames }: { clock: FakeClock; frames: number }): Generator<Message> {
  const silentUntilMs = new Map<number, number>();
  const addressOf = (device: number) => 20 + (device * 7 + Math.floor(clock.monoMs() / 700_000) * (device % 3)) % 60;
  const begin = (device: number, bus: number) => ({ src: addressOf(device), bus, timeUs: clock.wallUs() });
  for (let i = 0; i < frames; i++) {
    clock.advance(1 + random.int(900));
    const device = random.int(12);
    const bus = device % 2;
    const nowMs = clock.monoMs();
    if ((silentUntilMs.get(device) ?? 0) > nowMs) continue;
    if (random.int(400) === 0) silentUntilMs.set(device, nowMs + random.int(3 * IDLE_MS));
    const at = { ...begin(device, bus), monoMs: nowMs };
    const kind = random.int(100);
    if (kind < 3) yield claim(BigInt(0x1000 + device) << 20n | 1n, at);
    else if (kind < 5) yield product(`Model ${device}`, at);
    else {
      const pgn = [127250, 128267, 129026, 130306, 127488, 127505, 61184 + device][random.int(kind < 10 ? 7 : 4)] ?? 0;
      yield message({ ...at, pgn, data: random.bytes(8) });
    }
  }
}

/** Runs of a boat server: what it recorded, and what it showed at random instants. */
export async function recordRuns(
  directory: string,
  { seed, runs, frames, instants, rotateEvery = 1500 }: {
    seed: number;
    runs: number;
    frames: number;
    instants: number;
    rotateEvery?: number;
  },
): Promise<Shown[]> {
  const random = new Random(seed);
  const shown: Shown[] = [];
  let seq = 0;
  let clock: FakeClock | undefined;
  for (let run = 0; run < runs; run++) {
    const bootId = random.bytes(16);
    const made = makeWriter(directory, { epoch: EPOCH, buses: BUSES, bootId, ...(clock && { clock }) });
    clock ??= made.clock;
    const { writer } = made;
    const broker = new Broker({ buses: BUSES, ringFrames: 16, decoder });
    let expiredMs = clock.monoMs();
    // The server looks for idle devices once a second, also when nothing comes.
    const expire = (nowMs: number) => {
      for (; expiredMs + 1000 <= nowMs; expiredMs += 1000) broker.registry.expire(expiredMs + 1000, IDLE_MS);
    };
    for (const each of traffic(random, { clock, frames })) {
      expire(clock.monoMs());
      seq++;
      broker.publish(each, seq);
      writer.append(seq, each);
      if (seq % rotateEvery === 0) await writer.rotate();
      // The server removes a device up to a second after its time is over.
      const nowMs = clock.monoMs();
      const isAtEdge = [...broker.registry].some(({ lastMonoMs }) => nowMs - lastMonoMs > IDLE_MS);
      if (!isAtEdge && random.int(runs * frames) < instants) shown.push(shownOf(broker, { timeUs: clock.wallUs() }));
    }
    await writer.close();
    clock.advance(60_000 + random.int(3_600_000));
  }
  return shown;
}

/** The past of a directory. */
export async function openPast(directory: string, options: Partial<PastOptions> = {}): Promise<Past> {
  return pastOf(await JournalIndex.open(directory, { log: silentLogger }), options);
}

/** The past of a journal. */
export function pastOf(index: JournalIndex, options: Partial<PastOptions> = {}): Past {
  return new Past({
    ...{ index, buses: BUSES, decoder, maxValues: 65_536, forgets: "start", log: silentLogger },
    deviceIdleTimeoutMs: () => IDLE_MS,
    ...options,
  });
}

/** Reads without pauses. */
export const reader = { slice: () => Promise.resolve(Infinity) };
