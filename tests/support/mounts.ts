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

function run(program: string, args: string[]): void {
  const { success, stderr } = new Deno.Command(program, { args }).outputSync();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}
