/**
 * `vbg-boat`, the boat server: `deno run -A jsr:@vessel/cli/boat -interface can0`.
 *
 * @module
 */
import { boatProgram, runBoat } from "./boat.ts";
import { serve } from "./program.ts";

if (import.meta.main) Deno.exit(await serve(boatProgram, (settings, { log }) => runBoat(settings, log)));
