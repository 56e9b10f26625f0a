import { Journal, type JournalOptions } from "../../src/journal/mod.ts";
import { frameOf, journalFiles, keptLog } from "./journal_run.ts";
import { FakeClock } from "./fake_clock.ts";
import { runCommand } from "./command.ts";

/** Directory of the journal of a folder. */
export const journalOf = (folder: string): string => `${folder}/journal`;

/** Opens a journal with small files that are signed. */
export async function openSigned(folder: string, options: Partial<JournalOptions> = {}) {
  const { log, lines } = keptLog();
  for (const name of ["journal", "state"]) await Deno.mkdir(`${folder}/${name}`, { recursive: true });
  const journal = await Journal.open({
    directory: journalOf(folder),
    stateDirectory: `${folder}/state`,
    ...{ blockBytes: 4096, rotateBytes: 2000, buses: ["can0", "can1"], evidence: {}, clock: new FakeClock(), log },
    ...options,
  });
  const record = (frames: number) => {
    for (let i = 0; i < frames; i++) {
      const seq = journal.next();
      journal.append(seq, frameOf(seq));
    }
  };
  return { journal, record, lines };
}

/** One run of a boat. */
export async function recordSigned(folder: string, frames: number, options: Partial<JournalOptions> = {}) {
  const { journal, record, lines } = await openSigned(folder, options);
  record(frames);
  await journal.close();
  return { lines, files: journalFiles(journalOf(folder)) };
}

/** A fault that `vbg verify -evidence` found. */
export interface SeenFault {
  name: string;
  kind: string;
  what: string;
  places: { offset?: number; what: string }[];
}

/** Runs `vbg verify -evidence`. */
export async function verifyEvidence(...args: string[]) {
  const { code, out, err } = await runCommand(["verify", "-evidence", ...args]);
  if (out === "") throw new Error(err);
  const { faults, ...rest } = JSON.parse(out);
  const seen: SeenFault[] = faults.map(({ path, ...fault }: { path: string } & Omit<SeenFault, "name">) => ({
    name: path.slice(path.lastIndexOf("/") + 1),
    ...fault,
  }));
  return {
    code,
    faults: seen,
    ...rest as { ok: boolean; files: number; signed: number; late: number; open: string[] },
  };
}
