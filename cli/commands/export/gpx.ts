import { gpxOf } from "@vessel/gateway/voyages";
import type { Output } from "../../program/terminal.ts";
import type { RecordedChoice } from "../dump/recorded_inputs.ts";
import { findVoyages } from "../voyages/offline.ts";
import type { OutputFiles } from "./output_files.ts";

/** Where a track goes. */
export type GpxPlace = { kind: "output"; output: Output } | { kind: "file"; files: OutputFiles; name: string };

/**
 * Writes the tracks of recordings as GPX, one for each voyage. Returns their number.
 *
 * @throws {OfflineError} a recording cannot be read
 */
export async function exportGpx(
  choice: RecordedChoice,
  { range, place }: { range: { fromUs: number | undefined; toUs: number | undefined }; place: GpxPlace },
): Promise<number> {
  const msOf = (timeUs: number | undefined) => timeUs === undefined ? undefined : timeUs / 1000;
  const { tracks } = await findVoyages(choice, { fromMs: msOf(range.fromUs), toMs: msOf(range.toUs) });
  if (place.kind === "file") await place.files.begin(place.name);
  const encoder = new TextEncoder();
  for await (const text of gpxOf(tracks)) {
    if (place.kind === "output") await place.output.write(text);
    else await place.files.append(place.name, encoder.encode(text));
  }
  if (place.kind === "file") await place.files.finish();
  return tracks.length;
}
