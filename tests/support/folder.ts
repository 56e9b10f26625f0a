/** Runs a test with a folder of its own, which is gone afterwards. */
export async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_test_" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Copies what a crash now would leave of a folder, without a pause in which the program could go on. A file that the disk is just
 * renaming or removing may be missing.
 */
export function copyAsCrashed(from: string, to: string): void {
  // The copy may be below it.
  const entries = [...Deno.readDirSync(from)];
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of entries) {
    const [source, target] = [`${from}/${name}`, `${to}/${name}`];
    try {
      if (isDirectory) copyAsCrashed(source, target);
      else Deno.copyFileSync(source, target);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
