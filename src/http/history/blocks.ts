import { z } from "zod";
import { apiText, described, named } from "../api_text.ts";
import {
  compress,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  encodeSpans,
  type EpochBlock,
  FILE_HEADER_BYTES,
} from "../../journal/mod.ts";
import { bodyOf } from "./body.ts";
import type { HistorySource } from "./history.ts";
import { linkAfter } from "./pages.ts";
import { blocksQuery, type HistoryPosition, passedThrough, positionAt, timeRangeOf } from "./query.ts";
import type { HistoryIndex } from "./scan.ts";
import { HistoryTurns } from "./turns.ts";
import { noQuery } from "../params.ts";
import { ApiError, overloaded, recordingOff, textReply } from "../reply.ts";
import { type Route, route } from "../routes.ts";
import { PROBLEM } from "../schemas.ts";

const COMPRESSION = "zstd";
const BINARY = z.string().clone().register(apiText, { type: "string", format: "binary" });

/** `GET /journal/blocks`: the same on every server that keeps a journal. */
export const blocksRow: Route<HistorySource> = route({
  path: "/journal/blocks",
  summary:
    "Recorded blocks that may have frames between two times, as a journal file (.lpj), including frames not yet on " +
    'disk. A file has blocks of one epoch, 4 MiB of them or a little more; Link has rel="next" if there are more. 204: ' +
    "there are none. Frames before and after the two times are in the blocks, too",
  query: blocksQuery,
  replies: {
    200: ["application/octet-stream", BINARY, {
      Link: 'The next file, relative to this one: `<blocks?…>; rel="next"`',
    }],
    204: null,
    503: PROBLEM,
  },
  answer: (request, query, _parts, { subject }) => openBlocks(subject, { query, request }),
});

const spanSchema = named("ClockSpan", {
  epoch_word: described(z.int(), "First four bytes of the epoch, little-endian"),
  first_seq: z.int(),
  last_seq: described(z.int().nullable(), "Null: it goes on"),
  recorded_us: described(z.int(), "A recorded time, microseconds since 1970"),
  true_us: described(z.int(), "The true time of the same moment"),
  rate: described(z.number(), "True microseconds that pass in a recorded one"),
});

/** `GET /journal/clock`: the same on every server that keeps a journal. */
export const clockRow: Route<HistorySource> = route({
  path: "/journal/clock",
  summary: "Corrections of the times in recorded blocks, as in the file clock.json of a journal",
  query: noQuery,
  replies: {
    200: ["application/json", z.object({ version: z.literal(1), spans: z.array(spanSchema) })],
    503: PROBLEM,
  },
  answer: (_request, _query, _parts, { subject: { journal } }) => {
    if (!journal) throw recordingOff();
    return textReply(encodeSpans(journal.index.clock?.spans.all ?? []), {
      headers: { "Content-Type": "application/json" },
    });
  },
});

/**
 * Answers `GET /journal/blocks`. Blocks are sent as they are stored: the server does not look at their frames.
 *
 * @throws {ApiError} 400; 503: there is no journal, it is a played recording, or too many requests wait
 */
export async function openBlocks(
  { journal, clock, histories = new HistoryTurns() }: HistorySource,
  { query: { after, ...times }, request }: { query: z.output<typeof blocksQuery>; request: Request },
): Promise<Response> {
  const range = timeRangeOf({ from: times.from, to: times.to }, clock.wallUs());
  if (!journal) throw recordingOff();
  const release = await histories.take(request);
  try {
    const { signal } = request;
    const { file, next } = await collect(journal.index, { range: { ...range, after }, histories, signal });
    if (file.isEmpty) {
      release();
      return new Response(null, { status: 204 });
    }
    const headers = { "Content-Type": "application/octet-stream", ...(next && linkAfter(next, { request, ...range })) };
    return new Response(bodyOf(bytesOf(file), { release, idleMs: histories.idleMs }), { headers });
  } catch (error) {
    release();
    throw error;
  }
}

/** Reads blocks until a file is full. `next`: position of its last frame, if there are more blocks. */
async function collect(
  index: HistoryIndex,
  { range: { after, ...times }, histories, signal }: {
    range: { fromUs: number; toUs: number; after: HistoryPosition | undefined };
    histories: HistoryTurns;
    signal: AbortSignal;
  },
): Promise<{ file: FileOfBlocks; next: HistoryPosition | undefined }> {
  const order = index.epochOrder();
  const resume = after && { epochWord: after.epochWord, seq: after.at };
  const file = new FileOfBlocks(histories.heldBytes);
  let next: HistoryPosition | undefined;
  let sliceEndMs = await histories.slice();
  for await (const located of index.epochBlocks({ ...times, after: resume })) {
    if (signal.aborted) throw overloaded("The request was cancelled while blocks were read");
    const end = endOf(located);
    const isPassed = after !== undefined && passedThrough(located, { position: after, order }) >= end.at;
    if (!isPassed && !file.add(located)) return { file, next };
    if (!isPassed) next = end;
    if (performance.now() >= sliceEndMs) sliceEndMs = await histories.slice();
  }
  return { file, next: undefined };
}

/** Position of the last frame of a block. */
function endOf(located: EpochBlock): HistoryPosition {
  const { block: { baseSeq = 0, baseTimeUs, frameCount }, epochWord } = located;
  const at = positionAt(located, { seq: baseSeq + frameCount - 1, index: frameCount - 1 });
  return { epochWord, at, blockUs: baseTimeUs };
}

/** A journal file in memory. */
class FileOfBlocks {
  readonly #maxBytes: number;
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  readonly #offsets: number[] = [];
  /** Of the file; undefined before the first block. */
  #kind: { version: 1 | 2; blockBytes: number; epochWord: number } | undefined;
  #bytes = FILE_HEADER_BYTES;
  /** The block that was added last: parts of it may follow each other. */
  #last: Uint8Array | undefined;

  /** @param maxBytes no block is added after this size */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** True if it has no block. */
  get isEmpty(): boolean {
    return this.#kind === undefined;
  }

  /** Adds a whole block. False: the block belongs into another file. @throws {ApiError} 503: the block is not stored */
  add({ epochWord, stored }: EpochBlock): boolean {
    if (stored === undefined) throw new ApiError(503, "A played recording is not stored here: copy its files");
    const { version, bytes, packed } = stored;
    if (bytes === this.#last) return true;
    const kind = { version, blockBytes: bytes.length, epochWord };
    const { version: had, blockBytes, epochWord: word } = this.#kind ?? kind;
    if (had !== version || blockBytes !== kind.blockBytes || word !== epochWord) return false;
    if (this.#offsets.length > 0 && this.#bytes >= this.#maxBytes) return false;
    this.#kind = kind;
    this.#last = bytes;
    const data = packed ?? compress(new Uint8Array(bytes), COMPRESSION);
    const { baseTimeUs, baseSeq } = stored.block;
    const header = { baseTimeUs, baseSeq, dictionaryBytes: 0, dataBytes: data.length };
    const head = encodeBlockHeader(header, { version, compression: COMPRESSION });
    this.#offsets.push(this.#bytes);
    this.#pieces.push(head, data);
    this.#bytes += head.length + data.length;
    return true;
  }

  /** The bytes of the file, in pieces. */
  *bytes(): Generator<Uint8Array<ArrayBuffer>, void> {
    if (this.#kind === undefined) return;
    yield encodeFileHeader({ ...this.#kind, compression: COMPRESSION });
    yield* this.#pieces;
    yield encodeIndex(this.#offsets);
  }
}

async function* bytesOf(file: FileOfBlocks): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  yield* file.bytes();
}
