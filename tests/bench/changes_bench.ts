import { ChangeTracker } from "../../cli/commands/dump/changes.ts";
import { recordedPayloads } from "../support/payloads.ts";
import { rate, report } from "./figure.ts";

const ROUNDS = 20;
const SOURCES = 10;

/** What `--changes` takes of recorded messages, decoding included, with the messages of ten devices remembered. */
export async function changesBench(): Promise<void> {
  const payloads = await recordedPayloads();
  let [told, timeMs] = [0, 0];
  const tracker = new ChangeTracker();
  const value = rate(payloads.length * ROUNDS, () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const { pgn, payload } of payloads) {
        timeMs += 0.5;
        told += tracker.silences(timeMs).length;
        if (tracker.see({ bus: "can0", src: round % SOURCES, pgn, data: payload }, timeMs)) told++;
      }
    }
  });
  if (told === 0) throw new Error("Nothing was told");
  report({ name: "changes", value, unit: "frames/s", bar: ">= 500000" });
}
