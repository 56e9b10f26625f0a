import { LOG_LEVELS, type LogLevel } from "@vessel/gateway/base";
import { boolean, number, oneOf, optional, reloadable, text } from "./option_types.ts";
import type { Environment, SettingsOf } from "./options.ts";

const PROGRAM = "Program";
const OPERATION = "Operation";

/** Options of programs that read a configuration file. `configName`: the file that is looked for without `-config`. */
export function fileOptions(configName: string) {
  const group = PROGRAM;
  return {
    config: optional(text({
      name: "config",
      placeholder: "FILE",
      key: [],
      default: "",
      help: `Configuration file (HOCON). Without it: ./${configName}, else /etc/vbg/${configName}, else none.`,
      group,
    })),
    validateConfig: boolean({
      name: "validate-config",
      key: [],
      environment: false,
      default: false,
      help: "Check every setting, print a report and exit: 0 if all are valid, else 1.",
      group,
    }),
  };
}

/** Options of every program. */
export function programOptions() {
  const group = PROGRAM;
  return {
    version: boolean({
      name: "version",
      key: [],
      environment: false,
      default: false,
      help: "Print the version and exit.",
      group,
    }),
    help: boolean({
      name: "help",
      aliases: ["h"],
      key: [],
      environment: false,
      default: false,
      help: "Print this page and exit.",
      group,
    }),
  };
}

/** Options of servers that keep state. */
export function serverOptions() {
  return {
    stateDir: text({
      name: "state-dir",
      placeholder: "DIR",
      default: {
        compute: (environment) => keptFolder(environment, "vbg"),
        text: "$STATE_DIRECTORY, else $XDG_STATE_HOME/vbg, else ~/.local/state/vbg",
      },
      help: "Directory of the state that survives a restart. Created if missing; used by one process at a time. " +
        "A demo uses a temporary one by default.",
      group: OPERATION,
      validate: (dir) => dir === "" ? "Cannot use an empty path as the state directory" : undefined,
    }),
    ...runOptions(),
  };
}

/** Options of programs that run until they are stopped. */
export function runOptions() {
  const group = OPERATION;
  return {
    logLevel: reloadable(oneOf<LogLevel>({
      name: "log-level",
      default: "info",
      choices: LOG_LEVELS,
      help: "Lowest severity that is logged on standard error.",
      group,
    })),
    logFormat: oneOf({
      name: "log-format",
      default: { compute: () => Deno.stderr.isTerminal() ? "text" : "json", text: "text on a terminal, else json" },
      choices: ["json", "text"],
      help: "json: one object per line. text: for reading on a terminal.",
      group,
    }),
    otelEndpoint: optional(text({
      name: "otel-endpoint",
      placeholder: "URL",
      key: "otel.endpoint",
      default: "",
      help: "OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318.",
      group,
      validate: checkHttpUrl,
    })),
    otelSampleRatio: number({
      name: "otel-sample-ratio",
      key: "otel.sample-ratio",
      default: 1,
      max: 1,
      help: "Share of all traces that the collector gets: 1 all, 0.1 one in ten, 0 none.",
      group,
    }),
  };
}

/** Settings of every program. */
export type ProgramSettings = SettingsOf<ReturnType<typeof programOptions>>;

/** Settings of programs that read a configuration file. */
export type FileSettings = SettingsOf<ReturnType<typeof fileOptions>>;

/** Settings of programs that run until they are stopped. */
export type RunSettings = SettingsOf<ReturnType<typeof runOptions>>;

/** State directory of a service: the one that systemd gives, else the user's, else one below `/var/lib`. */
export function keptFolder({ STATE_DIRECTORY, XDG_STATE_HOME, HOME }: Environment, name: string): string {
  // systemd lists several directories with colons between them.
  const [managed] = STATE_DIRECTORY?.split(":") ?? [];
  if (managed) return managed;
  // The XDG specification requires that relative paths are ignored.
  if (XDG_STATE_HOME?.startsWith("/")) return `${XDG_STATE_HOME}/${name}`;
  return HOME ? `${HOME}/.local/state/${name}` : `/var/lib/${name}`;
}

function checkHttpUrl(value: string): string | undefined {
  const protocol = URL.canParse(value) ? new URL(value).protocol : "";
  if (protocol === "http:" || protocol === "https:") return undefined;
  return `Cannot read the URL "${value}": expected http:// or https://`;
}
