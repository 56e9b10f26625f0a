import assert from "node:assert/strict";
import { prepare } from "../../cli/program/program.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { Child } from "./fixture_child.ts";
import { fixtureProgram } from "./fixture_program.ts";
import { VERSION } from "../../src/version.ts";

/** Loading the configuration file looks at the disk. */
const inProcess = needs({ permissions: ["env", "read", "sys", "write"] });
const children = needs({ permissions: ["env", "read", "run", "sys", "write"] });

const STOP_LIMIT_MS = 5000;

async function start(args: string[], environment: Record<string, string> = {}) {
  const printed: string[] = [];
  const complained: string[] = [];
  const prepared = await prepare(fixtureProgram, {
    args,
    environment: { HOME: "/home/sailor", ...environment },
    print: (line) => printed.push(line),
    printError: (line) => complained.push(line),
  });
  return { prepared, printed: printed.join("\n"), complained: complained.join("\n") };
}

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_program_" });
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("help and version answer on standard output with code 0", inProcess, async () => {
  for (const flag of ["-help", "--help", "-h"]) {
    const { prepared, printed } = await start([flag]);
    assert.deepEqual(prepared, { kind: "exit", code: 0 });
    assert.match(printed, /^vbg-fixture: does nothing\n\nUsage: vbg-fixture \[flags\]\n/);
  }
  const { prepared, printed } = await start(["-version"]);
  assert.deepEqual(prepared, { kind: "exit", code: 0 });
  assert.equal(printed, `vbg-fixture ${VERSION}`);
});

Deno.test("wrong flags are code 2, one line that names the flag, and the usage", inProcess, async () => {
  const usage = 'Usage: vbg-fixture [flags]\nRun "vbg-fixture -help" for the flags';
  for (
    const [args, line] of [
      [["-prot", "1"], "Unknown flag -prot: did you mean -port?"],
      [["-port"], "Missing value of flag -port: expected N"],
      [["-port", "x"], 'flag -port: Cannot read the number "x": expected a whole number from 0 to 65535'],
      [["word"], 'Unexpected argument "word"'],
    ] as const
  ) {
    const { prepared, printed, complained } = await start([...args]);
    assert.deepEqual(prepared, { kind: "exit", code: 2 });
    assert.equal(printed, "");
    assert.equal(complained, `vbg-fixture: ${line}\n\n${usage}`);
  }
});

Deno.test("wrong variables and keys are named where they were given", inProcess, () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.conf`;
    await Deno.writeTextFile(path, "prot = 1\nsend.rate = 101");
    const { prepared, complained } = await start(["-config", path], { VBG_PORT: "-1" });
    assert.deepEqual(prepared, { kind: "exit", code: 2 });
    assert.deepEqual(complained.split("\n").slice(0, 3), [
      `vbg-fixture: Unknown key "prot" in ${path}: did you mean "port"?`,
      `vbg-fixture: ${path}: config key "send.rate": Cannot read the number "101": expected a whole number from 0 to 100`,
      'vbg-fixture: environment VBG_PORT: Cannot read the number "-1": expected a whole number from 0 to 65535',
    ]);
  }));

Deno.test("a configuration file that is missing or broken is code 2", inProcess, () =>
  inFolder(async (folder) => {
    const missing = await start([], { VBG_CONFIG: `${folder}/none.conf` });
    assert.deepEqual(missing.prepared, { kind: "exit", code: 2 });
    assert.match(missing.complained, /^vbg-fixture: config file not found: .*none\.conf\n/);
    await Deno.writeTextFile(`${folder}/a.conf`, "port = [");
    const broken = await start(["-config", `${folder}/a.conf`]);
    assert.match(
      broken.complained,
      /^vbg-fixture: Cannot read config file ".*a\.conf": "\[" is never closed at line 1, column 8\n/,
    );
  }));

Deno.test("a warning is printed and the program goes on", inProcess, async () => {
  const { prepared, complained } = await start(["-port", "1", "-rate", "100"]);
  assert.equal(prepared.kind, "ready");
  assert.equal(complained, "vbg-fixture: warning: flag -port: Port 1 is slow");
});

Deno.test("-validate-config prints every setting and where it comes from", inProcess, () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.conf`;
    await Deno.writeTextFile(path, 'send.rate = 100\napi-key = "se-cret"');
    const { prepared, printed } = await start(["-validate-config", "-config", path, "-port=1"], {
      VBG_LOG_LEVEL: "warn",
    });
    assert.deepEqual(prepared, { kind: "exit", code: 0 });
    assert.equal(
      printed,
      `Config file: ${path}

  [OK]   on-stop                             end
  [OK]   on-start                            run
  [OK]   on-drain                            none
  [OK]   rate                                100 (config key "send.rate")
  [OK]   port                                1 (flag -port)
  [WARN] port                                Port 1 is slow (flag -port)
  [OK]   api-key                             **** (config key "api-key")
  [OK]   state-dir                           /home/sailor/.local/state/vbg
  [OK]   log-level                           warn (environment VBG_LOG_LEVEL)
  [OK]   log-format                          json
  [OK]   otel-endpoint                       (not set)
  [OK]   otel-sample-ratio                   1

Config valid with 1 warning(s)`,
    );
  }));

