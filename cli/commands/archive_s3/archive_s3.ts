/**
 * `vbg archive-s3`, a ready `-journal-archive-command`: sends journal files to an S3-compatible store.
 *
 * @module
 */
import { errorText } from "@vessel/gateway/base";
import { S3Archive } from "@vessel/gateway/object-store";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { EXIT, type Program, type ProgramContext, runOnce } from "../../program/program.ts";
import { type Environment, parseCommandLine } from "../../settings/options.ts";
import { archiveS3Checks, archiveS3Options, type ArchiveS3Settings, isKeyPart } from "./options.ts";

/** Name, operands and settings of `vbg archive-s3`. */
export const program: Program<ArchiveS3Settings> = {
  name: "vbg archive-s3",
  summary:
    "sends journal files to an S3-compatible store, as the server's -journal-archive-command. Each line of standard " +
    'input is a file, {"path": "FILE.lpj", "instance_id": "aurora"}, with "sidecars" to store beside it, and is answered by one, {"path", "status"}, with ' +
    '"error" where the status is "error". Exit code 0 even if a status is "error", 2 if no file could be tried',
  options: archiveS3Options,
  checks: archiveS3Checks,
  positionals: "[FILE ...]",
};

const OTHER_OBJECT = "another object is there. Do two boats have the same instance id?";

/** A file to archive, from a line of standard input. */
interface Request {
  path: string;
  instanceId: unknown;
  /** Paths of files that are archived with it. */
  sidecars: readonly string[];
}

/** Reports the result of each path once, as a line of JSON. */
type Answer = (path: string, error?: string) => void;

/**
 * Archives the files listed on standard input and prints one line for each as soon as its result is known. With
 * wrong settings every file gets its line, too. Returns the exit code: 0, or 2 if nothing could be tried.
 *
 * @param input lines of JSON: `{"path", "instance_id"}`
 */
export async function run(
  context: ProgramContext,
  input: ReadableStream<Uint8Array> = standardInput(),
): Promise<number> {
  const answered = new Set<string>();
  const answer: Answer = (path, error) => {
    if (answered.has(path)) return;
    answered.add(path);
    context.print(JSON.stringify(error === undefined ? { path, status: "ok" } : { path, status: "error", error }));
  };
  const complaints: string[] = [];
  const printError = (text: string) => {
    complaints.push(text);
    context.printError(text);
  };
  const code = await runOnce(program, {
    context: { ...context, printError },
    run: async (settings, paths) => {
      using archive = await openArchive(settings, context.environment);
      await archiveAll(readRequests(input, printError), { archive, settings, answer });
      answerAll(paths, { answer, why: "no line on standard input says whose file it is" });
      return EXIT.ok;
    },
  });
  if (code === EXIT.ok) return EXIT.ok;
  const [why = "it failed"] = complaints.join("\n").split("\n");
  for await (const { path } of readRequests(input, context.printError)) answer(path, why);
  answerAll(parseCommandLine(context.args, archiveS3Options).positionals, { answer, why });
  return EXIT.settings;
}

function answerAll(paths: readonly string[], { answer, why }: { answer: Answer; why: string }): void {
  for (const path of paths) answer(path, why);
}

function openArchive(settings: ArchiveS3Settings, environment: Environment): Promise<S3Archive> {
  const { bucket, endpoint, pathStyle: isPathStyle, storageClass, timeoutMs: stallMs, attempts } = settings;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const sessionToken = environment["AWS_SESSION_TOKEN"] || undefined;
  return S3Archive.open({
    ...{ bucket, endpoint, isPathStyle, storageClass, stallMs, attempts },
    region: settings.region || environment["AWS_REGION"] || environment["AWS_DEFAULT_REGION"] || undefined,
    // Amazon's client would use the profile first if AWS_PROFILE is set, too; other AWS tools do not.
    credentials: accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, sessionToken } : undefined,
  });
}

async function archiveAll(
  requests: AsyncIterableIterator<Request>,
  { archive, settings, answer }: { archive: S3Archive; settings: ArchiveS3Settings; answer: Answer },
): Promise<void> {
  const taken = new Set<string>();
  const work = async () => {
    for await (const { path, instanceId, sidecars } of requests) {
      if (taken.has(path)) continue;
      taken.add(path);
      try {
        let error: string | undefined;
        for (const each of [path, ...sidecars]) {
          const key = keyOf(each, { instanceId, prefix: settings.prefix });
          const result = await archive.storeFile(each, key);
          if (result !== "stored") error ??= `Cannot archive as "${key}": ${OTHER_OBJECT}`;
        }
        answer(path, error);
      } catch (error) {
        answer(path, errorText(error));
      }
    }
  };
  await Promise.all(Array.from({ length: settings.concurrency }, work));
}

function keyOf(path: string, { instanceId, prefix }: { instanceId: unknown; prefix: string }): string {
  if (typeof instanceId !== "string" || !isKeyPart(instanceId)) {
    const found = instanceId === undefined ? "there is none" : `found ${JSON.stringify(instanceId)}`;
    throw new Error(`Cannot archive without an instance id that can be a folder: ${found}`);
  }
  const name = basename(path);
  if (!isKeyPart(name)) throw new Error(`Cannot archive "${path}": its name cannot be part of a key`);
  return [...(prefix === "" ? [] : [prefix]), instanceId, name].join("/");
}

/** Reads the list of files. Reports and skips a line that names no file. */
async function* readRequests(
  input: ReadableStream<Uint8Array>,
  printError: (text: string) => void,
): AsyncGenerator<Request, undefined> {
  for await (const line of createInterface({ input: Readable.from(input), crlfDelay: Infinity })) {
    if (line.trim() === "") continue;
    const request = parseRequest(line);
    if (request) yield request;
    else printError(`${program.name}: Cannot read the line "${line.slice(0, 100)}": expected JSON with a path`);
  }
  return undefined;
}

function parseRequest(line: string): Request | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { path, instance_id: instanceId, sidecars }: { path?: unknown; instance_id?: unknown; sidecars?: unknown } =
    value;
  const others = Array.isArray(sidecars) ? sidecars.filter((each) => typeof each === "string") : [];
  return typeof path === "string" && path !== "" ? { path, instanceId, sidecars: others } : undefined;
}

/** Standard input; empty on a terminal. */
function standardInput(): ReadableStream<Uint8Array> {
  return Deno.stdin.isTerminal() ? new Blob([]).stream() : Deno.stdin.readable;
}
