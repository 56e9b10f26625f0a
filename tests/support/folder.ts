/** Runs a test with a folder of its own, which is gone afterwards. */
export async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_test_" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
