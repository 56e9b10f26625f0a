import type { SystemdNotifier } from "@vessel/gateway/boat";
import { errorText, Logger } from "@vessel/gateway/base";
import { VERSION } from "@vessel/gateway/version";
import type { FileSettings, ProgramSettings, RunSettings } from "../settings/common_options.ts";
import { describeProblem, type Environment, parseCommandLine } from "../settings/options.ts";
import { loadSettings, type SettingsSubject } from "../settings/settings.ts";
import { formatReport } from "../settings/validate.ts";
import { formatHelp, formatUsage, type HelpSubject } from "./help.ts";
import { Interrupted, INTERRUPTED_EXIT_CODE, interruption, type InterruptionOptions } from "./interrupt.ts";
import { runInstead, tracedCommand } from "./otel.ts";
import { type Reload, reloadSettings } from "./reload.ts";
import { ServerStop } from "./server_stop.ts";
import { flushProcessOutputs, type Output, OutputClosed, printLine, processErrors, processOutput } from "./terminal.ts";

/** A program: its name, help, table and checks. */
export interface Program<S extends AnySettings> extends SettingsSubject<S>, HelpSubject<S> {}

/** A program that runs until it is stopped. */
export interface ServerProgram<S extends RunningSettings> extends Program<S> {
  /** Deno's permission flags that it runs with; see permissions.ts. */
  permissions: readonly string[];
}

type AnySettings = ProgramSettings & Partial<FileSettings>;
/** Settings of a program that runs until it is stopped. */
type RunningSettings = AnySettings & RunSettings;

/** Arguments, environment and outputs of a program. */
export interface ProgramContext {
  args: readonly string[];
  environment: Environment;
  /** Prints a line on standard output. */
  print(text: string): void;
  /** Prints a line on standard error. */
  printError(text: string): void;
  /** Buffered output for large results; default standard output. Get it by {@linkcode outputOf}. */
  output?: Output;
  /** Buffered output for messages; default standard error. Get it by {@linkcode errorsOf}. */
  errors?: Output;
  /** Default standard input. */
  input?: ReadableStream<Uint8Array>;
  /** Stops the program; default Ctrl-C and SIGTERM. Get it by {@linkcode stopSignalOf}. */
  stopping?: AbortSignal;
}

/** The settings of a program, or its exit code if it is done (help, version, wrong settings). */
export type Prepared<S> =
  | { kind: "exit"; code: number }
  | {
    kind: "ready";
    settings: S;
    /** Words of the command line that are not flags. */
    positionals: readonly string[];
    /** Reads the settings again and compares them with the current ones. */
    reload(current: S): Promise<Reload<S>>;
  };

/** A started program. */
export interface Running<S> {
  /**
   * Applies the reloadable settings; the others are as at the start. May return the names of settings whose files have new
   * contents.
   */
  reload(settings: S): readonly string[] | void | Promise<readonly string[] | void>;
  /** Resolves with the exit code of a program that ends by itself; left out: it runs until it is stopped. */
  done?: Promise<number>;
  /** A number that grows while the program works; left out: not monitored. */
  heartbeats?: () => number;
  /** Comes before `stop`, and takes as long as it needs until `skip` is aborted; left out: `stop` comes at once. */
  drain?: ((skip: AbortSignal) => Promise<void>) | undefined;
  /** Ends everything in order. */
  stop(): Promise<void>;
}

/** Dependencies of a starting program. */
export interface Starting {
  log: Logger;
  /** Aborted at a stop signal. A long start must then reject with its reason. */
  stopping: AbortSignal;
}

/** A wrong setting that only the start finds, such as a file that cannot be used. Exit code 2. */
export class SettingsError extends Error {
  override readonly name: string = "SettingsError";
}

/** Wrong arguments: the message is followed by the usage line. */
export class UsageError extends SettingsError {}

/** Exit codes of all programs. */
export const EXIT = { ok: 0, failure: 1, settings: 2, interrupted: INTERRUPTED_EXIT_CODE } as const;

