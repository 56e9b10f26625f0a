import { LOG_LEVELS, type LogFormat, type LogLevel } from "@vessel/gateway/base";
import { boolean, number, oneOf, optional, text } from "./option_types.ts";
import type { Environment, Options } from "./options.ts";

/** What every program can be asked on its command line. */
export interface ProgramSettings {
  version: boolean;
  help: boolean;
}

/** Settings of the programs that read a configuration file. */
export interface FileSettings {
  /** Path of the configuration file; nothing: the usual places. */
  config: string | undefined;
  validateConfig: boolean;
}

/** Settings of the programs that run until they are told to stop. */
export interface RunSettings {
  logLevel: LogLevel;
  logFormat: LogFormat;
  /** OpenTelemetry collector; nothing: none. */
  otelEndpoint: string | undefined;
  /** Part of all traces that it gets, 0 to 1. */
  otelSampleRatio: number;
}

/** Settings of those among them that remember something. */
export interface ServerSettings extends RunSettings {
  /** Folder of what must survive a restart. */
  stateDir: string;
}

const PROGRAM = "Program";
const OPERATION = "Operation";

/** Rows of FileSettings. `configName` is the file that is looked for without `-config`. */
export function fileOptions(configName: string): Options<FileSettings> {
  const group = PROGRAM;
  return {
    config: optional(text({
      name: "config",
      placeholder: "PATH",
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
      help: "Check every setting, print what was found and exit: 0 when all is well, 1 when not.",
      group,
    }),
  };
}

/** Rows of ProgramSettings. */
export function programOptions(): Options<ProgramSettings> {
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

/** Rows of ServerSettings. */
export function serverOptions(): Options<ServerSettings> {
  return {
    stateDir: text({
      name: "state-dir",
      placeholder: "DIR",
      default: {
        compute: (environment) => keptFolder(environment, "vbg"),
        text: "$STATE_DIRECTORY, else $XDG_STATE_HOME/vbg, else ~/.local/state/vbg",
      },
      help: "Folder of what must survive a restart. Made when missing; one process at a time may use it. " +
        "A demo has a temporary one by default.",
      group: OPERATION,
      validate: (dir) => dir === "" ? "Cannot use an empty path as the state directory" : undefined,
    }),
    ...runOptions(),
  };
}

/** Rows of RunSettings. */
export function runOptions(): Options<RunSettings> {
  const group = OPERATION;
  return {
    logLevel: oneOf({
      name: "log-level",
      default: "info",
      choices: LOG_LEVELS,
      help: "Least severity of the log lines on standard error.",
      group,
      reloadable: true,
    }),
    logFormat: oneOf({
      name: "log-format",
      default: { compute: () => Deno.stderr.isTerminal() ? "text" : "json", text: "text on a terminal, else json" },
      choices: ["json", "text"],
      help: "json: one object a line. text: for people.",
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
      help: "Part of all traces that the collector gets: 1 all, 0.1 one in ten, 0 none.",
      group,
    }),
  };
}

/** Folder of what a service keeps: where systemd says, else where the user keeps such things, else below `/var/lib`. */
export function keptFolder({ STATE_DIRECTORY, XDG_STATE_HOME, HOME }: Environment, name: string): string {
  // systemd lists several directories with colons between them.
  const [managed] = STATE_DIRECTORY?.split(":") ?? [];
  if (managed) return managed;
  // The XDG specification has relative paths ignored.
  if (XDG_STATE_HOME?.startsWith("/")) return `${XDG_STATE_HOME}/${name}`;
  return HOME ? `${HOME}/.local/state/${name}` : `/var/lib/${name}`;
}

function checkHttpUrl(value: string): string | undefined {
  const protocol = URL.canParse(value) ? new URL(value).protocol : "";
  if (protocol === "http:" || protocol === "https:") return undefined;
  return `Cannot read the URL "${value}": expected http:// or https://`;
}
