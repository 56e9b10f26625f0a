// Compares a boat's journal with what the cloud holds of it, by run of numbers and number, byte for byte:
//   deno run -A scripts/audit.ts --boat DIR --cloud DIR [--epoch HEX] [--truth FILE]
// Both directories are only read, torn files and tails included. `--truth` names a file of what was put on the bus, a
// line a frame: identifier#payload, hexadecimal, each line another one. The code is 1 unless missing, extra and different
// are 0 and nothing contradicts the truth; 2: wrong arguments.

import { parseArgs } from "node:util";
import { audit, type AuditReport } from "./audit/audit.ts";

const USAGE = "deno run -A scripts/audit.ts --boat DIR --cloud DIR [--epoch HEX] [--truth FILE]";

/** What was found, for a person; the last lines sum it up. */
export function formatReport({ epochs, damage, truth }: AuditReport): string {
  const lines: string[] = [];
  for (const [side, faults] of Object.entries(damage)) lines.push(...faults.map((fault) => `${side}: ${fault}`));
  for (const { epoch, same, missing, holes, extra, different, recovered, pruned, lost, claimed } of epochs) {
    lines.push(
      `epoch ${epoch}: same ${same}`,
      `  missing ${missing}, extra ${extra}, different ${different}`,
      `  recovered ${recovered}, lost ${lost}, pruned ${pruned}, holes ${holes}, claimed ${claimed}`,
    );
  }
  const sum = (key: "missing" | "extra" | "different" | "recovered" | "lost") =>
    epochs.reduce((total, each) => total + each[key].count, 0);
  if (truth) lines.push(Object.entries(truth).map(([key, count]) => `${key} ${count}`).join(", "));
  lines.push(`missing ${sum("missing")}, extra ${sum("extra")}, different ${sum("different")}`);
  lines.push(`recovered ${sum("recovered")}, lost ${sum("lost")}`);
  return lines.join("\n");
}

function readArguments(args: string[]) {
  try {
    const string = { type: "string" } as const;
    const { values } = parseArgs({ args, options: { boat: string, cloud: string, epoch: string, truth: string } });
    const { boat, cloud, epoch, truth } = values;
    if (boat === undefined || cloud === undefined) throw new TypeError("--boat and --cloud are needed");
    if (epoch !== undefined && !/^[0-9a-f]{8,32}$/.test(epoch)) throw new TypeError(`"${epoch}" is no epoch`);
    return { boat, cloud, epoch, truth };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n${USAGE}`);
    Deno.exit(2);
  }
}

if (import.meta.main) {
  const report = await audit(readArguments(Deno.args));
  console.log(formatReport(report));
  Deno.exit(report.isGood ? 0 : 1);
}
