import { silentLogger, systemClock } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { JournalWriter } from "../../src/journal/writer/journal_writer.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** Hours of a day. */
export const HOURS = 24;
/** At 200 frames a second. */
export const FRAMES_AN_HOUR = 200 * 3600;
/** When the day begins, microseconds since 1970. */
export const START_US = Date.UTC(2026, 0, 1) * 1000;
const FRAME_US = 5000;
const SENSORS = 300;
const SOURCES = 30;
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];

/** Gives the frame of each number, one object for all of a sensor. Values drift as those of sensors do. */
export function daysFrames(random: Random, { frameUs = FRAME_US } = {}): (seq: number) => Message {
  const sensors = Array.from(
    { length: SENSORS },
    (_, i) => message({ pgn: PGNS[i % PGNS.length] ?? 0, src: i % SOURCES, data: random.bytes(8) }),
  );
  return (seq) => {
    const sensor = sensors[(seq - 1) % SENSORS] ?? message();
    sensor.data[sensor.offset + 1 + random.int(3)] = random.int(256);
    sensor.timeUs = START_US + seq * frameUs;
    return sensor;
  };
}

/**
 * Writes a day of 200 frames a second. Returns the epoch.
 *
 * @param options.firstSeq its first number, default 1
 * @param options.isHourly one file for each hour, default; else one for all
 * @param options.hours default a day
 * @param options.perSecond frames a second, default 200
 */
export async function writeDay(
  directory: string,
  { firstSeq = 1, isHourly = true, hours = HOURS, perSecond = 200 }: {
    firstSeq?: number;
    isHourly?: boolean;
    hours?: number;
    perSecond?: number;
  } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const random = new Random(2);
  const epoch = random.bytes(16);
  const writer = new JournalWriter({ directory, buses: ["can0"], epoch, clock: systemClock, log: silentLogger });
  const frameOf = daysFrames(random, { frameUs: 1e6 / perSecond });
  let seq = 1;
  for (let hour = 0; hour < hours; hour++) {
    for (let i = 0; i < perSecond * 3600; i++, seq++) writer.append(seq + firstSeq - 1, frameOf(seq));
    await (isHourly ? writer.rotate() : writer.sync());
  }
  if (writer.lost > 0) throw new Error(`The journal lacks ${writer.lost} frames`);
  await writer.close();
  return epoch;
}
