/** Packs blocks where it costs the event loop nothing, one at a time. */
export interface PackThread {
  /** Rejects when it cannot be done there, now or ever. */
  pack(block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the thread; what is being packed never comes. */
  close(): void;
}

const SCRIPT = new URL("./pack_worker.ts", import.meta.url);

/** Whether a worker can read its script; otherwise people at a terminal would be asked, and everything would wait. */
function mayStart(): boolean {
  return SCRIPT.protocol !== "file:" || Deno.permissions.querySync({ name: "read", path: SCRIPT }).state === "granted";
}

/**
 * Blocks that one worker packs. Its garbage is not collected before there are tens of megabytes of it, half a megabyte
 * a block; to start another one costs the event loop some milliseconds.
 */
const BLOCKS_PER_WORKER = 8;

/** A worker, which is started when the first block comes, and made anew now and then. */
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
