/** A small program for program_test.ts: what it does when it stops is a setting. */
import { fileOptions, programOptions, serverOptions } from "../../cli/settings/common_options.ts";
import { OptionGroup, reloadable } from "../../cli/settings/option_types.ts";
import type { SettingsOf } from "../../cli/settings/options.ts";
import { serve, type ServerProgram } from "../../cli/program/program.ts";
import { openStateDir } from "../../cli/settings/state_dir.ts";
import { pause } from "../../src/base/mod.ts";

const words = { help: "Help." };
/** Longer than a program without a drain may take to stop. */
const SLOW_MS = 5000;
const group = new OptionGroup("Fixture");

const fixtureOptions = {
  onStop: group.oneOf({ ...words, name: "on-stop", default: "end", choices: ["end", "hang", "throw"] }),
  onStart: group.oneOf({ ...words, name: "on-start", default: "run", choices: ["run", "throw", "hang", "sighup"] }),
  onDrain: group.oneOf({ ...words, name: "on-drain", default: "none", choices: ["none", "slow", "hang"] }),
  rate: reloadable(group.integer({ ...words, name: "rate", key: "send.rate", default: 1, max: 100 })),
  port: group.integer({ ...words, name: "port", default: 0, max: 65535 }),
  apiKey: group.text({ ...words, name: "api-key", default: "", secret: true }),
  ...serverOptions,
  ...fileOptions("vbg-fixture.conf"),
  ...programOptions,
};

export type FixtureSettings = SettingsOf<typeof fixtureOptions>;

export const fixtureProgram: ServerProgram<FixtureSettings> = {
  name: "vbg-fixture",
  permissions: ["-A"],
  summary: "does nothing",
  configName: "vbg-fixture.conf",
  options: fixtureOptions,
  checks: [{
    settings: ["port", "rate"],
    severity: "warning",
    test: ({ port, rate }) => port === 1 && rate === 100 ? "Port 1 is slow" : undefined,
  }],
};

if (import.meta.main) {
  Deno.exit(
    await serve(fixtureProgram, async (settings, { log }) => {
      if (settings.onStart === "throw") throw new Error('Cannot start the fixture "x"');
      if (settings.onStart === "hang") {
        log.info("starting");
        await new Promise(() => {});
      }
      if (settings.onStart === "sighup") {
        const come = new Promise<void>((resolve) => Deno.addSignalListener("SIGHUP", resolve));
        log.info("starting");
        await come;
      }
      const stateDir = await openStateDir(settings.stateDir);
      log.info("started", { rate: settings.rate, traced: Deno.env.get("OTEL_SERVICE_NAME") });
      log.debug("a debug line");
      return {
        reload: ({ rate }) => log.info("applied", { rate }),
        drain: settings.onDrain === "none" ? undefined : async (skip) => {
          log.info("draining");
          const ms = settings.onDrain === "slow" ? SLOW_MS : 2 ** 31 - 1;
          await pause(ms, skip).then(() => log.info("drained"), () => log.info("drain skipped"));
        },
        stop: async () => {
          if (settings.onStop === "hang") await new Promise(() => {});
          if (settings.onStop === "throw") throw new Error("Cannot stop the fixture");
          stateDir[Symbol.dispose]();
          log.info("stopped");
        },
      };
    }),
  );
}