/** Reads the settings of a program from arguments, environment and files. */
export async function prepare<S extends AnySettings>(
  program: Program<S>,
  context: ProgramContext = processContext(),
): Promise<Prepared<S>> {
  const { environment, print, printError } = context;
  const { flags, positionals, error } = parseCommandLine(helpAsFlag(context.args, program), program.options);
  const reject = (lines: readonly string[]): Prepared<S> => {
    printError([...lines.map((line) => `${program.name}: ${line}`), "", formatUsage(program)].join("\n"));
    return { kind: "exit", code: EXIT.settings };
  };
  if (error !== undefined) return reject([error]);
  const isAllAsked = (flags.has("help") || flags.has("h")) && positionals.join() === "all";
  if (positionals.length > 0 && program.positionals === undefined && !isAllAsked) {
    return reject([`Unexpected argument "${positionals[0]}"`]);
  }
  const given = { flags, environment };
  const { file, resolution, problems, settings } = await loadSettings(program, given);
  const asked = (name: "help" | "version" | "validateConfig") => {
    const outcome = name in program.options ? resolution.outcomes[name] : undefined;
    return outcome?.ok && outcome.value;
  };
  const exit = (text: string, code: number = EXIT.ok): Prepared<S> => {
    print(text);
    return { kind: "exit", code };
  };
  if (asked("help")) return exit(formatHelp(program, { all: isAllAsked }));
  if (asked("version")) return exit(`${program.name} ${VERSION}`);
  if (asked("validateConfig")) {
    const report = formatReport(program.options, { resolution, file });
    return exit(report.text, report.exitCode);
  }
  const errors = problems.filter(({ severity }) => severity === "error");
  if (settings === undefined) return reject(errors.map((problem) => inFile(describeProblem(problem), file.path)));
  for (const warning of problems) printError(`${program.name}: warning: ${describeProblem(warning)}`);
  const reload = (current: S) => reloadSettings(program, { ...given, current, configPath: file.path });
  return { kind: "ready", settings, positionals, reload };
}

/** `help` as the first word of a program that takes no other words means `-help`. */
function helpAsFlag(args: readonly string[], { positionals }: { positionals?: string }): readonly string[] {
  return args[0] === "help" && positionals === undefined ? ["-help", ...args.slice(1)] : args;
}

/** Exit code at Ctrl-C, or a function of the settings for commands that may run without end. */
export type InterruptedCode<S> = number | ((settings: S, positionals: readonly string[]) => number);

/** Runs a program that ends by itself. */
export async function runOnce<S extends ProgramSettings>(
  program: Program<S>,
  { context, run, interrupted = EXIT.ok }: {
    context: ProgramContext;
    /**
     * Returns the exit code, by default 0. An error becomes one line on standard error and exit code 1, or 2 for a
     * SettingsError. If the reader of the output has closed it, the exit code is 0.
     */
    run: (settings: S, positionals: readonly string[]) => Promise<number | void>;
    /** Exit code at Ctrl-C; default 0. Unfinished work has another code, so that a script does not continue after it. */
    interrupted?: InterruptedCode<S>;
  },
): Promise<number> {
  const prepared = await prepare(program, context);
  if (prepared.kind === "exit") return prepared.code;
  const { settings, positionals } = prepared;
  try {
    return await run(settings, positionals).finally(() => outputOf(context).flush()) ?? EXIT.ok;
  } catch (error) {
    if (error instanceof OutputClosed) return EXIT.ok;
    if (error instanceof Interrupted) {
      return typeof interrupted === "number" ? interrupted : interrupted(settings, positionals);
    }
    const usage = error instanceof UsageError ? `\n\n${formatUsage(program)}` : "";
    context.printError(`${program.name}: ${errorText(error)}${usage}`);
    return error instanceof SettingsError ? EXIT.settings : EXIT.failure;
  } finally {
    // The caller ends the process with the exit code.
    await flushProcessOutputs();
  }
}

/** Where a command writes its result. */
export function outputOf({ output, environment }: ProgramContext): Output {
  return output ?? processOutput(environment);
}

/** Where a command writes its messages. */
export function errorsOf({ errors, environment }: ProgramContext): Output {
  return errors ?? processErrors(environment);
}

/** Stops a command: aborted with {@linkcode Interrupted}, which `runOnce` turns into an exit code. */
export function stopSignalOf({ stopping }: ProgramContext, options: InterruptionOptions = {}): AbortSignal {
  return stopping ?? interruption(options);
}

/**
 * Runs a program until SIGTERM or SIGINT, or until it is done; SIGHUP reloads its settings. Returns the exit code.
 *
 * @param start starts everything; its error becomes one line on standard error and exit code 1
 */
