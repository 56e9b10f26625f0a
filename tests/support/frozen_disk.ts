import { mayMount, mount, unmount } from "./mounts.ts";
import { allowed, findProgram } from "./needs.ts";

/** Whether tests may mount an ext4 of their own and freeze it. */
export function mayFreeze(): boolean {
  if (!mayMount() || !allowed("write") || !findProgram("mkfs.ext4") || !findProgram("fsfreeze")) return false;
  const folder = Deno.makeTempDirSync({ prefix: "vbg_freeze_" });
  try {
    using disk = FreezableDisk.make(folder);
    disk.freeze();
    return true;
  } catch {
    return false;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** A file system in a file, which can be frozen: whoever writes or syncs then hangs, as on a disk that does not answer. */
export class FreezableDisk implements Disposable {
  /** Where it is mounted. */
  readonly path: string;
  readonly #image: string;
  #isFrozen = false;

  private constructor(image: string, path: string) {
    this.#image = image;
    this.path = path;
    Deno.mkdirSync(path);
    mount(["-o", "loop", image, path]);
  }

  /** Makes an empty one below a folder. */
  static make(folder: string): FreezableDisk {
    const image = `${folder}/disk.ext4`;
    Deno.writeFileSync(image, new Uint8Array());
    Deno.truncateSync(image, 16 * 1024 * 1024);
    run("mkfs.ext4", "-q", image);
    return new FreezableDisk(image, `${folder}/disk`);
  }

  /** From now on what writes to it hangs. */
  freeze(): void {
    run("fsfreeze", "-f", this.path);
    this.#isFrozen = true;
  }

  /** What hung goes on. */
  thaw(): void {
    if (this.#isFrozen) run("fsfreeze", "-u", this.path);
    this.#isFrozen = false;
  }

  /** The disk as a power cut leaves it now, mounted elsewhere. To be called while it is frozen. */
  afterPowerCut(folder: string): FreezableDisk {
    const image = `${folder}/after.ext4`;
    Deno.copyFileSync(this.#image, image);
    return new FreezableDisk(image, `${folder}/after`);
  }

  [Symbol.dispose](): void {
    this.thaw();
    unmount(this.path);
  }
}

function run(program: string, ...args: string[]): void {
  const { success, stderr } = new Deno.Command(program, { args }).outputSync();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr)}`);
}
