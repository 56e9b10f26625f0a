import { silentLogger, systemClock } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { BASE_SEQ_AT, CRC_FROM_END } from "../../src/journal/block/layout.ts";
import { JournalFile } from "../../src/journal/file/journal_file.ts";
import { BlockReader, crc32c, epochWordOf, JournalIndex, nextFileName, openBlockFile } from "../../src/journal/mod.ts";
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
const DAY_US = 86_400_000_000;
const SENSORS = 300;
const SOURCES = 30;
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];

/**
 * Gives the frame of each number, one object for all of a sensor. Values drift as those of sensors do.
 *
 * @param options.noisyBytes bytes of a payload that change with each frame: a journal takes 1.5 bytes a frame, and up to one more each
 */
export function daysFrames(
  random: Random,
  { frameUs = FRAME_US, noisyBytes = 1 }: { frameUs?: number; noisyBytes?: number } = {},
): (seq: number) => Message {
  const sensors = Array.from(
    { length: SENSORS },
    (_, i) => message({ pgn: PGNS[i % PGNS.length] ?? 0, src: i % SOURCES, data: random.bytes(8) }),
  );
  return (seq) => {
    const sensor = sensors[(seq - 1) % SENSORS] ?? message();
    for (let i = 0; i < noisyBytes; i++) sensor.data[sensor.offset + 1 + random.int(3 + i)] = random.int(256);
    sensor.timeUs = START_US + seq * frameUs;
    return sensor;
  };
}

/**
 * Writes a day of 200 frames a second. Returns the epoch.
 *
 * @param options.firstSeq its first number, default 1
 * @param options.isHourly one file for each hour, default; else one for all
 * @param options.perSecond frames a second, default 200
 */
export async function writeDay(
  directory: string,
  { firstSeq = 1, isHourly = true, perSecond = 200, noisyBytes = 1 }: {
    firstSeq?: number;
    isHourly?: boolean;
    perSecond?: number;
    noisyBytes?: number;
  } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const random = new Random(2);
  const epoch = random.bytes(16);
  const writer = new JournalWriter({ directory, buses: ["can0"], epoch, clock: systemClock, log: silentLogger });
  const frameOf = daysFrames(random, { frameUs: 1e6 / perSecond, noisyBytes });
  let seq = 1;
  for (let hour = 0; hour < HOURS; hour++) {
    for (let i = 0; i < perSecond * 3600; i++, seq++) writer.append(seq + firstSeq - 1, frameOf(seq));
    await (isHourly ? writer.rotate() : writer.sync());
  }
  if (writer.lost > 0) throw new Error(`The journal lacks ${writer.lost} frames`);
  await writer.close();
  return epoch;
}

/** Writes the same day again and again, in files of an hour, with later times and numbers: many times as fast. */
export async function writeDays(
  directory: string,
  { days, perSecond, noisyBytes = 1 }: { days: number; perSecond: number; noisyBytes?: number },
): Promise<void> {
  const epoch = await writeDay(directory, { perSecond, noisyBytes });
  const { files: hours } = await JournalIndex.open(directory, { log: silentLogger });
  const frames = HOURS * 3600 * perSecond;
  using reader = new BlockReader();
  for (let day = 1; day < days; day++) {
    for (const { path, firstTimeUs } of hours) {
      const { blocks, index: { header: { blockBytes } } } = await openBlockFile(path);
      const name = nextFileName("nmea2k", { timeUs: firstTimeUs + day * DAY_US, isTaken: () => false });
      const file = await JournalFile.create({
        ...{ path: `${directory}/${name}`, directory, blockBytes },
        ...{ compression: "zstd", epochWord: epochWordOf(epoch) },
      });
      for (const location of blocks) {
        const { block, bytes } = await reader.readStored(path, location);
        const later = new Uint8Array(bytes);
        const firstTimeUs = block.baseTimeUs + day * DAY_US;
        const firstSeq = (block.baseSeq ?? 0) + day * frames;
        const view = new DataView(later.buffer);
        view.setBigInt64(0, BigInt(firstTimeUs), true);
        view.setBigUint64(BASE_SEQ_AT, BigInt(firstSeq), true);
        view.setUint32(blockBytes - CRC_FROM_END, crc32c(later.subarray(0, blockBytes - CRC_FROM_END)), true);
        const numbers = { firstSeq, lastSeq: firstSeq + block.frameCount - 1, epochWord: epochWordOf(epoch) };
        await file.append({ bytes: later, firstTimeUs, latestTimeUs: firstTimeUs, ...numbers });
      }
      await file.end();
    }
  }
}
