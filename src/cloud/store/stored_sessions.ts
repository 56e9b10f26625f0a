import { AtomicFile, silentLogger, Turns } from "../../base/mod.ts";
import {
  CLOCK_FILE,
  clockFile,
  type ClockSpan,
  ClockSpans,
  encodeSpans,
  parseSpans,
  readClockSpans,
} from "../../journal/mod.ts";
import type { ObjectStore } from "../../object_store/mod.ts";
import { mergeSessions, SESSION_FILES, type Sessions } from "../../stream/mod.ts";
import { ONLY_NODE } from "./frame_store.ts";
import { sessionsKey, sessionsPrefix } from "./object_names.ts";

/** Longer files are not stored: a session takes some hundred bytes. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Permissions of the files: they name the owners of sessions. */
const MODE = 0o600;
/** Directory below a boat's directory for files of other nodes, while they are merged. */
const SCRATCH = ".sessions";

/** What is kept of a boat besides its frames. */
const FILES: readonly string[] = [...SESSION_FILES, CLOCK_FILE];

/**
 * Keeps the sessions of one boat, and the corrections of its times, in the store as its directory has them, so that another
 * node goes on with them.
 */
export class StoredSessions {
  readonly #id: string;
  readonly #directory: string;
  readonly #store: ObjectStore;
  readonly #node: string;
  readonly #turns = new Turns();
  /** What the store was given last. */
  #stored: string | undefined;
  /** Corrections when the files were stored last, if there were no sessions. */
  #onlyCorrections: string | undefined;

  constructor(
    { id, directory, store, node = ONLY_NODE }: {
      id: string;
      directory: string;
      store: ObjectStore;
      node?: string | undefined;
    },
  ) {
    this.#node = node;
    this.#id = id;
    this.#directory = directory;
    this.#store = store;
  }

  /** True if the files have changed since they were stored. */
  async isChanged(): Promise<boolean> {
    const text = await this.#read();
    return text !== undefined && text !== this.#stored;
  }

  /** Stores the files, if they have changed. @throws {StoreError} */
  put(signal?: AbortSignal): Promise<void> {
    // In turn, so that the newest text is stored last.
    return this.#turns.run(async () => {
      const text = await this.#read();
      if (text === undefined || text === this.#stored) return;
      await this.#store.put(sessionsKey(this.#id, this.#node), new TextEncoder().encode(text), { signal });
      this.#stored = text;
    });
  }

  /** As {@linkcode StoredSessions.put}; reads nothing if there are no sessions and the corrections are the same. */
  async putIfUsed(
    { sessions, corrections, signal }: {
      sessions: Pick<Sessions, "size" | "written"> | undefined;
      corrections: string;
      signal?: AbortSignal | undefined;
    },
  ): Promise<void> {
    const isUsed = sessions !== undefined && sessions.size > 0;
    if (!isUsed && this.#onlyCorrections === corrections) return;
    await sessions?.written();
    await this.put(signal);
    this.#onlyCorrections = isUsed ? undefined : corrections;
  }

  /**
   * Takes over what other nodes have stored. The boat must have no replica, and its journal must be closed.
   *
   * @param options.isNew true: also those that this node has stored, because the directory lacks them
   * @throws as {@linkcode restoreSessions}
   */
  async restore(
    { epoch, isNew, signal }: { epoch: string; isNew: boolean; signal?: AbortSignal | undefined },
  ): Promise<void> {
    const [id, directory] = [this.#id, this.#directory];
    await restoreSessions(this.#store, { id, directory, ...(!isNew && { node: this.#node }), epoch, signal });
  }

  /** Undefined: there are no sessions. A client may be sent again what it has acknowledged after this. */
  async #read(): Promise<string | undefined> {
    const files: Record<string, string> = {};
    // Positions last: one of a session that is not known yet has no effect, and one that is too low repeats frames.
    for (const name of FILES.toReversed()) {
      try {
        files[name] = await Deno.readTextFile(`${this.#directory}/${name}`);
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    return Object.keys(files).length === 0 ? undefined : JSON.stringify({ version: 1, files });
  }
}

/**
 * Merges the files of a boat that nodes have stored into those of its directory. Does nothing if there are none.
 *
 * @param options.epoch the boat's current epoch
 * @param options.node this one: the directory has what it has stored; left out: the directory has nothing
 * @throws {StoreError} the store does not answer
 * @throws {FileError} they cannot be written
 */
export async function restoreSessions(
  store: ObjectStore,
  { id, directory, epoch, node, signal }: {
    id: string;
    directory: string;
    epoch: string;
    node?: string;
    signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const found: { files: Record<string, unknown>; storedMs: number }[] = [];
  /** What is only here was never stored, so that it is newer. */
  let ownMs = Infinity;
  for await (const page of store.list({ prefix: sessionsPrefix(id), signal })) {
    for (const { key, lastModifiedMs: storedMs } of page) {
      if (node !== undefined && key === sessionsKey(id, node)) ownMs = storedMs;
      else found.push({ files: parse(new TextDecoder().decode(await store.get(key, { signal }))), storedMs });
    }
  }
  if (found.length === 0) return;
  const scratch = `${directory}/${SCRATCH}`;
  try {
    const directories = found.map((_, at) => `${scratch}/${at}`);
    for (const [at, { files }] of found.entries()) await writeFiles(`${scratch}/${at}`, files);
    await mergeSessions([directory, ...directories], { into: directory, epoch });
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
  const clocks = found.map(({ files, storedMs }) => ({ spans: spansIn(files), storedMs }));
  await mergeClocks(clocks, { directory, ownMs });
}

/** Of the corrections of each epoch those count that were stored last. */
async function mergeClocks(
  clocks: { spans: readonly ClockSpan[]; storedMs: number }[],
  { directory, ownMs }: { directory: string; ownMs: number },
): Promise<void> {
  if (clocks.every(({ spans }) => spans.length === 0)) return;
  const own = await readClockSpans(directory, { log: silentLogger });
  const merged = new ClockSpans();
  const all = [...clocks, { spans: own.all, storedMs: ownMs }];
  for (const { spans } of all.sort((a, b) => a.storedMs - b.storedMs)) merged.update(spans);
  await clockFile(directory).write(encodeSpans(merged.all));
}

/** None if the file is missing or broken: the boat sends them again when it connects. */
function spansIn({ [CLOCK_FILE]: text }: Record<string, unknown>): ClockSpan[] {
  try {
    return typeof text === "string" ? parseSpans(text) : [];
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return [];
    throw error;
  }
}

async function writeFiles(directory: string, files: Record<string, unknown>): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  for (const name of SESSION_FILES) {
    const content = files[name];
    if (typeof content !== "string") continue;
    await new AtomicFile(directory, { name, maxBytes: MAX_BYTES, mode: MODE }).write(content);
  }
}

/** Files by name; none if the text is not what a node stores. */
function parse(text: string): Record<string, unknown> {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found !== "object" || found === null || !("files" in found)) return {};
    const { files } = found;
    return typeof files === "object" && files !== null ? { ...files } : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
