import { PieceReader, type ReadRecordingOptions } from "./piece_reader.ts";
import type { RecordedItem } from "./recording.ts";

/**
 * Reads a recording as it comes, in pieces of any size, and keeps no more of it than a line. What cannot be read is
 * counted and told in the summary, and the rest is read nevertheless.
 *
 * @throws {RecordingError} the format was not given and does not show, or `startTime` is none
 */
export async function* readRecording(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadRecordingOptions = {},
): AsyncGenerator<RecordedItem, void> {
  const reader = new PieceReader(options);
  for await (const chunk of chunks) yield* reader.push(chunk);
  yield* reader.end();
}
