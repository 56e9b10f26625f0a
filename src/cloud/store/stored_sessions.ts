import { AtomicFile, Turns } from "../../base/mod.ts";
import type { ObjectStore } from "../../object_store/mod.ts";
import { mergeSessions, SESSION_FILES } from "../../stream/mod.ts";
import { ONLY_NODE } from "./frame_store.ts";
import { sessionsKey, sessionsPrefix } from "./object_names.ts";

/** Longer files are not stored: a session takes some hundred bytes. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Permissions of the files: they name the owners of sessions. */
const MODE = 0o600;
/** Directory below a boat's directory for files of other nodes, while they are merged. */
const SCRATCH = ".sessions";

/** Keeps the sessions of one boat in the store as its directory has them, so that another node goes on with them. */
export class StoredSessions {
  readonly #id: string;
  readonly #directory: string;
  readonly #store: ObjectStore;
  readonly #node: string;
  readonly #turns = new Turns();
  /** What the store was given last. */
  #stored: string | undefined;

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

  /**
   * Takes over the sessions that other nodes have stored. The boat must have no replica.
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
    for (const name of SESSION_FILES.toReversed()) {
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
 * Merges the session files of a boat that nodes have stored into those of its directory. Does nothing if there are none.
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
  const texts: string[] = [];
  for await (const page of store.list({ prefix: sessionsPrefix(id), signal })) {
    for (const { key } of page) {
      if (node !== undefined && key === sessionsKey(id, node)) continue;
      texts.push(new TextDecoder().decode(await store.get(key, { signal })));
    }
  }
  if (texts.length === 0) return;
  const scratch = `${directory}/${SCRATCH}`;
  try {
    const directories = texts.map((_, at) => `${scratch}/${at}`);
    for (const [at, text] of texts.entries()) await writeFiles(`${scratch}/${at}`, parse(text));
    await mergeSessions([directory, ...directories], { into: directory, epoch });
  } finally {
    await Deno.remove(scratch, { recursive: true });
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
