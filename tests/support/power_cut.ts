/** One thing that was done to the files of a directory; `mark` is what a test notes in between. */
type Op =
  | { kind: "create" | "remove" | "sync"; name: string }
  | { kind: "truncate"; name: string; length: number }
  | { kind: "write"; name: string; at: number; bytes: Uint8Array<ArrayBuffer> }
  | { kind: "syncDirectory" }
  | { kind: "mark"; value: number };

/** How much of what was not synced is on the disk after a cut. */
export interface Luck {
  /** Whether a thing that was not synced is there all the same. */
  chance(probability: number): boolean;
  int(below: number): number;
}

/**
 * Notes everything that is done to the files of one directory while it is installed, and tells what a disk may hold
 * after a power cut at any moment: all that was synced, and of the rest whatever luck has it.
 */
export class PowerCutDisk implements Disposable {
  readonly #directory: string;
  readonly #initial = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #ops: Op[] = [];
  readonly #slowMs: number;
  readonly #open = Deno.open;
  readonly #remove = Deno.remove;

  /** Begins to note. The directory holds what is in it, safely. Syncing takes up to `slowMs`, as on a card. */
  constructor(directory: string, { slowMs = 0 } = {}) {
    this.#slowMs = slowMs;
    this.#directory = directory;
    for (const { name } of Deno.readDirSync(directory)) {
      this.#initial.set(name, Deno.readFileSync(`${directory}/${name}`));
    }
    Deno.open = async (path, options) => {
      const file = await this.#open(path, options);
      if (String(path) === directory) return this.#watchDirectory(file);
      if (!String(path).startsWith(`${directory}/`) || !options?.write) return file;
      const name = String(path).slice(directory.length + 1);
      if (options.createNew || options.create) this.#ops.push({ kind: "create", name });
      return this.#watch(file, name);
    };
    Deno.remove = async (path, options) => {
      await this.#remove(path, options);
      if (String(path).startsWith(`${directory}/`)) {
        this.#ops.push({ kind: "remove", name: String(path).slice(directory.length + 1) });
      }
    };
  }

  /** How many things have been done. */
  get length(): number {
    return this.#ops.length;
  }

  /** Notes a number among what is done. */
  mark(value: number): void {
    this.#ops.push({ kind: "mark", value });
  }

  [Symbol.dispose](): void {
    Deno.open = this.#open;
    Deno.remove = this.#remove;
  }

  async #dawdle(): Promise<void> {
    const ms = this.#ops.length % (this.#slowMs + 1);
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  }

  #watchDirectory(file: Deno.FsFile): Deno.FsFile {
    const sync = file.sync.bind(file);
    file.sync = async () => {
      await sync();
      await this.#dawdle();
      this.#ops.push({ kind: "syncDirectory" });
    };
    return file;
  }

  #watch(file: Deno.FsFile, name: string): Deno.FsFile {
    const { write, seek, truncate, sync, syncData } = Object.getPrototypeOf(file) as Deno.FsFile;
    let at = 0;
    file.write = async (bytes) => {
      const written = await write.call(file, bytes);
      this.#ops.push({ kind: "write", name, at, bytes: bytes.slice(0, written) });
      at += written;
      return written;
    };
    file.seek = async (offset, whence) => at = await seek.call(file, offset, whence);
    file.truncate = async (length = 0) => {
      await truncate.call(file, length);
      this.#ops.push({ kind: "truncate", name, length });
    };
    for (const [method, original] of [["sync", sync], ["syncData", syncData]] as const) {
      file[method] = async () => {
        await original.call(file);
        await this.#dawdle();
        this.#ops.push({ kind: "sync", name });
      };
    }
    return file;
  }

  /** What the disk may hold when the power goes after so many things; and the last number that was noted before. */
  cut(count: number, luck: Luck): { files: Map<string, Uint8Array<ArrayBuffer>>; marked: number } {
    const ops = this.#ops.slice(0, count);
    const lastSync = new Map<string, number>();
    let directorySynced = -1;
    let marked = 0;
    for (const [i, op] of ops.entries()) {
      if (op.kind === "sync") lastSync.set(op.name, i);
      if (op.kind === "syncDirectory") directorySynced = i;
      if (op.kind === "mark") marked = Math.max(marked, op.value);
    }
    const files = new Map(this.#initial);
    const gone = new Set<string>();
    const stopped = new Set<string>();
    for (const [i, op] of ops.entries()) {
      if (op.kind === "create") {
        if (i > directorySynced && !files.has(op.name) && luck.chance(0.5)) gone.add(op.name);
        if (!files.has(op.name)) files.set(op.name, new Uint8Array(0));
      } else if (op.kind === "remove") {
        if (i < directorySynced || luck.chance(0.5)) files.delete(op.name);
      } else if (op.kind === "truncate" || op.kind === "write") {
        const isSynced = i < (lastSync.get(op.name) ?? -1);
        if (!isSynced && (stopped.has(op.name) || luck.chance(0.3))) stopped.add(op.name);
        else apply(files, { op, isWhole: isSynced || luck.chance(0.5), luck });
      }
    }
    for (const name of gone) files.delete(name);
    return { files, marked };
  }
}

/** Does to a file what was done; of a write that was not synced perhaps only a part, with zeros for the rest or not. */
function apply(
  files: Map<string, Uint8Array<ArrayBuffer>>,
  { op, isWhole, luck }: { op: Op & { kind: "truncate" | "write" }; isWhole: boolean; luck: Luck },
): void {
  const before = files.get(op.name) ?? new Uint8Array(0);
  if (op.kind === "truncate") {
    const after = new Uint8Array(op.length);
    after.set(before.subarray(0, op.length));
    files.set(op.name, after);
    return;
  }
  const part = isWhole ? op.bytes.length : luck.int(op.bytes.length + 1);
  const end = op.at + (!isWhole && luck.chance(0.5) ? op.bytes.length : part);
  const after = new Uint8Array(Math.max(before.length, end));
  after.set(before);
  after.set(op.bytes.subarray(0, part), op.at);
  files.set(op.name, after);
}
