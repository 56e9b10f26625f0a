import assert from "node:assert/strict";
import { JsonFile, silentLogger } from "../../src/base/mod.ts";
import { eventually, pause } from "../support/eventually.ts";

/** A file whose writes hang until they are let go. */
class HangingFile {
  readonly path = "kept.json";
  readonly contents: string[] = [];
  #go = Promise.withResolvers<void>();

  read(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async write(content: Uint8Array | string): Promise<void> {
    this.contents.push(String(content).trim());
    await this.#go.promise;
  }

  release(): void {
    this.#go.resolve();
  }
}

Deno.test("what changes while a write hangs is one more write, of what is true by then, also when it is closed", async () => {
  const file = new HangingFile();
  let count = 1;
  const kept = new JsonFile(file, { what: "counts", log: silentLogger, content: () => count });
  kept.changed();
  await eventually("a write that hangs", () => file.contents.length === 1);
  for (; count < 4; count++) {
    kept.changed();
    await pause(1100);
  }
  assert.deepEqual(file.contents, ["1"]);
  kept.changed();
  const closed = kept.close();
  file.release();
  await closed;
  assert.deepEqual(file.contents, ["1", "4"]);
});
