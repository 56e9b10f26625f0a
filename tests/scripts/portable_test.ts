import assert from "node:assert/strict";
import { makePayload, type Payload, writePortable } from "../../scripts/compile/portable.ts";
import type { Program } from "../../scripts/programs.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const NEEDS = needs({ permissions: ["env", "write"], programs: ["sh", "tar", "gzip", "cp", "mktemp"] });
const PROGRAM: Program = {
  name: "vbg-trial",
  file: "trial.ts",
  permissions: ["--allow-read", "--no-prompt"],
  runtimeFlags: ["--v8-flags=--trial"],
  isServer: false,
};
/** In a runtime's place: does what the first word behind the program says. */
const RUNTIME = `#!/bin/sh
flags=
while [ "\${1#*/bundle/}" = "$1" ]; do flags="$flags $1"; shift; done
main=$1; shift
case "$1" in
  args) shift; for word; do printf '[%s]' "$word"; done ;;
  flags) echo "$flags" ;;
  main) echo "$main" ;;
  cat) cat ;;
  exit) exit "$2" ;;
  wait) trap 'exit 7' TERM; echo $$; while :; do sleep 0.02; done ;;
esac
`;

/** A portable file, alone in a folder whose name has a space, and beside it a place for its cache. */
interface Trial {
  path: string;
  cache: string;
  folder: string;
  payload: Payload;
}

async function withPortable(test: (trial: Trial) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const bundle = `${folder}/bundle`;
    await Deno.mkdir(`${bundle}/cli`, { recursive: true });
    await Deno.writeTextFile(`${bundle}/cli/trial.js`, "");
    const runtime = `${folder}/runtime`;
    await Deno.writeTextFile(runtime, RUNTIME);
    const payload = await makePayload({ runtime, bundle, level: 1 });
    const home = `${folder}/an empty $folder`;
    await Deno.mkdir(home);
    const path = `${home}/vbg 'trial'`;
    await writePortable(path, { program: PROGRAM, payload, target: "any" });
    await test({ path, cache: `${folder}/the cache`, folder, payload });
  });
}

function command({ path, cache }: Trial, args: string[], env: Record<string, string> = {}): Deno.Command {
  const options = { args, env: { VBG_CACHE: cache, ...env }, clearEnv: true } as const;
  return new Deno.Command(path, { ...options, stdin: "null", stdout: "piped", stderr: "piped" });
}

async function run(trial: Trial, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await command(trial, args, env).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

function entries(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("a portable program passes on words as they are, its runtime's flags, and the exit code", NEEDS, async () => {
  await withPortable(async (trial) => {
    const words = ["", "two words", "-flag", "--", "*", "$HOME", "it's", 'a "b"', "new\nline", "back\\slash"];
    const { code, stdout, stderr } = await run(trial, ["args", ...words]);
    assert.deepEqual([code, stdout, stderr], [0, words.map((word) => `[${word}]`).join(""), ""]);
    assert.match(
      (await run(trial, ["flags"])).stdout,
      /^ run --allow-read --no-prompt .*--no-remote .*--v8-flags=--trial\n$/,
    );
    assert.equal((await run(trial, ["main"])).stdout, `${trial.cache}/${trial.payload.name}/bundle/cli/trial.js\n`);
    assert.equal((await run(trial, ["exit", "42"])).code, 42);
  });
});

Deno.test("a portable program reads standard input, also at its first start", NEEDS, async () => {
  await withPortable(async ({ path, cache }) => {
    const piped = { stdin: "piped", stdout: "piped" } as const;
    const child = new Deno.Command(path, { args: ["cat"], env: { VBG_CACHE: cache }, clearEnv: true, ...piped })
      .spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("frames\n"));
    await writer.close();
    assert.equal(new TextDecoder().decode((await child.output()).stdout), "frames\n");
  });
});

Deno.test("signals reach the program itself: it has the process that was started", NEEDS, async () => {
  await withPortable(async (trial) => {
    const child = command(trial, ["wait"]).spawn();
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    assert.equal(Number(new TextDecoder().decode(value)), child.pid);
    child.kill("SIGTERM");
    assert.equal((await child.status).code, 7);
    await reader.cancel();
    await child.stderr.cancel();
  });
});

Deno.test("many first starts at once all work, and leave one unpacked program and nothing else", NEEDS, async () => {
  await withPortable(async (trial) => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, (_, i) => run(trial, ["args", String(i)])));
    outcomes.forEach(({ code, stdout, stderr }, i) => assert.deepEqual([code, stdout, stderr], [0, `[${i}]`, ""]));
    assert.deepEqual(entries(trial.cache), [trial.payload.name]);
    assert.deepEqual(entries(`${trial.cache}/${trial.payload.name}`), ["bundle", "deno"]);
  });
});

Deno.test("what a killed start has left does not keep the next one from working, and goes in time", NEEDS, async () => {
  await withPortable(async (trial) => {
    const old = `${trial.cache}/.new-killed`;
    const fresh = `${trial.cache}/.new-at-work`;
    for (const each of [old, fresh]) {
      await Deno.mkdir(`${each}/bundle`, { recursive: true });
      await Deno.writeTextFile(`${each}/deno`, "half of i");
    }
    await Deno.utime(old, 0, 0);
    assert.equal((await run(trial, ["args", "a"])).stdout, "[a]");
    assert.deepEqual(entries(trial.cache), [".new-at-work", trial.payload.name]);
  });
});

