import { LineLog } from "../base/mod.ts";
import { definitionLine, epochLine, headerLine, mergeLines, type StoredSession } from "./session_file.ts";
import { DEFINITIONS_FILE, MAX_FILE_BYTES, POSITIONS_FILE } from "./session_store.ts";

/**
 * Writes the sessions of several directories, in which different servers had the same clients, into one. Of a session that
 * several have, the highest position counts: a position in the current epoch never means frames that the client lacks.
 *
 * @param directories of the same boat; a damaged file has the sessions that can be read
 * @param options.into an existing directory
 * @param options.epoch the current epoch
 * @throws {FileError} a file cannot be read or written
 */
export async function mergeSessions(
  directories: readonly string[],
  { into, epoch }: { into: string; epoch: string },
): Promise<void> {
  const merged = new Map<string, StoredSession>();
  for (const directory of directories) {
    const [definitions, positions] = [
      await linesOf(directory, DEFINITIONS_FILE),
      await linesOf(directory, POSITIONS_FILE),
    ];
    for (const session of mergeLines({ definitions, positions, epoch }).sessions) {
      const known = merged.get(session.id);
      const isLater = (session.cursor ?? 0) > (known?.cursor ?? 0);
      const { wasRead } = session;
      if (!known || isLater) merged.set(session.id, { ...session, wasRead: wasRead || (known?.wasRead ?? false) });
      else known.wasRead ||= wasRead;
    }
  }
  if (merged.size === 0) return;
  const numbered = [...merged.values()].map((session, at) => ({ ...session, number: at + 1 }));
  const write = (name: string, lines: readonly unknown[]) =>
    new LineLog(into, { name, maxBytes: MAX_FILE_BYTES }).replace(lines);
  await write(POSITIONS_FILE, [epochLine(epoch)]);
  const defined = numbered.map((session) => definitionLine(session, epoch));
  await write(DEFINITIONS_FILE, [headerLine(numbered.length + 1), ...defined]);
}

async function linesOf(directory: string, name: string): Promise<readonly unknown[]> {
  return (await new LineLog(directory, { name, maxBytes: MAX_FILE_BYTES }).read())?.values ?? [];
}
