// What a test knows of the runs of a boat server: what was put on its buses while it ran, and what other readers find.
import { readLpj } from "./minimal_lpj_reader.ts";
import { FAST_EVERY, FAST_FRAMES, type FedPiece } from "./replication_feed.ts";

/** Frames of a message of the feed. */
export function framesOf(number: number): number {
  return number % FAST_EVERY === 0 ? FAST_FRAMES : 1;
}

/** What was put on one bus during one run. */
export interface HeardOnBus {
  /** Pieces that somebody listened to. */
  pieces: FedPiece[];
  /** Frames of messages that never got their rest, after so many messages of this run. */
  broken: { after: number; frames: number }[];
}

/** One run of a boat server. */
export interface KnownRun {
  /** Before its process was started, and when it had answered; microseconds since 1970. */
  beganUs: number;
  answeredUs: number;
  /** Its last number at its start. */
  headBefore: number;
  buses: HeardOnBus[];
  /** What ended it, and when that was asked for and certain; undefined: it runs. */
  end?: { how: "SIGKILL" | "SIGTERM"; askedUs: number; overUs: number };
  /** All that was put on the buses had reached the server before it ended. */
  isDrained: boolean;
  /** Last number that it had reported as synced. */
  durable: number;
  /** What was put on the buses after its end, while no server ran. */
  afterEnd: FedPiece[];
  /** By bus: messages of this run up to the last one that was in a file at any time. */
  through: number[];
}

/** Numbers of the messages of a run on a bus, in their order. */
export function heardBy({ buses }: KnownRun, bus: number): number[] {
  return (buses[bus]?.pieces ?? []).flatMap(({ first, last }) =>
    Array.from({ length: last - first + 1 }, (_, i) => first + i)
  );
}

/** Messages of the feed in the files of a directory, by their sequence number, as another reader finds them. */
export function messagesIn(directory: string): Map<bigint, number> {
  const found = new Map<bigint, number>();
  for (const { name } of Deno.readDirSync(directory)) {
    if (!name.endsWith(".lpj")) continue;
    for (const { seq, number } of messagesOf(`${directory}/${name}`)) {
      if (found.has(seq) && found.get(seq) !== number) throw new Error(`Two messages have the number ${seq}`);
      found.set(seq, number);
    }
  }
  if (new Set(found.values()).size !== found.size) throw new Error("A message has two numbers");
  return found;
}

function messagesOf(path: string): { seq: bigint; number: number }[] {
  let bytes: Uint8Array;
  try {
    bytes = Deno.readFileSync(path);
  } catch (error) {
    // Retention was faster.
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  // A file that is being written may not have its header yet.
  if (bytes.length < 16) return [];
  return readLpj(bytes).blocks.flatMap(({ frames }) =>
    frames.map(({ seq, data }) => ({
      seq,
      number: new DataView(Uint8Array.fromHex(data).buffer).getUint32(0, true),
    }))
  );
}

/** Notes what is in files of each run. */
export function noteRecorded(runs: readonly KnownRun[], inFiles: ReadonlySet<number>): void {
  for (const run of runs) {
    for (const bus of run.buses.keys()) {
      const last = heardBy(run, bus).findLastIndex((number) => inFiles.has(number));
      run.through[bus] = Math.max(run.through[bus] ?? 0, last + 1);
    }
  }
}

/** Sum of numbers. */
export function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
