import { importLate, writeAll } from "@vessel/gateway/base";

type ZipPackage = typeof import("./zip_package.ts");

/** A zip file that is written as its entries come. */
export class ZipFile {
  readonly #file: Deno.FsFile;
  readonly #package: ZipPackage;
  readonly #zip: InstanceType<ZipPackage["Zip"]>;
  #pieces: Uint8Array[] = [];
  #error: Error | null = null;

  private constructor(file: Deno.FsFile, zipPackage: ZipPackage) {
    this.#file = file;
    this.#package = zipPackage;
    this.#zip = new zipPackage.Zip((error, data) => {
      this.#error ??= error;
      if (!error) this.#pieces.push(data);
    });
  }

  /** Creates a file. @throws {Deno.errors.AlreadyExists} it is there */
  static async create(path: string, options: { mode: number }): Promise<ZipFile> {
    const zipPackage = await importLate<ZipPackage>(new URL("./zip_package.ts", import.meta.url));
    return new ZipFile(await Deno.open(path, { write: true, createNew: true, ...options }), zipPackage);
  }

  /** Adds a text, compressed. */
  async addText(name: string, text: string): Promise<void> {
    const entry = new this.#package.ZipDeflate(name);
    this.#zip.add(entry);
    entry.push(new TextEncoder().encode(text), true);
    await this.#write();
  }

  /** Adds a file as it is: it is compressed already. */
  async addFile(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    const entry = new this.#package.ZipPassThrough(name);
    this.#zip.add(entry);
    for await (const piece of pieces) {
      entry.push(piece);
      await this.#write();
    }
    entry.push(new Uint8Array(0), true);
    await this.#write();
  }

  /** Completes the file. */
  async end(): Promise<void> {
    this.#zip.end();
    await this.#write();
    await this.#file.sync();
    this.#file.close();
  }

  /** Closes an incomplete file. */
  abandon(): void {
    this.#zip.terminate();
    this.#file.close();
  }

  async #write(): Promise<void> {
    if (this.#error) throw this.#error;
    for (const piece of this.#pieces.splice(0)) {
      await writeAll(this.#file, piece);
    }
  }
}
