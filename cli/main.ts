/**
 * `vbg`, the client of the Vessel Bus Gateway: `deno run -A jsr:@vessel/cli dump --boat X`.
 *
 * @module
 */
import { processContext } from "./program/program.ts";
import { runVbg } from "./vbg.ts";

if (import.meta.main) Deno.exit(await runVbg(processContext()));
