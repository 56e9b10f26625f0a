import type { AuditReport, EpochReport } from "./compare.ts";
import type { Numbers } from "./numbers.ts";

const FAULTS = ["missing", "extra", "different"] as const;
const EXPLAINED = ["recovered", "lost"] as const;

type Figure = (typeof FAULTS | typeof EXPLAINED)[number];

/** The result for people; the last lines sum it up. */
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
  if (truth) lines.push(Object.entries(truth).map(([key, count]) => `${key} ${count}`).join(", "));
  lines.push(sums(epochs, FAULTS), sums(epochs, EXPLAINED));
  return lines.join("\n");
}

/** The result for programs: one object. Numbers are given by their count and first ranges, ends included. */
export function formatJson({ epochs, damage, truth, isGood }: AuditReport): string {
  return JSON.stringify({
    ok: isGood,
    epochs: epochs.map(({ epoch, same, holes, ...numbers }) => ({
      epoch,
      same,
      holes,
      ...Object.fromEntries(Object.entries(numbers).map(([key, value]) => [key, jsonOf(value)])),
    })),
    damage,
    ...(truth && { truth }),
  });
}

function jsonOf({ count, first }: Numbers) {
  return { count, first: first.map(({ start, end }) => [start, end - 1]) };
}

function sums(epochs: readonly EpochReport[], keys: readonly Figure[]): string {
  return keys.map((key) => `${key} ${epochs.reduce((total, each) => total + each[key].count, 0)}`).join(", ");
}
