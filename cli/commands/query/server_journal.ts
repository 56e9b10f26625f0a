import { writeAll } from "@vessel/gateway/base";
import type { Client } from "@vessel/gateway/client";
import { CLOCK_FILE } from "@vessel/gateway/journal";
import { ifThere } from "../../client/if_there.ts";

/** Digits of the number in a file's name. */
const DIGITS = 6;

/**
 * Saves what a server has recorded between two times as journal files in a directory, and the corrections of their times.
 * Returns the paths of the files; none if nothing was recorded.
 *
 * @param options.onBytes called with the number of bytes received
 * @throws {ApiError} the server answers with an error
 * @throws {ConnectionError} the connection was lost
 */
export async function saveJournal(
  client: Pick<Client, "journalClock" | "journalFiles">,
  { directory, from, to, signal, onBytes }: {
    directory: string;
    from: string;
    to: string | undefined;
    signal: AbortSignal;
    onBytes: (bytes: number) => void;
  },
): Promise<string[]> {
  const paths: string[] = [];
  for await (const pieces of client.journalFiles({ from, ...(to !== undefined && { to }) }, { signal })) {
    const path = `${directory}/${String(paths.length).padStart(DIGITS, "0")}.lpj`;
    using file = await Deno.open(path, { write: true, createNew: true });
    let size = 0;
    for await (const piece of pieces) {
      await writeAll(file, piece);
      size += piece.length;
      onBytes(piece.length);
    }
    if (size > 0) paths.push(path);
  }
  const clock = await ifThere(client.journalClock({ signal }));
  if (clock && clock.spans.length > 0) await Deno.writeTextFile(`${directory}/${CLOCK_FILE}`, JSON.stringify(clock));
  return paths;
}
