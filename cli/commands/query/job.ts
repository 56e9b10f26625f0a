import type { TimeRange } from "./contents.ts";
import type { PrintedFormat, TableForm } from "./output.ts";

/** What the child process does, as JSON on its standard input. */
export interface QueryJob {
  /** Left out: the views are listed. */
  sql?: string;
  /** Journal files and directories. */
  paths: string[];
  range: Partial<TimeRange>;
  output: { format: PrintedFormat; form: TableForm } | { format: "parquet"; path: string };
  /** Whether SQL may read and write files. */
  filesAllowed: boolean;
  /** Directory that DuckDB writes large intermediate results to. */
  temporary: string;
}
