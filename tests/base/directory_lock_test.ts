import assert from "node:assert/strict";
import { FileError, lockDirectory } from "../../src/base/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["cat"] });
const HOLDER = new URL("./lock_holder.ts", import.meta.url).href;
const IS_WINDOWS = Deno.build.os === "windows";

Deno.test("a directory is made when it is missing, for its owner alone, and held once", DISK, async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/a/b`;
    using lock = await lockDirectory(path);
    assert.equal(lock.path, path);
    if (!IS_WINDOWS) assert.equal((await Deno.stat(path)).mode! & 0o777, 0o700);
    await assert.rejects(lockDirectory(path, { what: "journal directory" }), (error) => {
      assert.ok(error instanceof FileError);
      assert.equal(error.message, `Cannot use the journal directory "${path}": it is used by another process`);
      return true;
    });
  });
});

Deno.test("a directory that was let go, once or twice, is free", DISK, async () => {
  await inFolder(async (folder) => {
    const lock = await lockDirectory(folder);
    lock.close();
    lock.close();
    lock[Symbol.dispose]();
    (await lockDirectory(folder)).close();
  });
});

Deno.test("a directory may be held for two purposes, each once", DISK, async () => {
  await inFolder(async (folder) => {
    using _ = await lockDirectory(folder);
    using __ = await lockDirectory(folder, { file: ".other.lock" });
    await assert.rejects(lockDirectory(folder, { file: ".other.lock" }), /is used by another process$/);
  });
});

Deno.test("a directory that cannot be made is told with its path and the reason", DISK, async () => {
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await assert.rejects(lockDirectory(`${folder}/file/x`, { what: "state directory" }), {
      name: "FileError",
      message: new RegExp(`^Cannot use the state directory "${folder}/file/x": .+`),
    });
  });
});

Deno.test("a lock holds against another process, and is gone when that is killed", PROCESSES, async () => {
  await inFolder(async (folder) => {
    const other = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", HOLDER, folder],
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const reader = other.stdout.getReader();
    const { value } = await reader.read();
    assert.equal(new TextDecoder().decode(value), "held\n");
    await assert.rejects(lockDirectory(folder), /is used by another process$/);
    other.kill("SIGKILL");
    await other.status;
    await reader.cancel();
    (await lockDirectory(folder)).close();
  });
});

Deno.test("a program that was started meanwhile does not keep the lock", PROCESSES, async () => {
  await inFolder(async (folder) => {
    const lock = await lockDirectory(folder);
    const child = new Deno.Command("cat", { stdin: "piped", stdout: "null" }).spawn();
    lock.close();
    (await lockDirectory(folder)).close();
    await child.stdin.close();
    await child.status;
  });
});

Deno.test("a file in the place of a directory is named as what it is", DISK, () =>
  inFolder(async (folder) => {
    const path = `${folder}/journal`;
    await Deno.writeTextFile(path, "");
    await assert.rejects(lockDirectory(path), {
      message: `Cannot use the directory "${path}": Not a directory: mkdir '${path}'`,
    });
  }));
