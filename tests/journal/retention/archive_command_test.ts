import assert from "node:assert/strict";
import { type ArchiveCommandOptions, runArchiveCommand } from "../../../src/journal/retention/archive_command.ts";
import type { ArchiveOutcome } from "../../../src/journal/retention/archive_protocol.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { ALL_OK, readLog, writeScript } from "./script.ts";

const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["sh", "cat", "sleep"] });
const ESCAPE = needs({ permissions: ["read", "write", "run"], programs: ["sh", "sleep", "setsid"] });

function named(...names: string[]) {
  return names.map((name) => ({ name, path: `/j/${name}`, bytes: name.length }));
}

/** Runs a script for files; outcomes by name, errors without the script's path. */
async function run(
  folder: string,
  { body, files = named("a", "b"), ...options }: {
    body: string;
    files?: ReturnType<typeof named>;
  } & Partial<ArchiveCommandOptions>,
): Promise<Record<string, string>> {
  const command = await writeScript(folder, body);
  const outcomes = await runArchiveCommand(files, { command, instanceId: "boat", ...options });
  const text = (outcome: ArchiveOutcome) => outcome.status === "ok" ? "ok" : outcome.error.replaceAll(command, "it");
  return Object.fromEntries([...outcomes].map(([path, outcome]) => [path.slice(3), text(outcome)]));
}

Deno.test(
  "the command gets the paths as arguments and a line for each file, and answers for each",
  PROCESSES,
  async () => {
    await inFolder(async (folder) => {
      const files = named("a b.lpj", "$(touch x).lpj", "'; exit 1 #.lpj");
      const body = `for path in "$@"; do echo "$path" >>"$LOG"; done; cat >>"$LOG"
      for path in "$@"; do printf '{"path":"%s","status":"ok"}\\n' "$path"; done`;
      const outcomes = await run(folder, { body, files });
      assert.deepEqual(Object.values(outcomes), ["ok", "ok", "ok"]);
      const log = await readLog(folder);
      assert.deepEqual(log.slice(0, 3), files.map(({ path }) => path));
      assert.deepEqual(log.slice(3).map((line) => JSON.parse(line).path), files.map(({ path }) => path));
      assert.equal(JSON.parse(log[3]!).instance_id, "boat");
    });
  },
);

Deno.test("answers in another order, with lines between, are each file's own", PROCESSES, async () => {
  await inFolder(async (folder) => {
    const body = `echo connecting
      printf '{"path":"%s","status":"error","error":"too large"}\\n' "$2"
      printf '{"path":"%s","status":"ok"}\\n' "$1"`;
    assert.deepEqual(await run(folder, { body }), { a: "ok", b: "too large" });
  });
});

Deno.test("a command that crashed half way has archived what it said, and says how it ended", PROCESSES, async () => {
  await inFolder(async (folder) => {
    const said = `printf '{"path":"%s","status":"ok"}\\n' "$1"`;
    assert.deepEqual(await run(folder, { body: `${said}; echo "no route to host" >&2; exit 3` }), {
      a: "ok",
      b: `the command "it" gave no answer: it ended with code 3, "no route to host"`,
    });
    assert.deepEqual(await run(folder, { body: `${said}; kill -9 $$` }), {
      a: "ok",
      b: `the command "it" gave no answer: it ended by SIGKILL`,
    });
    assert.deepEqual(await run(folder, { body: "echo one; echo two" }), {
      a: `the command "it" gave no answer: it ended with code 0, 2 lines of its output are not answers`,
      b: `the command "it" gave no answer: it ended with code 0, 2 lines of its output are not answers`,
    });
  });
});

Deno.test("a command that cannot be started fails every file with the reason", PROCESSES, async () => {
  const outcomes = await runArchiveCommand(named("a"), { command: "/no/such/program", instanceId: "boat" });
  const outcome = outcomes.get("/j/a");
  assert.ok(outcome?.status === "error");
  assert.match(outcome.error, /^the command "\/no\/such\/program" gave no answer: .*No such file or directory/);
});

Deno.test(
  "a command that reads nothing, and one that answers much while it reads, do not get stuck",
  PROCESSES,
  async () => {
    await inFolder(async (folder) => {
      const many = named(...Array.from({ length: 32 }, (_, i) => `${i}`.padEnd(1000, "x")));
      assert.equal(
        Object.values(await run(folder, { body: `exec 0<&-; ${ALL_OK}`, files: many })).join(""),
        "ok".repeat(32),
      );
      const echo = `while read -r line; do echo "$line"; echo "$line" >&2; echo "$line"; done; ${ALL_OK}`;
      assert.equal(Object.values(await run(folder, { body: echo, files: many })).join(""), "ok".repeat(32));
    });
  },
);

Deno.test(
  "a command that takes too long is ended with all that it started, and what it said counts",
  PROCESSES,
  async () => {
    await inFolder(async (folder) => {
      const body = `trap "" TERM
      printf '{"path":"%s","status":"ok"}\\n' "$1"
      sleep 600 & echo $! >>"$LOG"
      wait; wait`;
      const outcomes = await run(folder, { body, timeoutMs: 5000 });
      assert.deepEqual(outcomes, { a: "ok", b: `the command "it" gave no answer: it took more than 5 s` });
      const pid = Number((await readLog(folder))[0]);
      await eventually("the end of what the command started", () => !isAlive(pid));
    });
  },
);

Deno.test("a command whose child has run away with its output is not waited for", ESCAPE, async () => {
  await inFolder(async (folder) => {
    const body = `setsid sleep 600 & echo $! >>"$LOG"; ${ALL_OK}`;
    try {
      assert.deepEqual(await run(folder, { body, timeoutMs: 5000 }), { a: "ok", b: "ok" });
    } finally {
      Deno.kill(Number((await readLog(folder))[0]), "SIGKILL");
    }
  });
});

Deno.test("a command ends when it is told to, and is not started after that", PROCESSES, async () => {
  await inFolder(async (folder) => {
    const stop = new AbortController();
    const running = run(folder, { body: `echo started >>"$LOG"; sleep 600`, signal: stop.signal });
    await eventually("the command", async () => (await readLog(folder)).length > 0);
    stop.abort();
    assert.match((await running)["a"]!, /it was stopped$/);
    assert.match((await run(folder, { body: ALL_OK, signal: stop.signal }))["a"]!, /it was not started$/);
    assert.deepEqual(await readLog(folder), ["started"]);
  });
});

/** Whether a process is there and no zombie. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
