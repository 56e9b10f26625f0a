// Records signed files until it is killed: deno run -A evidence_child.ts <folder>
// Says on stdout how many statements there are, whenever there are more.
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { journalOf, openSigned } from "./evidence.ts";

const [folder = ""] = Deno.args;
const { record } = await openSigned(folder, { syncIntervalMs: 3, clock: systemClock, log: silentLogger });
let told = -1;
function burst(): void {
  record(400);
  const count = [...Deno.readDirSync(journalOf(folder))].filter(({ name }) => name.endsWith(".evidence")).length;
  if (count > told) Deno.stdout.writeSync(new TextEncoder().encode(`${count}\n`));
  told = count;
  setTimeout(burst, 5);
}
burst();
