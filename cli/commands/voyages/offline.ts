import { newStoredFrame } from "@vessel/gateway/frame";
import { decode } from "@vessel/gateway/pgn";
import { readRecorded } from "@vessel/gateway/recordings";
import { RecordedVoyages } from "@vessel/gateway/voyages";
import { untilStopped } from "../../program/interrupt.ts";
import { findInputs, type RecordedChoice, summaryNote, warningsTo } from "../dump/recorded_inputs.ts";

/** How much earlier and later frames are read, so that voyages are whole, milliseconds. */
const AROUND_MS = 86_400_000;

/** The voyages of recordings. @throws {OfflineError} one cannot be read */
export async function findVoyages(
  choice: RecordedChoice,
  range: { fromMs: number | undefined; toMs: number | undefined },
): Promise<ReturnType<RecordedVoyages["find"]>> {
  await using opened = new AsyncDisposableStack();
  const { note, signal } = choice;
  const inputs = await findInputs(choice, opened);
  const voyages = new RecordedVoyages({ decode });
  const options = {
    log: warningsTo(note),
    onSummary: summaryNote(note),
    fromUs: range.fromMs === undefined ? undefined : (range.fromMs - AROUND_MS) * 1000,
  };
  const toUs = range.toMs === undefined ? Infinity : (range.toMs + AROUND_MS) * 1000;
  const frame = newStoredFrame();
  let isEmpty = true;
  for await (const part of untilStopped(readRecorded(inputs, options), signal)) {
    voyages.enter(part.buses);
    while (part.next(frame, () => {})) {
      isEmpty = false;
      if (frame.timeUs <= toUs) voyages.add(frame);
    }
  }
  if (isEmpty) note("no frames found");
  return voyages.find(range);
}
