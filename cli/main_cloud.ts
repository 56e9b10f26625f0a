/**
 * `vbg-cloud`, the cloud server: `deno run -A jsr:@vessel/cli/cloud -data-dir DIR`.
 *
 * @module
 */
import { runCloud } from "./cloud.ts";
import { processContext } from "./program/program.ts";

if (import.meta.main) Deno.exit(await runCloud(processContext()));
