/** A process for atomic_file_test.ts: writes ever larger numbers, says each when it is written, and never ends. */
import { AtomicFile } from "../../src/base/mod.ts";

if (import.meta.main) {
  const [folder, name, from] = Deno.args;
  const file = new AtomicFile(folder!, { name: name! });
  for (let n = Number(from) + 1;; n++) {
    await file.write(Array.from({ length: n % 100 + 1 }, () => n).join("\n"));
    await Deno.stdout.write(new TextEncoder().encode(`${n}\n`));
  }
}
