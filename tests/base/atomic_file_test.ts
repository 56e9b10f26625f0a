import assert from "node:assert/strict";
import { AtomicFile, FileError, JsonFile, silentLogger } from "../../src/base/mod.ts";
import { syncsAndRenames } from "../support/disk_order.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { eventually, pause } from "../support/eventually.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"] });
const WRITER = new URL("./atomic_writer.ts", import.meta.url).href;
const NAME = "head.json";

async function textOf(file: AtomicFile): Promise<string | undefined> {
  const bytes = await file.read();
  return bytes && new TextDecoder().decode(bytes);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder), ({ name }) => name)).sort();
}

async function errorOf(promise: Promise<unknown>): Promise<FileError> {
  const error = await promise.then(() => undefined, (error) => error);
  assert.ok(error instanceof FileError, String(error));
  return error;
}

Deno.test("a file that is not there reads as nothing", DISK, async () => {
  await inFolder(async (folder) => {
    assert.equal(await new AtomicFile(folder, { name: NAME }).read(), undefined);
    assert.equal(await new AtomicFile(`${folder}/none`, { name: NAME }).read(), undefined);
  });
});

Deno.test("what is written is read back, and nothing else is left in the folder", DISK, async () => {
  await inFolder(async (folder) => {
    const file = new AtomicFile(folder, { name: NAME });
    for (const content of ["one", "a longer two", "", "é"]) {
      await file.write(content);
      assert.equal(await textOf(file), content);
    }
    await file.write(Uint8Array.of(0, 255, 10));
    assert.deepEqual(await file.read(), Uint8Array.of(0, 255, 10));
    assert.deepEqual(await namesIn(folder), [NAME]);
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file.path)).mode! & 0o777, 0o600);
  });
});

Deno.test(
  "writes that are asked for at once are done in their order, with the bytes of that moment",
  DISK,
  async () => {
    await inFolder(async (folder) => {
      const file = new AtomicFile(folder, { name: NAME });
      const bytes = Uint8Array.of(1);
      const first = file.write(bytes);
      bytes[0] = 2;
      await first;
      assert.deepEqual(await file.read(), Uint8Array.of(1));
      await Promise.all(Array.from({ length: 20 }, (_, i) => file.write(String(i))));
      assert.equal(await textOf(file), "19");
    });
  },
);

Deno.test("a file's bytes are synced before it is renamed, and the folder's entry after that", DISK, async () => {
  await inFolder(async (folder) => {
    const done = await syncsAndRenames(() => new AtomicFile(folder, { name: NAME }).write("x"));
    const temporary = `${folder}/.${NAME}.tmp`;
    const folderSync = Deno.build.os === "windows" ? [] : [`sync ${folder}`];
    assert.deepEqual(done, [`sync ${temporary}`, `rename ${temporary}`, ...folderSync]);
  });
});

Deno.test("what a crash left under the temporary name is in nobody's way, even a link", DISK, async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/elsewhere`, "theirs");
    await Deno.symlink(`${folder}/elsewhere`, `${folder}/.${NAME}.tmp`);
    const file = new AtomicFile(folder, { name: NAME });
    await file.write("ours");
    assert.equal(await textOf(file), "ours");
    assert.equal(await Deno.readTextFile(`${folder}/elsewhere`), "theirs");
    assert.deepEqual(await namesIn(folder), ["elsewhere", NAME]);
  });
});

Deno.test("a write that fails before the file is replaced says that it is untouched", DISK, async () => {
  await inFolder(async (folder) => {
    const error = await errorOf(new AtomicFile(`${folder}/none`, { name: NAME }).write("x"));
    assert.equal(error.content, "untouched");
    assert.equal(error.path, `${folder}/none/${NAME}`);
    assert.match(error.message, /^Cannot write ".*\/none\/head\.json": No such file or directory/);
  });
});

Deno.test("a write that fails later says that the content is unknown, and the next one works", DISK, async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/${NAME}`);
    const file = new AtomicFile(folder, { name: NAME });
    const error = await errorOf(file.write("x"));
    assert.equal(error.content, "unknown");
    await Deno.remove(file.path);
    await file.write("y");
    assert.equal(await textOf(file), "y");
    assert.deepEqual(await namesIn(folder), [NAME]);
  });
});

Deno.test("a file that is too large or no file is refused with the reason", DISK, async () => {
  await inFolder(async (folder) => {
    const file = new AtomicFile(folder, { name: NAME, maxBytes: 4 });
    await file.write("12345");
    assert.equal((await errorOf(file.read())).message, `Cannot read "${file.path}": it has 5 bytes, more than 4`);
    await Deno.remove(file.path);
    await Deno.mkdir(file.path);
    assert.equal((await errorOf(file.read())).message, `Cannot read "${file.path}": it is not a regular file`);
  });
});

Deno.test("a process that is killed while it writes leaves the old content or the new, whole", PROCESSES, async () => {
  const random = new Random(20);
  await inFolder(async (folder) => {
    const file = new AtomicFile(folder, { name: NAME });
    let newest = 0;
    for (let round = 0; round < 6; round++) {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", WRITER, folder, NAME, String(newest)],
        stdin: "null",
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      const killAfter = random.between(1, 40);
      let told = "";
      let isKilled = false;
      for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
        told += part;
        if (isKilled || told.split("\n").length <= killAfter) continue;
        child.kill("SIGKILL");
        isKilled = true;
      }
      await child.status;
      const done = Number(told.trimEnd().split("\n").at(-1));
      const lines = (await textOf(file))!.split("\n");
      newest = Number(lines[0]);
      assert.ok(newest === done || newest === done + 1, `${newest} after ${done}`);
      assert.equal(lines.length, newest % 100 + 1);
      assert.ok(lines.every((line) => line === lines[0]));
    }
  });
});

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