export async function serve<S extends RunningSettings>(
  program: ServerProgram<S>,
  start: (settings: S, parts: Starting) => Promise<Running<S>>,
  context: ProgramContext = processContext(),
): Promise<number> {
  const prepared = await prepare(program, context);
  if (prepared.kind === "exit") return prepared.code;
  const { settings } = prepared;
  const { otelEndpoint: endpoint, otelSampleRatio: sampleRatio } = settings;
  if (endpoint !== undefined) {
    const { name: serviceName, permissions } = program;
    const { environment } = context;
    const again = tracedCommand({ endpoint, sampleRatio, serviceName, permissions, environment });
    if (again !== undefined) return await runInstead(again);
  }
  const { logLevel: level, logFormat: format } = settings;
  const log = new Logger({ level, format, write: (line) => printLine(line, "errors") });
  const serverStop = new ServerStop(log);
  const { stopping } = serverStop;
  const stopAsked = new Promise<void>((resolve) => stopping.addEventListener("abort", () => resolve()));
  const started = Promise.withResolvers<() => Promise<void>>();
  listenForReload(started.promise, log);
  try {
    const running = await start(settings, { log, stopping });
    serverStop.drains = running.drain !== undefined;
    const manager = await managerOf(running, { environment: context.environment, log });
    started.resolve(reloaderOf({ running, prepared, manager, log }));
    await manager?.ready("running");
    const code = await Promise.race([stopAsked, ...(running.done ? [running.done] : [])]);
    await serverStop.drained(running.drain);
    await Promise.all([manager?.stopping(), running.stop()]);
    return code ?? EXIT.ok;
  } catch (error) {
    if (stopping.aborted && error === stopping.reason) return EXIT.ok;
    context.printError(`${program.name}: ${errorText(error)}`);
    log.debug("program failed", { stack: error instanceof Error ? error.stack : undefined });
    return error instanceof SettingsError ? EXIT.settings : EXIT.failure;
  }
}

/** The connection to systemd, if it started the process. */
async function managerOf<S>(
  { heartbeats }: Running<S>,
  { environment, log }: { environment: Environment; log: Logger },
): Promise<SystemdNotifier | undefined> {
  if (environment["NOTIFY_SOCKET"] === undefined) return undefined;
  // Loaded on demand: commands share this file and must start quickly.
  const { growing, readNotifySettings, SystemdNotifier } = await import("@vessel/gateway/boat");
  const settings = readNotifySettings(environment, [Deno.pid, Deno.ppid]);
  return settings && new SystemdNotifier({ settings, probe: heartbeats ? growing(heartbeats) : () => true, log });
}

/** Returns the function that reloads the settings of a running program. */
function reloaderOf<S extends RunningSettings>(
  { running, prepared, manager, log }: {
    running: Running<S>;
    prepared: Extract<Prepared<S>, { kind: "ready" }>;
    manager: SystemdNotifier | undefined;
    log: Logger;
  },
): () => Promise<void> {
  let current = prepared.settings;
  const reloadSettings = async () => {
    const result = await prepared.reload(current);
    if (result.kind === "refused") {
      for (const error of result.errors) log.error("settings refused, the old ones stay", { error });
      return;
    }
    current = { ...current, ...result.changed };
    log.level = current.logLevel;
    const files = await running.reload(current) ?? [];
    const needRestart = result.needRestart.join(",");
    for (const warning of result.warnings) log.warn("doubtful setting", { warning });
    if (needRestart !== "") log.warn("some changed settings need a restart", { settings: needRestart });
    const changed = [...new Set([...result.changedNames, ...files])];
    log.info("settings reloaded", { changed: changed.join(",") || "nothing" });
  };
  return async () => {
    await manager?.reloading();
    await reloadSettings();
    await manager?.ready("running");
  };
}

/** Reloads at SIGHUP. A signal during the start is handled after the start. */
function listenForReload(reloader: Promise<() => Promise<void>>, log: Logger): void {
  // Reloads run one after the other, in the order of the signals.
  let last = Promise.resolve();
  const onSignal = () => {
    last = last.then(async () => await (await reloader)())
      .catch((error: unknown) => log.error("reload failed", { error: String(error) }));
  };
  if (Deno.build.os !== "windows") Deno.addSignalListener("SIGHUP", onSignal);
}

function inFile(problem: string, path: string | undefined): string {
  return path !== undefined && problem.startsWith("config key") ? `${path}: ${problem}` : problem;
}

/** This process's own arguments, environment and output. */
export function processContext(): ProgramContext {
  return {
    args: Deno.args,
    environment: Deno.env.toObject(),
    print: (text) => printLine(text, "output"),
    printError: (text) => printLine(text, "errors"),
  };
}
