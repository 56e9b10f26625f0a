import { setImmediate } from "node:timers";
import type { Clock } from "../base/mod.ts";
import { addDecoded, addLabels, type Broker, busText, type FrameDetail, frameText } from "../broker/mod.ts";
import { type CompiledFilter, compileFilter, type Filter } from "../filter/mod.ts";
import { newStoredFrame, parseName, type StoredFrame } from "../frame/mod.ts";
import { type Block, type BlockDevice, BlockError, type JournalIndex } from "../journal/mod.ts";
import { manufacturerCode } from "../pgn/mod.ts";
import { HistoryTurns } from "./history_turns.ts";
import { DEFAULT_MAX_HISTORY, type HistoryQuery, type HistoryRange, rangeOf } from "./history_query.ts";
import { filterOf } from "./params.ts";
import { ApiError } from "./reply.ts";

/** Recorded frames that can be asked for. */
export type HistoryIndex = Pick<JournalIndex, "blocks" | "noteDamaged">;

/** What a history is made of. */
export interface HistorySource {
  broker: Broker;
  journal?: { index: HistoryIndex } | undefined;
  clock: Clock;
  /** Limits how many are answered at once; left out: nothing does. */
  histories?: HistoryTurns;
  /** Most frames that may be asked for now; default a million. */
  maxLimit?: () => number | undefined;
}

/** A reply is sent in pieces of about this many characters. */
const PIECE_CHARACTERS = 65_536;
/** Frames are read for so long, by all histories together, before other work has its turn … */
const SLICE_MS = 4;
/** … and so many before the time is looked at. */
const FRAMES_A_LOOK = 256;
const ADDRESSES = 256;
const encoder = new TextEncoder();

/**
 * Answers `GET /history`: made while it is sent, so that neither a long one nor a slow client costs memory.
 *
 * @throws {ApiError} 400, or 503: there is no journal, or too many wait for their turn
 */
export async function openHistory(
  { broker, journal, clock, maxLimit, histories = new HistoryTurns() }: HistorySource,
  { query, request }: { query: HistoryQuery; request: Request },
): Promise<Response> {
  const range = rangeOf(query, { nowUs: clock.wallUs(), maxLimit: maxLimit?.() ?? DEFAULT_MAX_HISTORY });
  if (!journal) throw new ApiError(503, "No journal is kept: see -journal-dir");
  const wanted = new WantedFrames(filterOf(query), { ...query, ...range, buses: broker.buses });
  const release = await histories.take(request);
  const texts = jsonTexts(journal.index, { wanted, broker, detail: query, histories });
  return new Response(bodyOf(texts, { release, idleMs: histories.idleMs }), {
    headers: { "Content-Type": "application/json" },
  });
}

/** The texts as a body. It ends when its client takes nothing for too long: others wait for their turn. */
function bodyOf(
  texts: AsyncGenerator<string, void>,
  { release, idleMs }: { release: () => void; idleMs: number },
): ReadableStream<Uint8Array> {
  let idle: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const over = () => {
    isOver = true;
    clearTimeout(idle);
    release();
  };
  const wait = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    idle = setTimeout(() => {
      over();
      controller.error(new Error(`The client took nothing for ${idleMs / 1000} s`));
      void texts.return();
    }, idleMs);
  };
  return new ReadableStream<Uint8Array>({
    start: wait,
    async pull(controller) {
      clearTimeout(idle);
      try {
        for (;;) {
          const { value, done } = await texts.next();
          if (isOver) return;
          if (done) {
            over();
            return controller.close();
          }
          if (value === "") continue;
          controller.enqueue(encoder.encode(value));
          return wait(controller);
        }
      } catch (error) {
        over();
        throw error;
      }
    },
    async cancel() {
      over();
      await texts.return();
    },
  }, { highWaterMark: 0 });
}

/** The list in pieces. An empty piece says that a block held nothing, and lets a reader that was cancelled go. */
async function* jsonTexts(
  index: HistoryIndex,
  { wanted, broker, detail, histories }: {
    wanted: WantedFrames;
    broker: Broker;
    detail: FrameDetail;
    histories: HistoryTurns;
  },
): AsyncGenerator<string, void> {
  const frame = newStoredFrame();
  const { fromUs, toUs } = wanted.range;
  let piece = "[";
  let before = "";
  const sliceEnd = () => performance.now() + SLICE_MS / Math.max(1, histories.running);
  let sliceEndMs = sliceEnd();
  for await (const block of index.blocks({ fromUs, toUs })) {
    wanted.enter(block);
    const cursor = block.frames();
    while (!wanted.isFull && nextFrame(cursor, { frame, index, block })) {
      if (wanted.takes(frame, cursor.index - 1)) {
        const text = frameText(frame, wanted.busText(frame.bus));
        piece += before + detailed(text, frame, { detail, broker });
        before = ",";
      } else if (cursor.index % FRAMES_A_LOOK !== 0) continue;
      if (performance.now() < sliceEndMs && piece.length < PIECE_CHARACTERS) continue;
      if (piece.length >= PIECE_CHARACTERS) {
        yield piece;
        piece = "";
      }
      await new Promise((resolve) => setImmediate(resolve));
      sliceEndMs = sliceEnd();
    }
    yield piece;
    piece = "";
    if (wanted.isFull) break;
  }
  yield piece + "]";
}