Deno.test("-validate-config reports all errors with code 1", inProcess, () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.conf`;
    await Deno.writeTextFile(path, "send { rate = x, raet = 1 }\nport = [1]");
    const { prepared, printed } = await start(["-validate-config", "-config", path, "-on-stop", "never"]);
    assert.deepEqual(prepared, { kind: "exit", code: 1 });
    const lines = printed.split("\n");
    assert.deepEqual(lines.filter((line) => line.includes("[FAIL]")), [
      `  [FAIL] send.raet                           Unknown key "send.raet" in ${path}: did you mean "send.rate"?`,
      '  [FAIL] on-stop                             Cannot read "never": expected end, hang, throw (flag -on-stop)',
      '  [FAIL] rate                                Cannot read the number "x": expected a whole number from 0 to 100 (config key "send.rate")',
      '  [FAIL] port                                Cannot read the value: expected one value, found a list (config key "port")',
    ]);
    assert.equal(lines.at(-1), "4 error(s), 0 warning(s)");
  }));

Deno.test("-validate-config without a file, and with one that is missing", inProcess, async () => {
  const none = await start(["-validate-config"]);
  assert.match(none.printed, /^Config file: \(none\)\n\n[\s\S]*\n\nConfig valid$/);
  const missing = await start(["-validate-config", "-config", "/nowhere/a.conf"]);
  assert.deepEqual(missing.prepared, { kind: "exit", code: 1 });
  assert.match(
    missing.printed,
    /^Config file: \/nowhere\/a\.conf\n\n {2}\[FAIL\] config {30}config file not found: \/nowhere\/a\.conf\n/,
  );
  assert.match(missing.printed, /1 error\(s\), 0 warning\(s\)$/);
});

Deno.test(
  "a reload answers the new values of reloadable settings and names the others",
  inProcess,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/a.conf`;
      await Deno.writeTextFile(path, "port = 1, send.rate = 2");
      const { prepared } = await start(["-config", path], { VBG_LOG_LEVEL: "warn" });
      assert.ok(prepared.kind === "ready");
      const current = prepared.settings;
      assert.deepEqual(await prepared.reload(current), {
        kind: "accepted",
        changed: {},
        changedNames: [],
        needRestart: [],
        warnings: [],
      });
      await Deno.writeTextFile(path, "port = 5, send.rate = 3, log-level = debug, log-format = text");
      // log-level stays what the environment says.
      assert.deepEqual(await prepared.reload(current), {
        kind: "accepted",
        changed: { rate: 3 },
        changedNames: ["rate"],
        needRestart: ["port", "log-format"],
        warnings: [],
      });
    }),
);

Deno.test("a reload refuses a bad file as a whole", inProcess, () =>
  inFolder(async (folder) => {
    const path = `${folder}/a.conf`;
    await Deno.writeTextFile(path, "send.rate = 2");
    const { prepared } = await start(["-config", path]);
    assert.ok(prepared.kind === "ready");
    const refusedWith = async (content: string) => {
      await Deno.writeTextFile(path, content);
      const result = await prepared.reload(prepared.settings);
      assert.ok(result.kind === "refused", content);
      return result.errors.join("\n");
    };
    assert.match(await refusedWith("send.rate = 3, port = x, log-level = y"), /"x"[\s\S]*\n[\s\S]*"y"/);
    assert.match(await refusedWith("send.rate = 3, unheard-of = 1"), /Unknown key "unheard-of"/);
    assert.match(await refusedWith("send.rate = {"), /is never closed/);
    await Deno.remove(path);
    const gone = await prepared.reload(prepared.settings);
    assert.deepEqual(gone, { kind: "refused", errors: [`config file not found: ${path}`] });
  }));

Deno.test("SIGTERM and SIGINT end a program in order with code 0", children, () =>
  inFolder(async (folder) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      await using child = new Child(["-state-dir", folder]);
      await child.until("started");
      child.kill(signal);
      assert.equal(await child.exitCode(), 0, child.stderr);
      assert.match(child.stderr, /"message":"stopped"/);
    }
  }));

Deno.test(
  "a program that hangs at its end or its start still stops within 5 seconds",
  children,
  () =>
    inFolder(async (folder) => {
      const stop = async (args: string[], ready: string) => {
        await using child = new Child([...args, "-state-dir", folder]);
        await child.until(ready);
        child.kill("SIGTERM");
        assert.equal(await child.exitCode(), 0, child.stderr);
        const [, deadlineMs] = /stopped at the deadline.*"deadlineMs":(\d+)/.exec(child.stderr) ?? [];
        assert.ok(Number(deadlineMs) < STOP_LIMIT_MS, child.stderr);
      };
      await Promise.all([stop(["-on-stop", "hang"], "started"), stop(["-on-start", "hang"], "starting")]);
    }),
);

