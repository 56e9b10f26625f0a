/**
 * `vbg-boat`, the boat server: reads the buses of a vessel and serves them over HTTP.
 *
 * @module
 */
import type { Logger } from "@vessel/gateway/settings";
import { BOAT_CONFIG_NAME, boatChecks, boatOptions, type BoatSettings } from "./boat_options.ts";
import packageFile from "./deno.json" with { type: "json" };
import { type Program, type Running, serve } from "./program.ts";
import { openStateDir } from "./state_dir.ts";

/** The boat server's name, words and settings. */
export const boatProgram: Program<BoatSettings> = {
  name: "vbg-boat",
  version: packageFile.version,
  summary: "reads the NMEA 2000 buses of a boat and serves them over HTTP",
  options: boatOptions,
  checks: boatChecks,
  configName: BOAT_CONFIG_NAME,
};

/** Starts the boat server with settings that are known to be right. */
async function run(settings: BoatSettings, log: Logger): Promise<Running<BoatSettings>> {
  using stateDir = await openStateDir(settings.stateDir);
  log.debug("state directory taken", { path: stateDir.path });
  throw new Error("Cannot start: the gateway has no startBoat");
}

if (import.meta.main) Deno.exit(await serve(boatProgram, run));
