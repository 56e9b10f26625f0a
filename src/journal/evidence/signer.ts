import { basename, dirname } from "node:path";
import { AtomicFile, errorText, JsonFile, type Logger, pause, readJsonFile } from "../../base/mod.ts";
import { compareNames, inOrder, statementOf } from "../file/name.ts";
import { WakeUp } from "../retention/waits.ts";
import { readFrames } from "./frames.ts";
import { hashFile } from "./hash.ts";
import { type ChainHead, encodeState, newestIn, parseState, predecessorOf, stateFile } from "./head.ts";
import { type EvidenceKey, openEvidenceKey } from "./key.ts";
import { publishKey, writeSigned } from "./sidecars.ts";
import { encodeStatement, type FileHash, isSignable, MAX_REMOVED, type Statement } from "./statement.ts";

/** Options of an {@linkcode EvidenceSigner}. */
export interface EvidenceSignerOptions {
  /** Directory of the journal. */
  directory: string;
  /** Directory of the state that outlasts it. */
  stateDirectory: string;
  /** Private key, PEM; made if it does not exist. Default `evidence.pem` in the state directory. */
  keyFile?: string | undefined;
  /** Whether the named file is being written. Must be true before the file is created. */
  isOpen: (name: string) => boolean;
  /** Returns true if another file system is mounted in place of the directory. */
  isUnmounted: () => Promise<boolean>;
  /** Called when files were signed and none waits. */
  onSigned: () => void;
  log: Logger;
  /** Pause after a failure, milliseconds; default a minute. */
  retryMs?: number;
}

/** Name of the private key in the state directory. */
const KEY_FILE = "evidence.pem";
/** Slices of hashing, and the pauses after them, milliseconds: recording and clients come first. */
const SLICE_MS = 4;
const REST_MS = 8;
/** Pause after a failure, milliseconds. */
const RETRY_MS = 60_000;
/** Longest time that a stop waits for signatures, milliseconds; the next start makes the others. */
export const CLOSE_MS = 5000;
/** Longest time until it has ended after that, milliseconds. */
const ABORT_MS = 500;

/**
 * Signs each complete file of a journal, one after the other in the background. It reads the directory instead of relying on
 * events, so that a start signs what a crash has left. Recording never waits for it.
 */
export class EvidenceSigner {
  readonly #options: EvidenceSignerOptions;
  readonly #stop = new AbortController();
  readonly #wakeUp = new WakeUp();
  readonly #state: JsonFile;
  readonly #running: Promise<void>;
  /** Files that ended in this run. */
  readonly #ended = new Set<string>();
  /** Those of them that are signed as soon as they are complete: nothing has failed since. */
  readonly #prompt = new Set<string>();
  /** Files that wait for their signature. */
  #waiting = new Set<string>();
  /** Files that cannot be signed before the next start, and why. */
  readonly #skipped = new Map<string, string>();
  #key: EvidenceKey | undefined;
  #head: ChainHead | undefined;
  #removed: string[] = [];
  #isDue = true;
  #isListed = false;
  #isClosing = false;
  #failure: string | undefined;

