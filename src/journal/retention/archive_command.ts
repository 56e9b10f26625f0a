import { errorText } from "../../base/mod.ts";
import { ArchiveAnswers, type ArchiveFile, type ArchiveOutcome, requestLine } from "./archive_protocol.ts";

/** Options of the archive command. */
export interface ArchiveCommandOptions {
  /** Path of a program, not a shell command line. It gets the file paths as arguments. */
  command: string;
  /** Id of the instance (boat). */
  instanceId: string;
  /** Timeout of one batch, default 5 minutes. */
  timeoutMs?: number;
  /** Ends the command early. */
  signal?: AbortSignal;
}

export const DEFAULT_TIMEOUT_MS: number = 5 * 60_000;
/** Grace period between the request to end and the kill. */
const GRACE_MS = 1000;
/** Limit of stored standard error output. */
const MAX_COMPLAINT_CHARS = 500;

/**
 * Runs the archive command for one batch. It gets the paths as arguments, and one line of JSON per file on standard
 * input; it answers with one line of JSON per file on standard output. Every file gets an outcome; for a file without
 * an answer it is an error. The exit code is ignored: the answers of a command that crashed midway
 * remain valid.
 */
export async function runArchiveCommand(
  files: readonly ArchiveFile[],
  options: ArchiveCommandOptions,
): Promise<Map<string, ArchiveOutcome>> {
  const paths = files.map(({ path }) => path);
  const answers = new ArchiveAnswers(paths);
  const ending = await run(paths, {
    ...options,
    input: files.map((file) => requestLine(file, options)).join(""),
    onOutput: (bytes) => answers.push(bytes),
  });
  answers.end();
  const ignored = answers.ignored === 0 ? "" : `, ${answers.ignored} lines of its output were no answers`;
  const error = `the command "${options.command}" said nothing of it: ${ending}${ignored}`;
  return new Map(paths.map((path) => [path, answers.outcomes.get(path) ?? { status: "error", error }]));
}

interface RunOptions extends ArchiveCommandOptions {
  input: string;
  onOutput: (bytes: Uint8Array) => void;
}

/** Runs the command until it ends; returns the result. */
async function run(args: readonly string[], options: RunOptions): Promise<string> {
  const { command, timeoutMs = DEFAULT_TIMEOUT_MS, signal, input, onOutput } = options;
  if (signal?.aborted) return "it was not started";
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(command, {
      args: [...args],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      // Own process group, so that its child processes end with it.
      detached: true,
    }).spawn();
  } catch (error) {
    return errorText(error);
  }
  let complaint = "";
  const streams = [child.stdout.getReader(), child.stderr.getReader()] as const;
  const writer = child.stdin.getWriter();
  const done = Promise.all([
    feed(writer, input),
    readAll(streams[0], onOutput),
    readAll(streams[1], (bytes) => {
      complaint = (complaint + new TextDecoder().decode(bytes)).slice(-MAX_COMPLAINT_CHARS);
    }),
    child.status,
  ]);
  const stopped = await until(done, { timeoutMs, signal });
  if (stopped) await kill(child, { done, abandon: () => abandon(streams, writer) });
  const lastLine = complaint.trim().split("\n").at(-1) ?? "";
  return (stopped ?? howItEnded(await child.status)) + (lastLine && `, "${lastLine}"`);
}

function howItEnded({ code, signal }: Deno.CommandStatus): string {
  return signal ? `it ended by ${signal}` : `it ended with code ${code}`;
}

/** Waits for the end; returns why it stopped waiting. */
async function until(
  done: Promise<unknown>,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`it took more than ${timeoutMs / 1000} s`), timeoutMs);
  const abort = () => resolve("it was told to end");
  signal?.addEventListener("abort", abort);
  try {
    return await Promise.race([done.then(() => undefined), promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Ends the process group: SIGTERM first, then SIGKILL. */
async function kill(
  child: Deno.ChildProcess,
  { done, abandon }: { done: Promise<unknown>; abandon: () => Promise<void> },
): Promise<void> {
  signalGroup(child, "SIGTERM");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const grace = new Promise<void>((resolve) => timer = setTimeout(resolve, GRACE_MS));
  await Promise.race([done, grace]);
  clearTimeout(timer);
  signalGroup(child, "SIGKILL");
  // A process that left the group may still hold the pipes.
  await abandon();
}

function signalGroup(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (Deno.build.os === "windows") child.kill(signal);
    else Deno.kill(-child.pid, signal);
  } catch {
    // All of them have ended.
  }
}

async function abandon(
  readers: readonly ReadableStreamDefaultReader<Uint8Array>[],
  writer: WritableStreamDefaultWriter<Uint8Array>,
): Promise<void> {
  await Promise.allSettled([...readers.map((reader) => reader.cancel()), writer.abort()]);
}

/** Writes the input. A command that uses its arguments need not read it. */
async function feed(writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>, input: string): Promise<void> {
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch {
    // It ended, or closed its input.
  }
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      take(value);
    }
  } catch {
    // As good as the end.
  }
}
