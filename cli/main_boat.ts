/**
 * `vbg-boat`, the boat server: `deno run -A jsr:@vessel/cli/boat -interface can0`.
 *
 * @module
 */
import { serveBoat } from "./boat.ts";

if (import.meta.main) Deno.exit(await serveBoat());
