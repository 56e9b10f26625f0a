import { type DurableFile, FileError } from "../../src/base/mod.ts";

/** A file in memory that counts its writes, and fails when told. */
export class MemoryFile implements DurableFile {
  readonly path = "sessions.json";
  text: string | undefined;
  writes = 0;
  fails = false;

  constructor(text?: string) {
    this.text = text;
  }

  read(): Promise<Uint8Array<ArrayBuffer> | undefined> {
    if (this.fails) return Promise.reject(new FileError("read", { path: this.path, cause: "broken" }));
    return Promise.resolve(this.text === undefined ? undefined : new TextEncoder().encode(this.text));
  }

  write(content: Uint8Array | string): Promise<void> {
    this.writes++;
    if (this.fails) return Promise.reject(new FileError("write", { path: this.path, cause: "full" }));
    this.text = typeof content === "string" ? content : new TextDecoder().decode(content);
    return Promise.resolve();
  }
}
