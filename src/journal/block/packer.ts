import { errorText, type Logger } from "../../base/mod.ts";
import { compress } from "./compression.ts";

/** Compresses blocks outside the event loop, one at a time. */
export interface PackThread {
  /** Compresses a block. Rejects if the thread cannot do it, now or ever. */
  pack(block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the thread. A pending `pack` never settles. */
  close(): void;
}

const SCRIPT = new URL("./pack_worker.ts", import.meta.url);

/** True if a worker may read its script: without the permission Deno would prompt at a terminal, and block everything. */
function mayStart(): boolean {
  return SCRIPT.protocol !== "file:" || Deno.permissions.querySync({ name: "read", path: SCRIPT }).state === "granted";
}

/**
 * Blocks that one worker compresses. Each leaves half a megabyte of garbage, which is not collected before tens of megabytes
 * have piled up; a new worker costs the event loop a few milliseconds.
 */
const BLOCKS_PER_WORKER = 8;

/** A worker that starts with the first block, and is replaced after {@linkcode BLOCKS_PER_WORKER} blocks. */
export class PackWorker implements PackThread {
  #worker: Worker | undefined;
  #blocks = 0;
  #port: MessagePort | undefined;

  async pack(block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    if (!mayStart()) throw new Error("Reading of the worker's script is not allowed");
    const worker = this.#worker ??= new Worker(SCRIPT, { type: "module" });
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    try {
      return await new Promise((resolve, reject) => {
        worker.onerror = (event) => {
          event.preventDefault();
          reject(new Error(event.message));
        };
        port1.onmessage = ({ data }) => resolve(data);
        worker.postMessage(block, [port2]);
      });
    } finally {
      port1.close();
      if (++this.#blocks % BLOCKS_PER_WORKER === 0) this.close();
    }
  }

  close(): void {
    this.#port?.close();
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}

type State =
  | { kind: "idle" }
  | { kind: "packing"; block: Uint8Array }
  | { kind: "packed"; block: Uint8Array; packed: Uint8Array<ArrayBuffer> }
  | { kind: "broken" };

const IDLE: State = { kind: "idle" };

/**
 * Compresses blocks: harder in a thread if the block may wait, else fast and synchronously. A thread that failed is not
 * used again; while a thread hangs, blocks are only larger.
 */
export class BlockPacker {
  readonly #thread: PackThread;
  readonly #log: Logger;
  readonly #onDone: () => void;
  #state: State = IDLE;

  /** @param options.onDone called when {@linkcode BlockPacker.pack} can be called again for the block in the thread */
  constructor({ thread, log, onDone }: { thread: PackThread; log: Logger; onDone: () => void }) {
    this.#thread = thread;
    this.#log = log;
    this.#onDone = onDone;
  }

  /**
   * Compresses a block, or returns the thread's result.
   *
   * @returns undefined while the thread compresses it, only if the block `mayWait`
   */
  pack(block: Uint8Array<ArrayBuffer>, { mayWait }: { mayWait: boolean }): Uint8Array<ArrayBuffer> | undefined {
    const state = this.#state;
    if (state.kind === "packed" && state.block === block) {
      this.#state = IDLE;
      return state.packed;
    }
    const isInThread = state.kind === "packing" && state.block === block;
    const isFree = state.kind === "idle" || state.kind === "packed";
    if (!mayWait || !(isInThread || isFree)) return compress(block, "zstd");
    if (isFree) void this.#start(block);
    return undefined;
  }

  /** Ends the thread. */
  close(): void {
    this.#thread.close();
  }

  async #start(block: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#state = { kind: "packing", block };
    try {
      this.#state = { kind: "packed", block, packed: await this.#thread.pack(block) };
    } catch (error) {
      this.#log.warn("compression thread failed: blocks will be about 10 % larger", { reason: errorText(error) });
      this.#state = { kind: "broken" };
    }
    this.#onDone();
  }
}
