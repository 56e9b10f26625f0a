import { errorText } from "../../base/mod.ts";
import { waitAtMost } from "./waits.ts";
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

/** Default timeout of one batch. */
export const DEFAULT_TIMEOUT_MS: number = 5 * 60_000;
/** Grace period between the request to end and the kill. */
const GRACE_MS = 1000;
/** Limit of stored standard error output. */
const MAX_ERROR_OUTPUT_CHARS = 500;

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
  const ignored = answers.ignored === 0 ? "" : `, ${answers.ignored} lines of its output are not answers`;
  const error = `the command "${options.command}" gave no answer: ${ending}${ignored}`;
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
  let errorOutput = "";
  const streams = [child.stdout.getReader(), child.stderr.getReader()] as const;
  const writer = child.stdin.getWriter();
  const done = Promise.all([
    feed(writer, input),
    readAll(streams[0], onOutput),
    readAll(streams[1], (bytes) => {
      errorOutput = (errorOutput + new TextDecoder().decode(bytes)).slice(-MAX_ERROR_OUTPUT_CHARS);
    }),
    child.status,
  ]);
  const ended = await waitAtMost(done, { ms: timeoutMs, signal });
  if (ended !== "done") {
    await kill(child, done);
    // A process that left the group may still hold the pipes.
    await Promise.allSettled([...streams.map((reader) => reader.cancel()), writer.abort()]);
  }
  const result = ended === "timeout"
    ? `it took more than ${timeoutMs / 1000} s`
    : ended === "aborted"
    ? "it was stopped"
    : describeStatus(await child.status);
  const lastLine = errorOutput.trim().split("\n").at(-1) ?? "";
  return result + (lastLine && `, "${lastLine}"`);
}

function describeStatus({ code, signal }: Deno.CommandStatus): string {
  return signal ? `it ended by ${signal}` : `it ended with code ${code}`;
}

/** Ends the process group: SIGTERM first, then SIGKILL. */
async function kill(child: Deno.ChildProcess, done: Promise<unknown>): Promise<void> {
  signalGroup(child, "SIGTERM");
  await waitAtMost(done, { ms: GRACE_MS });
  signalGroup(child, "SIGKILL");
}

function signalGroup(child: Deno.ChildProcess, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    if (Deno.build.os === "windows") child.kill(signal);
    else Deno.kill(-child.pid, signal);
  } catch {
    // All processes have ended.
  }
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
  onBytes: (bytes: Uint8Array) => void,
): Promise<void> {
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      onBytes(value);
    }
  } catch {
    // Treated as the end of the output.
  }
}