/** The words about its end of a program that drains; a second signal ends a drain that hangs. */
async function endOf(args: string[]): Promise<(string | undefined)[]> {
  await using child = new Child(args);
  await child.until("started");
  child.kill("SIGTERM");
  await child.until("draining");
  if (args.includes("hang")) {
    await eventually("the end of the drain", () => {
      child.kill("SIGINT");
      return child.stderr.includes("drain skipped");
    });
  }
  assert.equal(await child.exitCode(), 0, child.stderr);
  return Array.from(child.stderr.matchAll(/"message":"((?:drain|stop)[^"]*)"/g), ([, message]) => message);
}

Deno.test(
  "a program that drains has its time to stop after that, and a second signal ends the drain",
  children,
  () =>
    inFolder(async (folder) => {
      const [slow, skipped] = await Promise.all([
        endOf(["-on-drain", "slow", "-state-dir", `${folder}/slow`]),
        endOf(["-on-drain", "hang", "-on-stop", "hang", "-state-dir", `${folder}/hang`]),
      ]);
      assert.deepEqual(slow, ["stopping", "draining", "drained", "stopped"]);
      const deadline = "stopped at the deadline, something did not end in time";
      assert.deepEqual(skipped, ["stopping", "draining", "drain skipped", deadline]);
    }),
);

Deno.test("a program that cannot start says why in one line with code 1", children, () =>
  inFolder(async (folder) => {
    await using child = new Child(["-on-start", "throw", "-state-dir", folder]);
    assert.equal(await child.exitCode(), 1);
    assert.equal(child.stderr, 'vbg-fixture: Cannot start the fixture "x"\n');
  }));

Deno.test(
  "SIGHUP applies a good file, refuses a bad one, and the log level follows",
  children,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/a.conf`;
      await Deno.writeTextFile(path, "send.rate = 2");
      await using child = new Child(["-config", path, "-state-dir", folder, "-log-format", "text"]);
      await child.until("started rate=2");
      await Deno.writeTextFile(path, "send.rate = 3, log-level = warn, port = 7");
      child.kill("SIGHUP");
      await child.until("some changed settings need a restart settings=port");
      await Deno.writeTextFile(path, "send.rate = 4, log-level = none");
      child.kill("SIGHUP");
      await child.until("settings refused, the old ones stay");
      await Deno.writeTextFile(path, "send.rate = 5, log-level = info");
      child.kill("SIGHUP");
      await child.until("applied rate=5");
      assert.doesNotMatch(child.stderr, /rate=4/);
      child.kill("SIGTERM");
      assert.equal(await child.exitCode(), 0);
    }),
);

Deno.test(
  "SIGHUP while a program starts ends nothing, and counts when it has started",
  children,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/a.conf`;
      await Deno.writeTextFile(path, "send.rate = 2");
      // The start ends with the signal.
      const args = ["-config", path, "-state-dir", folder, "-log-format", "text", "-on-start", "sighup"];
      await using child = new Child(args);
      await child.until("starting");
      await Deno.writeTextFile(path, "send.rate = 5");
      child.kill("SIGHUP");
      await child.until("applied rate=5");
      assert.match(child.stderr, /started rate=2[^]*applied rate=5/);
      child.kill("SIGTERM");
      assert.equal(await child.exitCode(), 0);
    }),
);

Deno.test(
  "a second process on the same state directory ends with code 1 and one line",
  children,
  () =>
    inFolder(async (folder) => {
      const dir = `${folder}/deep/state`;
      await using first = new Child(["-state-dir", dir]);
      await first.until("started");
      assert.equal((await Deno.stat(dir)).mode! & 0o777, 0o700);
      await using second = new Child(["-state-dir", dir]);
      assert.equal(await second.exitCode(), 1);
      assert.equal(
        second.stderr,
        `vbg-fixture: Cannot use the state directory "${dir}": it is used by another process; -state-dir names another\n`,
      );
      // The lock goes with the process, even one that is killed.
      first.kill("SIGKILL");
      await first.exitCode();
      await using third = new Child(["-state-dir", dir]);
      await third.until("started");
    }),
);

Deno.test("a state directory that cannot be made is one line and code 1", children, () =>
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/file`, "");
    await using child = new Child(["-state-dir", `${folder}/file/state`]);
    assert.equal(await child.exitCode(), 1);
    assert.match(child.stderr, /^vbg-fixture: Cannot use the state directory ".*\/file\/state": .*\n$/);
  }));

Deno.test(
  "with -otel-endpoint the program runs as a traced child, signals and exit code pass through",
  children,
  () =>
    inFolder(async (folder) => {
      // Nobody listens there; the exporter copes.
      const args = ["-otel-endpoint", "http://127.0.0.1:9", "-state-dir", folder];
      await using traced = new Child(args);
      await traced.until('"traced":"vbg-fixture"');
      traced.kill("SIGTERM");
      assert.equal(await traced.exitCode(), 0, traced.stderr);
      assert.match(traced.stderr, /"message":"stopped"/);
      await using failing = new Child([...args, "-on-start", "throw"]);
      assert.equal(await failing.exitCode(), 1);
      assert.match(failing.stderr, /Cannot start the fixture/);
    }),
);
