// Program of the benchmark: writes hours of a boat's journal, 200 frames a second, a file an hour. Its argument is the
// JSON of HoursSettings. Prints a line when all is written.
import {
  BlockBuilder,
  compress,
  compressSmall,
  epochWordOf,
  JournalFile,
  nextFileName,
} from "../../src/journal/mod.ts";
import { Random } from "../support/random.ts";
import { daysFrames, FRAMES_AN_HOUR } from "./day.ts";

/** What is to be written. */
export interface HoursSettings {
  /** Is there. */
  directory: string;
  /** 32 hex digits. */
  epoch: string;
  /** From 0; frames are numbered as if those before were written, too. */
  firstHour: number;
  hours: number;
  /** `small`: as a boat that has time to; `fast`: as one whose bus is full. */
  packing: "small" | "fast";
}

const BLOCK_BYTES = 256 * 1024;
const { directory, epoch: hex, firstHour, hours, packing }: HoursSettings = JSON.parse(Deno.args[0] ?? "{}");
const epoch = Uint8Array.fromHex(hex);
const epochWord = epochWordOf(epoch);
const frameOf = daysFrames(new Random(firstHour));
const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });

async function seal(file: JournalFile): Promise<void> {
  const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = builder;
  const bytes = builder.finish();
  const packed = packing === "small" ? compressSmall(bytes) : compress(bytes, "zstd");
  await file.append({ bytes, firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord }, packed);
}

for (let hour = firstHour; hour < firstHour + hours; hour++) {
  const firstSeq = 1 + hour * FRAMES_AN_HOUR;
  const name = nextFileName("nmea2k", { timeUs: frameOf(firstSeq).timeUs, after: undefined, isTaken: () => false });
  const path = `${directory}/${name}`;
  const file = await JournalFile.create({ path, directory, blockBytes: BLOCK_BYTES, compression: "zstd", epochWord });
  const begin = () => builder.begin({ metadata: { buses: ["can0"], epoch } });
  begin();
  for (let seq = firstSeq; seq < firstSeq + FRAMES_AN_HOUR; seq++) {
    const frame = frameOf(seq);
    if (builder.append(seq, frame) === "added") continue;
    await seal(file);
    begin();
    builder.append(seq, frame);
  }
  await seal(file);
  await file.end();
}
console.log("written");
