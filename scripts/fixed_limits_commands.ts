import { MAX_OPEN_FILES } from "../cli/commands/export/output_files.ts";
import { MAX_ANSWER_BYTES } from "../cli/commands/mcp/answer.ts";
import { MAX_TABLE_ROWS } from "../cli/commands/query/output.ts";
import { MAX_PGN_FILES } from "../src/export/mod.ts";
import { bytes, count, type FixedLimit } from "./fixed_limit.ts";

/** Limits of commands that read a boat or recordings. */
export const COMMANDS: readonly FixedLimit[] = [
  { what: "`vbg mcp`: size of an answer", limit: bytes(MAX_ANSWER_BYTES), beyond: "Its last line says so." },
  { what: "`vbg query`: rows of a table", limit: count(MAX_TABLE_ROWS), beyond: "A note says so; CSV has all." },
  {
    what: "`vbg export` into a directory: files",
    limit: count(MAX_PGN_FILES),
    beyond: "Refused, naming -pgn.",
  },
  {
    what: "The same: files that are open at a time",
    limit: count(MAX_OPEN_FILES),
    beyond: "The one that was written least lately is closed, and opened again.",
  },
];
