import assert from "node:assert/strict";
import { tracedCommand } from "../../cli/program/otel.ts";
import { PERMISSIONS } from "../../cli/program/permissions.ts";
import { compileArgs } from "../../scripts/compile.ts";
import { writePortable } from "../../scripts/compile/portable.ts";
import { launcherText } from "../../scripts/deb.ts";
import { PROGRAMS } from "../../scripts/programs.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { programTasks } from "../support/task.ts";

const READ = needs({ permissions: ["read"] });
const WRITE = needs({ permissions: ["read", "write"] });
const UNIT = new URL("../../scripts/debian/vbg-cloud.service", import.meta.url);
/** Which program a task runs. */
const TASKS: Record<string, keyof typeof PERMISSIONS> = {
  boat: "boat",
  cli: "vbg",
  cloud: "cloud",
  simulate: "vbg",
  demo: "demo",
};

/** What Deno gives for a permission `sys`, by how the sources ask for it. */
const SYSTEM_FIGURES: Record<string, RegExp> = {
  // Deno asks for it when the `https` of Node verifies a certificate.
  ca: /\bhttpsAgent\b/,
  cpus: /\bcpus\(/,
  gid: /\bDeno\.gid\(/,
  // The parser asks when it is loaded.
  homedir: /import \w+ from "@pushcorn\/hocon-parser"/,
  hostname: /\bhostname\(\)/,
  loadavg: /\bloadavg\(/,
  networkInterfaces: /\bnetworkInterfaces\(/,
  // The client names the system in each of its requests.
  osRelease: /"@aws-sdk\/client-s3"/,
  osUptime: /\bosUptime\(/,
  statfs: /\bstatfs(Sync)?\(/,
  systemMemoryInfo: /\bsystemMemoryInfo\(/,
  uid: /\bDeno\.uid\(/,
};

/** The words of a command line that are about permissions. */
function permissionsIn(words: readonly string[]): string[] {
  return words.filter((word) => /^(-[A-Z]|--(allow|deny|no-prompt|permission))/.test(word));
}

/** The words of the line that starts Deno in a shell script. */
function startLine(script: string): string[] {
  return (script.split("\n").find((line) => line.startsWith("exec ")) ?? "").split(" ");
}

function sourcesBelow(folder: URL): URL[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? sourcesBelow(new URL(`${name}/`, folder)) : name.endsWith(".ts") ? [new URL(name, folder)] : []
  );
}

Deno.test("only the boat server has all permissions, and no other program has FFI", READ, () => {
  for (const [name, flags] of Object.entries(PERMISSIONS)) {
    if (name === "boat") continue;
    assert.ok(flags.includes("--no-prompt"), name);
    for (const flag of flags) assert.match(flag, /^--(no-prompt|allow-(read|write|net|env|run|sys=[\w,]+))$/, name);
  }
});

Deno.test(
  "every figure of the system that the sources ask Deno for is permitted to a program, and no other",
  READ,
  async () => {
    const { boat: _, ...named } = PERMISSIONS;
    const permitted = new Set(
      Object.values(named).flat().flatMap((flag) => flag.match(/^--allow-sys=(.*)/)?.[1]?.split(",") ?? []),
    );
    const asked = new Set<string>();
    for (const folder of ["src", "cli"]) {
      for (const path of sourcesBelow(new URL(`../../${folder}/`, import.meta.url))) {
        const text = await Deno.readTextFile(path);
        for (const [name, use] of Object.entries(SYSTEM_FIGURES)) if (use.test(text)) asked.add(name);
      }
    }
    assert.deepEqual([...asked].sort(), [...permitted].sort());
  },
);

Deno.test("every task that runs a program has that program's permissions", READ, () => {
  const tasks = programTasks();
  assert.deepEqual([...tasks.keys()].sort(), Object.keys(TASKS).sort());
  for (const [task, { flags }] of tasks) assert.deepEqual(permissionsIn(flags), PERMISSIONS[TASKS[task]!], task);
});

Deno.test(
  "packages, portable and compiled programs start with their program's permissions",
  WRITE,
  () =>
    inFolder(async (folder) => {
      for (const program of PROGRAMS) {
        const path = `${folder}/${program.name}`;
        await writePortable(path, { program, payload: { bytes: new Uint8Array(), name: "payload" }, target: "any" });
        const starts = {
          launcher: startLine(await launcherText(program)),
          portable: startLine(await Deno.readTextFile(path)),
          compiled: compileArgs(program, { target: "any", path }),
        };
        for (const [how, words] of Object.entries(starts)) {
          assert.deepEqual(permissionsIn(words), program.permissions, `${program.name}, ${how}`);
        }
      }
      const names = PROGRAMS.filter(({ permissions }) => permissions.includes("-A")).map(({ name }) => name);
      assert.deepEqual(names, ["vbg-boat"]);
    }),
);

Deno.test("systemd starts the cloud server by its launcher", READ, async () => {
  assert.match(await Deno.readTextFile(UNIT), /^ExecStart=\/usr\/bin\/vbg-cloud -config /m);
});

Deno.test("a program that starts itself again for traces has the same permissions as before", READ, () => {
  for (const permissions of Object.values(PERMISSIONS)) {
    const settings = { endpoint: "http://127.0.0.1:4318", sampleRatio: 1, serviceName: "any", environment: {} };
    assert.deepEqual(permissionsIn(tracedCommand({ ...settings, permissions })?.args ?? []), permissions);
  }
});
