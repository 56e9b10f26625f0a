import { verifyJournal } from "../../cli/commands/verify/journal.ts";
import { repairFile, RepairState } from "../../cli/commands/repair/file.ts";
import { findFiles } from "../../cli/commands/inspect/file.ts";
import { inFolder } from "../support/folder.ts";
import { makeWriter } from "../support/journal_run.ts";
import { Random } from "../support/random.ts";
import { daysFrames } from "./day.ts";
import { report } from "./figure.ts";

const FRAMES = 2_000_000;
const BLOCK_BYTES = 262_144;
/** The writer gets a moment after so many. */
const FRAMES_A_TURN = 100_000;

/** `vbg verify` and `vbg repair` on frames as a boat has them. */
export async function verifyBench(): Promise<void> {
  await inFolder(async (folder) => {
    const { writer } = makeWriter(folder, { blockBytes: BLOCK_BYTES, maxBacklogBytes: 2 ** 30 });
    const frameOf = daysFrames(new Random(8));
    for (let seq = 1; seq <= FRAMES; seq++) {
      writer.append(seq, frameOf(seq));
      if (seq % FRAMES_A_TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    }
    await writer.close();
    const found = await findFiles([folder]);
    const verify = async () => {
      const { files, errors } = await verifyJournal(found, () => {});
      const frames = files.reduce((sum, file) => sum + file.frames, 0);
      if (errors > 0 || frames !== FRAMES) throw new Error(`${errors} errors in ${frames} frames`);
    };
    report({ name: "verify", value: await bestRate(verify), unit: "frames/s", bar: ">= 1000000" });
    const out = await Deno.makeTempDir({ dir: folder });
    let round = 0;
    const repair = async () => {
      const state = new RepairState();
      const name = `${++round}.lpj`;
      for (const file of found) {
        await repairFile(await file.open(), { directory: out, name, state, onBytes: () => {} });
      }
    };
    report({ name: "repair of a whole file", value: await bestRate(repair), unit: "frames/s" });
  });
}

async function bestRate(run: () => Promise<void>): Promise<number> {
  let best = 0;
  for (let round = 0; round < 3; round++) {
    const start = performance.now();
    await run();
    best = Math.max(best, FRAMES / (performance.now() - start) * 1000);
  }
  return best;
}
