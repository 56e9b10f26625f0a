import assert from "node:assert/strict";
import { type CommandAnswer, type CommandOptions, runCommand } from "./command.ts";

let installing: Promise<CommandAnswer> | undefined;

/** Runs `vbg query` in this process; its child has DuckDB, which is downloaded once. */
export async function runQuery(args: readonly string[], options: CommandOptions = {}): Promise<CommandAnswer> {
  const installed = await (installing ??= runCommand(["query", "-install"]));
  assert.equal(installed.code, 0, installed.err);
  return await runCommand(["query", ...args], options);
}

/** A row of a result. */
export type Row = Record<string, unknown>;

/** The rows of a query, which must say nothing besides. */
export async function rowsOf(sql: string, ...args: string[]): Promise<Row[]> {
  const { code, out, err } = await runQuery([sql, ...args, "-format", "json"]);
  assert.deepEqual([code, err], [0, ""], sql);
  return out.split("\n").filter((line) => line !== "").map((line): Row => JSON.parse(line));
}
