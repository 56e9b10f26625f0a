import { PieceReader, type ReadRecordingOptions } from "./piece_reader.ts";
import type { RecordedItem } from "./recording.ts";

/**
 * Reads a recording in pieces of any size, with one line in memory. Unreadable lines are counted and listed in the
 * summary; reading continues after them.
 *
 * @throws {RecordingError} the format is not given and not detected, or `startTime` is invalid
 */
export async function* readRecording(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadRecordingOptions = {},
): AsyncGenerator<RecordedItem, void> {
  const reader = new PieceReader(options);
  for await (const chunk of chunks) yield* reader.push(chunk);
  yield* reader.end();
}