Deno.test("a damaged or cut file is told, runs nothing and leaves nothing", NEEDS, async () => {
  await withPortable(async (trial) => {
    const whole = await Deno.readFile(trial.path);
    const start = whole.length - trial.payload.bytes.length;
    const flipped = whole.slice();
    const middle = start + (trial.payload.bytes.length >> 1);
    flipped[middle] = (flipped[middle] ?? 0) ^ 0xff;
    const checksum = whole.slice();
    checksum[whole.length - 6] = (checksum[whole.length - 6] ?? 0) ^ 1;
    const damaged = { flipped, checksum, cut: whole.slice(0, middle), empty: whole.slice(0, start) };
    for (const [name, bytes] of Object.entries(damaged)) {
      await Deno.writeFile(trial.path, bytes);
      const { code, stdout, stderr } = await run(trial, ["args", "a"]);
      assert.deepEqual([code, stdout], [1, ""], name);
      assert.match(stderr, /^vbg-trial: Cannot unpack into ".*\/the cache" /, name);
      assert.deepEqual(entries(trial.cache), [], name);
    }
  });
});

Deno.test(
  "without a place that was asked for, the user's cache is used, else a folder of temporary files",
  NEEDS,
  async () => {
    await withPortable(async (trial) => {
      const { folder, payload } = trial;
      const env = { VBG_CACHE: "", TMPDIR: folder };
      const temporary = `${folder}/vbg-${Deno.uid()}`;
      const place = async (more: Record<string, string>) =>
        (await run(trial, ["main"], { ...env, ...more })).stdout.replace(`/${payload.name}/bundle/cli/trial.js\n`, "");
      assert.equal(await place({ HOME: `${folder}/home` }), `${folder}/home/.cache/vbg`);
      assert.equal(await place({ HOME: "/proc", XDG_CACHE_HOME: `${folder}/xdg` }), `${folder}/xdg/vbg`);
      assert.equal(await place({ HOME: folder, CACHE_DIRECTORY: `${folder}/unit:${folder}/b` }), `${folder}/unit`);
      // Where nothing can be written.
      assert.equal(await place({ HOME: "/proc" }), temporary);
      assert.equal((await Deno.stat(temporary)).mode! & 0o777, 0o700);
      assert.equal(await place({}), temporary);
    });
  },
);

Deno.test("what somebody else may have prepared among temporary files is not run", NEEDS, async () => {
  await withPortable(async (trial) => {
    const { folder } = trial;
    await Deno.mkdir(`${folder}/others`);
    await Deno.symlink(`${folder}/others`, `${folder}/vbg-${Deno.uid()}`);
    const { code, stderr } = await run(trial, ["args"], { VBG_CACHE: "", TMPDIR: folder });
    assert.equal(code, 1);
    assert.match(stderr, /^vbg-trial: Cannot use ".*\/vbg-\d+": set VBG_CACHE to a folder\n$/);
    assert.deepEqual(entries(`${folder}/others`), []);
  });
});

Deno.test("a cache that cannot be written is told when it was asked for", NEEDS, async () => {
  await withPortable(async (trial) => {
    const { code, stderr } = await run({ ...trial, cache: "/proc/nowhere" }, ["args"]);
    assert.deepEqual([code, stderr], [1, 'vbg-trial: Cannot write to VBG_CACHE "/proc/nowhere"\n']);
  });
});

Deno.test("a portable program is found on PATH, by a link, and from its own folder", NEEDS, async () => {
  await withPortable(async (trial) => {
    const home = trial.path.replace(/\/[^/]*$/, "");
    const name = trial.path.slice(home.length + 1);
    await Deno.symlink(trial.path, `${home}/link`);
    const env = { VBG_CACHE: trial.cache, PATH: `${home}:${Deno.env.get("PATH")}` };
    for (const line of [`"./$0" args a`, `"$0" args a`, `link args a`, `sh "./$0" args a`, `sh "$0" args a`]) {
      const { stdout, stderr } = await new Deno.Command("sh", {
        args: ["-c", line, name],
        cwd: home,
        env,
        clearEnv: true,
      })
        .output();
      assert.equal(new TextDecoder().decode(stdout), "[a]", line + new TextDecoder().decode(stderr));
    }
  });
});

Deno.test("the same parts give the same file, other parts another place in the cache", NEEDS, async () => {
  await withPortable(async ({ folder, payload }) => {
    const parts = { runtime: `${folder}/runtime`, bundle: `${folder}/bundle`, level: 1 };
    assert.deepEqual(await makePayload(parts), payload);
    await Deno.writeTextFile(`${folder}/bundle/cli/trial.js`, "1");
    assert.notEqual((await makePayload(parts)).name, payload.name);
  });
});

Deno.test("a start waits for nobody: what another start has unpacked meanwhile is used", NEEDS, async () => {
  await withPortable(async (trial) => {
    const child = command(trial, ["wait"]).spawn();
    await eventually(
      "the first start",
      () => entries(trial.folder).includes("the cache") && entries(trial.cache).includes(trial.payload.name),
    );
    assert.equal((await run(trial, ["args", "b"])).stdout, "[b]");
    child.kill("SIGTERM");
    await child.output();
  });
});
