import {
  newRecordingSummary,
  readRecording,
  type ReadRecordingOptions,
  type RecordedItem,
  type RecordingFormat,
  type RecordingSummary,
} from "../../src/can/mod.ts";
import { formatHex } from "../../src/frame/mod.ts";
import type { Random } from "./random.ts";

const DATA = new URL("../data/", import.meta.url);

/** A recording of tests/data, and what is in it, counted by hand. */
export interface Sample {
  file: string;
  format: RecordingFormat;
  lines: number;
  frames: number;
  messages: number;
  first: string;
  last: string;
}

/** The recordings of tests/data; items in the form of {@linkcode textOf}. */
export const SAMPLES: readonly Sample[] = [
  {
    file: "candump_sample3.txt",
    format: "candump",
    lines: 2378,
    frames: 2368,
    messages: 0,
    first: "1502984866421964 frame 09f112cc ff725aff7fff7ffd",
    last: "1502984883826292 frame 09f119cc ff765accf7f804ff",
  },
  {
    file: "candump_sample1_head.txt",
    format: "candump",
    lines: 600,
    frames: 591,
    messages: 0,
    first: "0 frame 18eeff01 05a0be1c00a0a0c0",
    last: "590000 frame 19fa0400 0412501df2664f0f",
  },
  {
    file: "ydwg_merrimac_head.txt",
    format: "ydwg",
    lines: 200,
    frames: 200,
    messages: 0,
    first: "1798617000 frame 0dff180d a28c50c0ffffffff",
    last: "1799175000 frame 0df90419 82ffffffffffffff",
  },
  {
    file: "csv_fast_scx20_head.txt",
    format: "csv",
    lines: 90,
    frames: 61,
    messages: 26,
    first: "1611790433519000 frame 0df11901 ff4a3b01002a00ff",
    last: "1611790434372000 frame 09f80101 b0cf740724d741d6",
  },
  {
    file: "csv_fast_garmin_head.txt",
    format: "csv",
    lines: 30,
    frames: 0,
    messages: 26,
    first: "1783450284255000 message 1defff00 e598101704040b020a6e0c1100",
    last: "1783450284256000 message 1defff00 e59810170404000b000b952e40",
  },
  {
    file: "csv_fast_strings.txt",
    format: "csv",
    lines: 18,
    frames: 0,
    messages: 12,
    first: "1460220071228000 message 19fb1200 1819ae8c0e2554484146584546504535373338406e0028001e003200ffffffff03e1",
    last:
      "1598104375143000 message 1df90515 ffff0200ffffffffe7030100000000030100ffffff7fffffff7f0100030100ffffff7fffffff7f",
  },
  {
    file: "csv_plain_fragments.txt",
    format: "csv",
    lines: 18,
    frames: 17,
    messages: 0,
    first: "1598104372882000 frame 1dff0128 00718c8093025465",
    last: "1598104372983000 frame 1dff0128 102020ffffffffff",
  },
  {
    file: "csv_mixed_susteranna_head.txt",
    format: "csv",
    lines: 152,
    frames: 133,
    messages: 12,
    first: "1598104356949000 frame 08ff001d 1399040500000200",
    last: "1598104361789000 message 1df21501 000001c414f20100",
  },
  {
    file: "ikonvert_head.txt",
    format: "ikonvert",
    lines: 200,
    frames: 0,
    messages: 193,
    first: "0 message 11f80f2b 12b65c030e811a57ff8760481e43ffff0000060006ffff007401ff",
    last: "35403000 message 09f11203 3f3fb40000000001",
  },
  {
    file: "actisense.ebl",
    format: "ebl",
    lines: 17,
    frames: 0,
    messages: 14,
    first:
      "1745600721993000 message 11fc1063 ffff0200010001000c0153514c20536572766572105cab24eb4ef30200450000000004000002000501444232105cab24eb4eff200060000000f33f0000",
    last:
      "1745600721994000 message 11fb1063 70ff17324c271e6d643930303036393930303036390b01313830302048656c70c0664ae9802cf355105cab2417324c271e7ffd393030303730393030303730105cab24eb4effff680601496f6e61",
  },
];

/** Bytes of a recording of tests/data; needs permission `read`. */
export function sampleBytes(file: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(file, DATA));
}

/** An item as a line. */
export function textOf({ kind, id, timeUs, data }: RecordedItem): string {
  return `${timeUs} ${kind} ${id.toString(16).padStart(8, "0")} ${formatHex(data)}`;
}

/** Everything a recording holds. */
export async function readAll(
  chunks: Iterable<Uint8Array> | string,
  options: ReadRecordingOptions = {},
): Promise<{ items: RecordedItem[]; texts: string[]; summary: RecordingSummary }> {
  const summary = newRecordingSummary();
  const pieces = typeof chunks === "string" ? [new TextEncoder().encode(chunks)] : chunks;
  const items = await Array.fromAsync(readRecording(streamOf(pieces), { ...options, summary }));
  return { items, texts: items.map(textOf), summary };
}

/** Chunks as a file gives them: in a buffer that is used again. */
export async function* streamOf(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    const reused = piece.slice();
    yield await Promise.resolve(reused);
    reused.fill(0xee);
  }
}

/** Cuts bytes at random, empty pieces included. */
export function* cut(bytes: Uint8Array, { random, most }: { random: Random; most: number }): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length;) {
    const length = random.int(most + 1);
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

/** Whether every line is accounted for. */
export function isComplete({ lines, frames, messages, bad, passedOver }: RecordingSummary): boolean {
  return lines === frames + messages + bad + Object.values(passedOver).reduce((a, b) => a + b);
}
