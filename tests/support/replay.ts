import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { type Message, newStoredFrame } from "../../src/frame/mod.ts";
import type { BlockDevice } from "../../src/journal/mod.ts";
import { PlayedBlocks, Player, type PlayerOptions, Playlist, type PlaylistOptions } from "../../src/recordings/mod.ts";
import { FakeClock } from "./fake_clock.ts";
import { TestJournal } from "./history.ts";
import { type FrameSeen, frameSeen, framesOf } from "./journal_files.ts";
import { message } from "./messages.ts";

/** Bytes of a block of recordings made here: some 180 frames. */
const BLOCK_BYTES = 4096;

/** What a recording is made of. */
export interface RecordedFile {
  messages: readonly Message[];
  buses?: string[];
  devices?: BlockDevice[];
  /** First number, default 1000: what is played is numbered anew. */
  firstSeq?: number;
}

/** Writes a journal file, and tells its path. `name` decides the order in which it is played. */
export async function record(
  folder: string,
  { name = "a", messages, buses = ["can0"], devices = [], firstSeq = 1000 }: RecordedFile & { name?: string },
): Promise<string> {
  const directory = `${folder}/${name}.tmp`;
  await Deno.mkdir(directory);
  {
    await using journal = await TestJournal.open(directory, { blockBytes: BLOCK_BYTES, buses, devices: () => devices });
    journal.append(firstSeq, messages);
  }
  const path = `${folder}/${name}.lpj`;
  for await (const { name: file } of Deno.readDir(directory)) {
    if (file.endsWith(".lpj")) await Deno.rename(`${directory}/${file}`, path);
  }
  await Deno.remove(directory, { recursive: true });
  return path;
}

/** Messages, one each `everyMs`, that can be told apart. */
export function messages(count: number, { fromMs = 0, everyMs = 10, src = 1, bus = 0 } = {}): Message[] {
  return Array.from({ length: count }, (_, i) => {
    const data = [i & 0xff, i >> 8, src, 4, 5, 6, 7, 8];
    return message({ monoMs: fromMs + i * everyMs, src, bus, data });
  });
}

/** A frame as it was published, and when. */
export interface PublishedFrame extends FrameSeen {
  atMs: number;
}

/** A replay on a clock of its own: sleeping moves the clock, and nothing else does. */
export class TestReplay {
  readonly broker: Broker;
  readonly played: PlayedBlocks;
  readonly player: Player;
  /** All that was published. */
  readonly frames: PublishedFrame[] = [];

  private constructor(playlist: Playlist, { oversleptMs = () => 0, realTime = false, ...options }: TestReplayOptions) {
    const clock = new FakeClock();
    const broker = this.broker = new Broker({ buses: playlist.buses, ringFrames: 16 });
    this.played = new PlayedBlocks(() => broker.head);
    const sleep = async (ms: number) => {
      clock.advance(ms + oversleptMs());
      // Whoever reads beside the replay has its turn.
      await new Promise((resolve) => setTimeout(resolve));
    };
    const frame = newStoredFrame();
    const keep = (seq: number) => {
      if (broker.ring.read(seq, frame)) this.frames.push({ ...frameSeen(frame), atMs: clock.monoMs() });
    };
    const subscription = broker.subscribe({ capacity: 16, wake: () => subscription.drain(keep) });
    const time = realTime ? { clock: systemClock } : { clock, sleep };
    this.player = new Player({ playlist, played: this.played, broker, ...time, log: silentLogger, ...options });
  }

  /** Frames of what was played. */
  async read(range: Parameters<PlayedBlocks["blocks"]>[0]): Promise<FrameSeen[]> {
    const found: FrameSeen[] = [];
    for await (const block of this.played.blocks(range)) found.push(...framesOf(block));
    return found.filter(({ seq }) => seq >= (range.fromSeq ?? 0));
  }

  /** Opens the files; nothing is played before `player.run()`. */
  static async open(paths: string[], { startUs, log = silentLogger, ...options }: TestReplayOptions = {}) {
    return new TestReplay(await Playlist.open({ paths, startUs, log }), { log, ...options });
  }
}

/** How a replay is made for a test. */
export type TestReplayOptions =
  & Partial<Pick<PlayerOptions, "speed" | "loop" | "deviceIdleTimeoutMs" | "log">>
  & Partial<Pick<PlaylistOptions, "startUs">>
  & {
    /** How much later than asked for a sleep ends. */
    oversleptMs?: () => number;
    /** Plays on the machine's clock. */
    realTime?: boolean;
  };