  /** Begins at once. */
  constructor(options: EvidenceSignerOptions) {
    this.#options = options;
    const content = () => encodeState({ head: this.#head, removed: this.#removed });
    this.#state = new JsonFile(stateFile(options.stateDirectory), { what: "evidence", content, log: options.log });
    this.#running = this.#run();
  }

  /** Notes that a file is complete. */
  noteEnded(name: string): void {
    this.#ended.add(name);
    this.#prompt.add(name);
    this.#waiting.add(name);
    this.#isDue = true;
    this.#wakeUp.wake();
  }

  /** Notes that retention has deleted a file. */
  noteRemoved(name: string): void {
    this.#removed = [...this.#removed, name].slice(-MAX_REMOVED);
    this.#waiting.delete(name);
    // Before the start is done, the state that is on disk is not known.
    if (this.#isListed) this.#state.changed();
  }

  /** True if a file will have its signature soon. */
  isPending(name: string): boolean {
    if (this.#failure !== undefined || this.#stop.signal.aborted) return false;
    return !this.#isListed || this.#waiting.has(name);
  }

  /** State for health: recording goes on in any case. */
  health(): { status: "ok" | "degraded"; message?: string } {
    if (this.#failure !== undefined) {
      return { status: "degraded", message: `files are recorded and not signed: ${this.#failure}` };
    }
    const [first] = this.#skipped;
    if (first === undefined) return { status: "ok" };
    const [name, why] = first;
    return { status: "degraded", message: `${this.#skipped.size} files not signed, first ${name}: ${why}` };
  }

  /** Signs what is complete, and ends, after {@linkcode CLOSE_MS} at the latest. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#wakeUp.wake();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#stop.abort(new Error("the server stops"));
      // Reading a file may hang.
      setTimeout(resolve, ABORT_MS);
    }, CLOSE_MS);
    await Promise.race([this.#running, late]);
    clearTimeout(timer);
    await this.#state.close();
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#isDue = false;
      try {
        await this.#signAll();
        if (this.#failure !== undefined) this.#options.log.info("journal files are signed again");
        this.#failure = undefined;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#fail(errorText(error));
      }
      if (this.#isClosing && (!this.#isDue || this.#failure !== undefined)) return;
      if (!this.#isDue) {
        await this.#wakeUp.wait(this.#failure === undefined ? undefined : this.#options.retryMs ?? RETRY_MS);
      }
    }
  }

  #fail(error: string): void {
    if (error !== this.#failure) this.#options.log.error("journal files not signed", { error });
    const wasSigning = this.#failure === undefined;
    this.#failure = error;
    this.#prompt.clear();
    // Files that waited for their signature are archived without it.
    if (wasSigning) this.#options.onSigned();
  }

  async #signAll(): Promise<void> {
    const { directory, isUnmounted, onSigned } = this.#options;
    if (await isUnmounted()) throw new Error(`"${directory}" is not mounted`);
    const key = this.#key ??= await this.#openKey();
    const names = new Set<string>();
    for await (const { name, isFile } of Deno.readDir(directory)) if (isFile) names.add(name);
    if (!this.#isListed) await this.#readState(names, key);
    const files = inOrder(names);
    const due = files.filter((name) => this.#isUnsigned(name, names));
    this.#waiting = new Set(due);
    this.#isListed = true;
    const [oldest] = files;
    for (const name of due) {
      if (this.#stop.signal.aborted) return;
      await this.#sign(name, { key, oldest });
      this.#waiting.delete(name);
    }
    if (due.length > 0) onSigned();
  }

  async #openKey(): Promise<EvidenceKey> {
    const { directory, stateDirectory, keyFile = `${stateDirectory}/${KEY_FILE}`, log } = this.#options;
    const { key, isNew } = await openEvidenceKey(new AtomicFile(dirname(keyFile), { name: basename(keyFile) }));
    const path = await publishKey(directory, key);
    log.info(isNew ? "journal files are signed with a new key" : "journal files are signed", {
      key: key.fingerprint,
      publicKey: path,
    });
    return key;
  }

  /** The newest statement: files may have been deleted since, and a power cut may have come before the state was stored. */
  async #readState(names: ReadonlySet<string>, key: EvidenceKey): Promise<void> {
    const { directory, stateDirectory, log } = this.#options;
    const stored = await readJsonFile(stateFile(stateDirectory), { what: "evidence", parse: parseState, log });
    const found = await newestIn(directory, { names, key });
    const isBehind = (stored?.head?.statement.number ?? 0) < (found?.statement.number ?? 0);
    this.#head = isBehind ? found : stored?.head;
    this.#removed = [...stored?.removed ?? [], ...this.#removed];
  }

  /** True for complete files without a statement. */
  #isUnsigned(name: string, names: ReadonlySet<string>): boolean {
    const isKnown = names.has(statementOf(name)) || this.#options.isOpen(name) || this.#skipped.has(name);
    return !isKnown && isSignable(name);
  }

  async #sign(name: string, { key, oldest = "" }: { key: EvidenceKey; oldest: string | undefined }): Promise<void> {
    const { directory, isUnmounted, log } = this.#options;
    const path = `${directory}/${name}`;
    const read = await this.#read(path).catch((error: unknown) => {
      this.#stop.signal.throwIfAborted();
      return error instanceof Deno.errors.NotFound ? undefined : errorText(error);
    });
    if (await isUnmounted()) throw new Error(`"${directory}" is not mounted`);
    if (read === undefined) return;
    if (typeof read === "string") {
      log.error("journal file not signed", { file: name, error: read });
      this.#skipped.set(name, read);
      return;
    }
    const head = this.#head;
    const gone = this.#removed;
    const removed = gone.filter((each) => compareNames(each, oldest) > 0 && isSignable(each));
    const statement: Statement = {
      ...{ name, ...read, key: key.fingerprint, removed, isLate: !this.#prompt.has(name) },
      number: (head?.statement.number ?? 0) + 1,
      previous: head && predecessorOf(head),
    };
    const text = encodeStatement(statement);
    const bytes = new TextEncoder().encode(text);
    await writeSigned(path, { statement: bytes, signature: await key.sign(bytes) });
    this.#head = { statement, text };
    this.#removed = this.#removed.filter((each) => !gone.includes(each));
    this.#ended.delete(name);
    this.#prompt.delete(name);
    this.#state.changed();
  }

  async #read(path: string): Promise<FileHash & Pick<Statement, "frames">> {
    const { signal } = this.#stop;
    const { frames, isTorn } = await readFrames(path);
    // The disk failed while it was written: the next start cuts that off.
    if (isTorn && this.#ended.has(basename(path))) {
      throw new Error("its end is torn; the next start repairs and signs it");
    }
    let sliceEndMs = performance.now() + SLICE_MS;
    const hash = await hashFile(path, async () => {
      if (performance.now() < sliceEndMs) return;
      await pause(REST_MS, signal);
      sliceEndMs = performance.now() + SLICE_MS;
    });
    return { ...hash, frames };
  }
}
