import { Interrupter } from "../../base/mod.ts";
import type { Link, OpenLink } from "./link.ts";

const READ_BYTES = 4096;
/** How long a read waits for a byte, in the units of stty: a read cannot be aborted, so it must end by itself. */
const WAIT_TENTHS = 2;
/** A read that returns no bytes in less than this did not wait: the device was disconnected. */
const MIN_WAIT_MS = 50;
/** Number of such reads in a row, because a signal may end one. */
const MAX_HASTY = 3;
/** How long closing waits for a read. Another program may have changed the settings, and then a read waits for a byte. */
const CLOSE_MS = 1000;

/** Opens a serial device with 8 bits and no parity. Needs the program stty, and permission for all files. */
export function serialLink({ path, baud }: { path: string; baud: number }): OpenLink {
  return async () => {
    // Before opening: without `clocal` that would wait for a modem.
    const settings = [`${baud}`, "raw", "-echo", "clocal", "min", "0", "time", `${WAIT_TENTHS}`];
    const stty = new Deno.Command("stty", { args: ["-F", path, ...settings], stdout: "null", stderr: "piped" });
    const { success, stderr } = await stty.output();
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim().replace(/^\S*stty: /, ""));
    const reader = await Deno.open(path, { read: true });
    try {
      // Two files, because a write to one file would wait for its pending read.
      return new SerialLink({ path, reader, writer: await Deno.open(path, { write: true }) });
    } catch (error) {
      reader.close();
      throw error;
    }
  };
}

class SerialLink implements Link {
  readonly isDatagram = false;
  readonly dropped = 0;
  readonly #path: string;
  readonly #reader: Deno.FsFile;
  readonly #writer: Deno.FsFile;
  readonly #buffer = new Uint8Array(READ_BYTES);
  readonly #closing = new Interrupter();
  readonly #closed = new Interrupter();
  #closeTimer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;
  #isClosing = false;
  #isClosed = false;

  constructor({ path, reader, writer }: { path: string; reader: Deno.FsFile; writer: Deno.FsFile }) {
    this.#path = path;
    this.#reader = reader;
    this.#writer = writer;
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#closed.wait(this.#read());
  }

  async #read(): Promise<Uint8Array | undefined> {
    this.#isReading = true;
    try {
      for (let hasty = 0; !this.#isClosing && hasty < MAX_HASTY;) {
        const beganMs = performance.now();
        const count = await this.#reader.read(this.#buffer);
        if (count !== null) return this.#isClosing ? undefined : this.#buffer.subarray(0, count);
        hasty = performance.now() - beganMs < MIN_WAIT_MS ? hasty + 1 : 0;
        // An unplugged device disappears from its folder.
        await Deno.stat(this.#path);
      }
      return undefined;
    } finally {
      this.#isReading = false;
      if (this.#isClosing) this.#closeFiles();
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    // Flow control of the device can block a write forever.
    for (let at = 0; at < bytes.length;) {
      at += await this.#closing.wait(this.#writer.write(bytes.subarray(at)));
    }
  }

  close(): void {
    this.#isClosing = true;
    const closed = new Error("it is closed");
    this.#closing.interrupt(closed);
    if (!this.#isReading) this.#closeFiles();
    else this.#closeTimer ??= setTimeout(() => this.#closed.interrupt(closed), CLOSE_MS);
  }

  #closeFiles(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#closeTimer);
    this.#reader.close();
    this.#writer.close();
  }
}