/** Reads the next frame; a block whose bytes are whole and whose frames are not ends where that shows. */
function nextFrame(
  cursor: ReturnType<Block["frames"]>,
  { frame, index, block }: { frame: StoredFrame; index: HistoryIndex; block: Block },
): boolean {
  try {
    return cursor.next(frame);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    index.noteDamaged(block, error);
    return false;
  }
}

function detailed(
  text: string,
  { pgn, data, offset, length }: StoredFrame,
  { detail: { decode, labels }, broker: { decoder } }: { detail: FrameDetail; broker: Broker },
): string {
  if (!decode && !labels) return text;
  const payload = data.subarray(offset, offset + length);
  const decoded = addDecoded(text, decoder.json(pgn, payload));
  return labels ? addLabels(decoded, decoder.labels(pgn, payload)) : decoded;
}

/** Decides frame by frame, block by block. */
class WantedFrames {
  readonly range: HistoryRange;
  readonly #filter: Filter;
  /** Buses of the server: what a block's indexes mean when it does not say. */
  readonly #buses: readonly string[];
  readonly #sources: Uint8Array | undefined;
  readonly #intervalUs: number | undefined;
  /** Newest span of time a frame was taken of, by bus, source and PGN. */
  readonly #spans = new Map<number, number>();
  /** Numbers of bus names, as blocks may count buses differently. */
  readonly #busNumbers = new Map<string, number>();
  /** Filters that need no devices, by the names of the buses. */
  readonly #compiled = new Map<string, CompiledFilter>();
  #accept: CompiledFilter["accept"] = () => false;
  #learn: CompiledFilter["learn"] = () => {};
  /** Devices of the block that were not learned yet, the next one last. */
  #devices: BlockDevice[] = [];
  #busTexts: readonly string[] = [];
  #busKeys: readonly number[] = [];
  #taken = 0;

  constructor(
    filter: Filter,
    options: HistoryRange & { buses: readonly string[]; src?: number[] | undefined; interval?: number | undefined },
  ) {
    this.range = options;
    this.#filter = filter;
    this.#buses = options.buses;
    this.#intervalUs = options.interval;
    if (!options.src) return;
    this.#sources = new Uint8Array(ADDRESSES);
    for (const src of options.src) this.#sources[src] = 1;
  }

  /** True when as many frames were taken as may be. */
  get isFull(): boolean {
    return this.#taken >= this.range.limit;
  }

  /** The next frames are this block's: its buses, and who had which address then. */
  enter(block: Block): void {
    const names = block.notes.buses ?? this.#buses;
    const key = JSON.stringify(names);
    const known = this.#compiled.get(key);
    const filter = known ?? compileFilter(this.#filter, { buses: names, manufacturerCode });
    if (!filter.usesDevices) this.#compiled.set(key, filter);
    this.#accept = filter.accept;
    this.#learn = filter.learn;
    this.#devices = filter.usesDevices ? block.devices.toSorted((a, b) => a.activeFrom - b.activeFrom) : [];
    this.#devices.reverse();
    this.#busTexts = names.map((name) => busText(name, { buses: this.#buses.length }));
    this.#busKeys = names.map((name) => this.#numberOf(name));
  }

  /** What the JSON of a frame of this block says of its bus. */
  busText(bus: number): string {
    return this.#busTexts[bus] ?? "";
  }

  /** Takes a frame, or does not. `at` is its place in the block. */
  takes(frame: StoredFrame, at: number): boolean {
    for (let device = this.#devices.at(-1); device && device.activeFrom <= at; device = this.#devices.at(-1)) {
      this.#devices.pop();
      this.#learnDevice(device);
    }
    const { fromUs, toUs } = this.range;
    if (frame.timeUs < fromUs || frame.timeUs > toUs) return false;
    const src = frame.id & 0xff;
    if (!this.#accept(frame.bus, src, frame.pgn) || this.#sources?.[src] === 0) return false;
    if (!this.#isFirst(frame, src)) return false;
    this.#taken++;
    return true;
  }

  /** True for the first frame of its span. Where the clock stepped back, spans that were passed are not begun anew. */
  #isFirst({ bus, pgn, timeUs }: StoredFrame, src: number): boolean {
    if (this.#intervalUs === undefined) return true;
    const span = Math.floor(timeUs / this.#intervalUs);
    const key = (((this.#busKeys[bus] ?? 0) * ADDRESSES) + src) * 0x40000 + pgn;
    if (span <= (this.#spans.get(key) ?? -Infinity)) return false;
    this.#spans.set(key, span);
    return true;
  }

  #learnDevice({ bus, src, name }: BlockDevice): void {
    if (name === 0n) return;
    this.#learn({ bus, src, name, ...parseName(name) });
  }

  #numberOf(bus: string): number {
    const number = this.#busNumbers.get(bus) ?? this.#busNumbers.size;
    this.#busNumbers.set(bus, number);
    return number;
  }
}
