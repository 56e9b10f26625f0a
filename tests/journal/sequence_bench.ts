import { Logger } from "../../src/base/mod.ts";
import type { JournalEnd } from "../../src/journal/sequence/sequence_start.ts";
import { SequenceStore, type SequenceStoreOptions } from "../../src/journal/sequence/sequence_store.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { Random } from "../support/random.ts";
import { FakeDisk } from "./fake_disk.ts";

/** Numbers reserved at once. */
export const RESERVE = 64;

/** A disk, a clock and a log, and stores on them. */
export function bench(seed = 1) {
  const random = new Random(seed);
  const disk = new FakeDisk(random);
  const clock = new FakeClock();
  const lines: string[] = [];
  const told: string[] = [];
  const open = (options: Partial<SequenceStoreOptions> = {}) =>
    SequenceStore.open({
      file: disk,
      clock,
      log: new Logger({ write: (line) => lines.push(line) }),
      randomBytes: (count) => random.bytes(count),
      reserve: RESERVE,
      onNewEpoch: (epoch, { code }) => told.push(`${code} ${epoch.toHex()}`),
      ...options,
    });
  return { disk, clock, lines, told, open };
}

/** So many numbers. */
export function take(store: SequenceStore, count: number): number[] {
  return Array.from({ length: count }, () => store.next());
}

/** Where a journal ends that has what the store gave out up to a number. */
export function endAt(store: SequenceStore, seq = store.head): JournalEnd {
  return { epoch: store.epoch, seq };
}
