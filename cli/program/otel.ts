import type { Environment } from "../settings/options.ts";

/** Set for the child: turns on Deno's tracing, and prevents another child. */
const TRACING_VARIABLE = "OTEL_DENO";
const FORWARDED: readonly Deno.Signal[] = Deno.build.os === "windows" ? ["SIGINT"] : ["SIGTERM", "SIGINT", "SIGHUP"];

/** A command that runs this program with tracing. */
export interface TracedCommand {
  path: string;
  args: string[];
  env: Record<string, string>;
}

/**
 * The command that runs this program with Deno's OpenTelemetry, which can only be turned on when a process starts.
 * Undefined if it is on already.
 */
export function tracedCommand(
  { endpoint, sampleRatio, serviceName, permissions, environment }: {
    endpoint: string;
    /** Share of all traces that are exported, 0 to 1. */
    sampleRatio: number;
    serviceName: string;
    /** Deno's permission flags of this program. */
    permissions: readonly string[];
    environment: Environment;
  },
): TracedCommand | undefined {
  if (environment[TRACING_VARIABLE] === "true") return undefined;
  const program = Deno.build.standalone ? [] : ["run", ...permissions, Deno.mainModule];
  return {
    path: Deno.execPath(),
    args: [...program, ...Deno.args],
    env: {
      [TRACING_VARIABLE]: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_SERVICE_NAME: environment["OTEL_SERVICE_NAME"] || serviceName,
      ...(sampleRatio < 1 && {
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: String(sampleRatio),
      }),
    },
  };
}

/** Runs a command in place of this process: it inherits the streams and gets the signals. Returns its exit code. */
export async function runInstead({ path, args, env }: TracedCommand): Promise<number> {
  const child = new Deno.Command(path, { args, env, stdin: "inherit", stdout: "inherit", stderr: "inherit" }).spawn();
  const listeners = FORWARDED.map((signal) => ({ signal, forward: () => forward(child, signal) }));
  for (const { signal, forward } of listeners) Deno.addSignalListener(signal, forward);
  try {
    return (await child.status).code;
  } finally {
    for (const { signal, forward } of listeners) Deno.removeSignalListener(signal, forward);
  }
}

function forward(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // The child has just ended.
  }
}
