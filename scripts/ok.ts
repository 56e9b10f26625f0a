// All checks: formatting, lint, types, documentation of the exports, publishing dry run, generated files, tests.
// `--static` skips the tests. Stops at the first step that fails.

const ENTRY_POINTS = [
  ...[
    "mod.ts",
    "src/frame/mod.ts",
    "src/api/journal.ts",
    "src/api/recordings.ts",
    "src/api/voyages.ts",
    "src/export/mod.ts",
    "src/pgn/mod.ts",
    "src/quantities/mod.ts",
  ],
  ...[
    "src/where/mod.ts",
    "src/base/mod.ts",
    "src/client/mod.ts",
    "src/api/boat.ts",
    "src/api/cloud.ts",
    "src/object_store/mod.ts",
    "src/api/cloud_server.ts",
    "src/api/simulation.ts",
    "src/version.ts",
  ],
  ...["cli/main.ts", "cli/main_boat.ts", "cli/main_cloud.ts"],
];

const steps: [name: string, args: string[]][] = [
  ["format", ["fmt", "--check"]],
  ["lint", ["lint"]],
  ["types", ["check", "--doc", "."]],
  ["documentation of exports", ["doc", "--lint", ...ENTRY_POINTS]],
  ["packages", ["publish", "--dry-run", "--allow-dirty"]],
  ["generated definitions", ["run", "-A", "scripts/definitions.ts", "--check"]],
  ["generated page", ["run", "-A", "scripts/web.ts", "--check"]],
  ["generated documentation", ["run", "-A", "scripts/docs.ts", "--check"]],
];
if (!Deno.args.includes("--static")) steps.push(["tests", ["task", "test"]]);

for (const [name, args] of steps) {
  const start = performance.now();
  const success = name === "tests" ? await runLoud(args) : await runQuiet(args);
  console.log(`${success ? "ok    " : "FAILED"} ${name} (${Math.round(performance.now() - start)} ms)`);
  if (!success) Deno.exit(1);
}

async function runLoud(args: string[]): Promise<boolean> {
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdout: "inherit", stderr: "inherit" }).spawn()
    .status;
  return success;
}

/** Shows the output of a step only when it failed. */
async function runQuiet(args: string[]): Promise<boolean> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (success) return true;
  await Deno.stderr.write(stdout);
  await Deno.stderr.write(stderr);
  return false;
}
