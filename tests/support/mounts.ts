import { allowed } from "./needs.ts";

/** Whether tests may mount: as root, where the system has it. */
export function mayMount(): boolean {
  if (Deno.build.os !== "linux" || !allowed("run") || !allowed("sys") || !allowed("read")) return false;
  if (Deno.uid() !== 0) return false;
  const path = Deno.makeTempDirSync({ prefix: "vbg_mount_" });
  try {
    mount(["-t", "tmpfs", "-o", "size=64k", "none", path]);
    unmount(path);
    return true;
  } catch {
    return false;
  } finally {
    Deno.removeSync(path);
  }
}

/** Mounts. @throws {Error} as the program says it */
export function mount(args: string[]): void {
  run("mount", args);
}

/** Undoes a mount, also while files are open. */
export function unmount(path: string): void {
  run("umount", ["-l", path]);
}

/** Runs with a small file system of its own below a folder. */
export async function onSmallDisk(
  folder: string,
  run: (disk: string) => Promise<void>,
  { size = "512k" } = {},
): Promise<void> {
  const disk = `${folder}/disk`;
  await Deno.mkdir(disk);
  mount(["-t", "tmpfs", "-o", `size=${size}`, "none", disk]);
  try {
    await run(disk);
  } finally {
    unmount(disk);
  }
}

/** Leaves no byte on a disk; gives the file that takes it all. */
export function fillDisk(disk: string): string {
  const path = `${disk}/filler`;
  using file = Deno.openSync(path, { write: true, create: true, truncate: true });
  for (let size = 65_536; size >= 1; size >>= 1) {
    try {
      while (file.writeSync(new Uint8Array(size)) > 0);
    } catch {
      // Smaller pieces may still fit.
    }
  }
  return path;
}

function run(program: string, args: string[]): void {
  const { success, stderr } = new Deno.Command(program, { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
