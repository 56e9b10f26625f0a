import { LOG_LEVELS, type LogLevel } from "@vessel/gateway/base";
import { flagGroup, optional, OptionGroup, reloadable } from "./option_types.ts";
import type { SettingsOf } from "./options.ts";
import { keptFolder } from "./state_dir.ts";

const program = flagGroup("Program");
const operation = new OptionGroup("Operation");

/** Options of programs that read a configuration file. `configName`: the file that is read without `-config`. */
export function fileOptions(configName: string) {
  return {
    config: optional(program.text({
      name: "config",
      environment: true,
      placeholder: "FILE",
      key: [],
      help: `Configuration file (HOCON). Without it: ./${configName}, else /etc/vbg/${configName}, else none.`,
    })),
    validateConfig: program.boolean({
      name: "validate-config",
      key: [],
      help: "Check every setting, print a report and exit: 0 if all are valid, else 1.",
    }),
  };
}

/** Options of every program. */
export const programOptions = {
  version: program.boolean({ name: "version", key: [], help: "Print the version and exit." }),
  help: program.boolean({ name: "help", aliases: ["h"], key: [], help: "Print this page and exit." }),
};

/** Options of programs that run until they are stopped. */
export const runOptions = {
  logLevel: reloadable(operation.oneOf<LogLevel>({
    name: "log-level",
    default: "info",
    choices: LOG_LEVELS,
    help: "Lowest severity that is logged on standard error.",
  })),
  logFormat: operation.oneOf({
    name: "log-format",
    default: { compute: () => Deno.stderr.isTerminal() ? "text" : "json", text: "text on a terminal, else json" },
    choices: ["json", "text"],
    help: "json: one object per line. text: for reading on a terminal.",
  }),
  otelEndpoint: optional(operation.text({
    name: "otel-endpoint",
    placeholder: "URL",
    key: "otel.endpoint",
    help: "OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318.",
    validate: checkHttpUrl,
  })),
  otelSampleRatio: operation.number({
    name: "otel-sample-ratio",
    key: "otel.sample-ratio",
    default: 1,
    max: 1,
    help: "Share of all traces that the collector gets: 1 all, 0.1 one in ten, 0 none.",
  }),
};

/** Options of servers that keep state. */
export const serverOptions = {
  stateDir: operation.text({
    name: "state-dir",
    placeholder: "DIR",
    default: {
      compute: (environment) => keptFolder(environment, "vbg"),
      text: "$STATE_DIRECTORY, else $XDG_STATE_HOME/vbg, else ~/.local/state/vbg",
    },
    help: "Directory of the state that survives a restart. Created if missing; used by one process at a time. " +
      "A demo uses a temporary one by default.",
    validate: (dir) => dir === "" ? "Cannot use an empty path as the state directory" : undefined,
  }),
  ...runOptions,
};

/** Settings of every program. */
export type ProgramSettings = SettingsOf<typeof programOptions>;

/** Settings of programs that read a configuration file. */
export type FileSettings = SettingsOf<ReturnType<typeof fileOptions>>;

/** Settings of programs that run until they are stopped. */
export type RunSettings = SettingsOf<typeof runOptions>;

function checkHttpUrl(value: string): string | undefined {
  const protocol = URL.canParse(value) ? new URL(value).protocol : "";
  if (protocol === "http:" || protocol === "https:") return undefined;
  return `Cannot read the URL "${value}": expected http:// or https://`;
}
