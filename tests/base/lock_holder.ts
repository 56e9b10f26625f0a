/** A second process for directory_lock_test.ts: takes the directory, says so, and holds it until it is killed. */
import { lockDirectory } from "../../src/base/mod.ts";

if (import.meta.main) {
  await lockDirectory(Deno.args[0]!);
  console.log("held");
  await new Promise((resolve) => setTimeout(resolve, 60_000));
}
