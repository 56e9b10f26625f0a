// Records messages of sensors, and keeps sidecars beside its files, until it is killed:
// deno run -A series_child.ts <directory> <seed> <first number>
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import { DEFAULT_SERIES_PGNS, SeriesRollup } from "../../src/series/mod.ts";
import { TestJournal } from "./history.ts";
import { Random } from "./random.ts";
import { BUSES, CHILD_MESSAGES, childTraffic, RECORDING } from "./series.ts";

const [directory = "", seed = "1", first = "1"] = Deno.args;
const messages = childTraffic(new Random(Number(seed)));
const journal = await TestJournal.open(directory, {
  ...RECORDING,
  rotateBytes: 20_000,
  syncIntervalMs: 3,
  clock: systemClock,
});
const rollup = new SeriesRollup({
  index: journal.index,
  pgns: DEFAULT_SERIES_PGNS,
  buses: BUSES,
  decoder: new Decoder(),
  log: silentLogger,
  restMs: 0,
});
let seq = Number(first);
console.log("recording");
function burst(): void {
  for (let i = 0; i < 50 && seq <= CHILD_MESSAGES; i++, seq++) {
    const message = messages[seq - 1];
    if (message) journal.writer.append(seq, message);
  }
  if (rollup.failures > 0) console.log(rollup.fault);
  setTimeout(burst, 2);
}
burst();
