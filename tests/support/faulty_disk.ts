/** What a disk does with what is written to it: `full` refuses it, `hung` answers when it works again. */
export type DiskMode = "works" | "full" | "hung";

/** Stands between this process and the files of one directory while it is installed. */
export class FaultyDisk implements Disposable {
  readonly #directory: string;
  readonly #open = Deno.open;
  #mode: DiskMode = "works";
  #worksAgain = Promise.withResolvers<void>();

  constructor(directory: string) {
    this.#directory = directory;
    Deno.open = async (path, options) => {
      const isOurs = String(path).startsWith(`${this.#directory}/`) && options?.write === true;
      if (isOurs) await this.#pass();
      const file = await this.#open(path, options);
      if (isOurs) this.#watch(file);
      return file;
    };
  }

  get mode(): DiskMode {
    return this.#mode;
  }

  set mode(mode: DiskMode) {
    this.#mode = mode;
    if (mode === "hung") return;
    this.#worksAgain.resolve();
    this.#worksAgain = Promise.withResolvers<void>();
  }

  [Symbol.dispose](): void {
    this.mode = "works";
    Deno.open = this.#open;
  }

  async #pass(): Promise<void> {
    while (this.#mode === "hung") await this.#worksAgain.promise;
    if (this.#mode === "full") throw new Error("No space left on device (os error 28)");
  }

  #watch(file: Deno.FsFile): void {
    const write = file.write.bind(file);
    file.write = async (bytes) => {
      await this.#pass();
      return await write(bytes);
    };
  }
}
