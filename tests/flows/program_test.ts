import assert from "node:assert/strict";
import type { Device } from "../../src/frame/mod.ts";
import { readLog, writeScript } from "../journal/retention/script.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { SseClient } from "../support/sse_client.ts";

const options = needs({ permissions: ["run", "read", "write", "net", "env"] });
const ARCHIVE = needs({ permissions: ["run", "read", "write", "net", "env"], programs: ["sh", "cat", "chmod"] });

function startBoat(...flags: string[]): Promise<TestProgram> {
  return TestProgram.start("boat", (folder) => ["-state-dir", folder, "-log-format", "json", ...flags]);
}

Deno.test("the demo shows at least ten devices with manufacturer and model, and frames", options, async () => {
  await using program = await startBoat("-demo", "-listen", "127.0.0.1:0");
  const url = await program.url();
  await using client = await SseClient.open(`${url}/events`);
  await client.atLeast(100);
  await eventually("ten devices that have told everything", async () => {
    const devices: Device[] = await (await fetch(`${url}/devices`)).json();
    return devices.filter(({ manufacturer, model_id }) => manufacturer && model_id).length >= 10;
  });
});

const REPLICATING = ["-replication-target", "127.0.0.1:1", "-replication-insecure"];
for (const [what, flags] of [["replicates", REPLICATING], ["records alone", []]] as const) {
  Deno.test(`the archive command of a boat that ${what} gets the boat's own instance id`, ARCHIVE, async () => {
    await using program = await TestProgram.start("boat", async (folder) => [
      ...["-demo", "-listen", "127.0.0.1:0", "-state-dir", folder, "-log-format", "json"],
      ...["-journal-dir", `${folder}/journal`, "-journal-rotate-duration", "1s"],
      ...["-journal-archive-command", await writeScript(folder, 'cat >>"$LOG"')],
      ...["-journal-archive-trigger", "on-rotate", "-replication-instance-id", "aurora", ...flags],
    ]);
    const [line = ""] = await eventually("a file to archive", async () => {
      const lines = await readLog(program.folder);
      return lines.length > 0 ? lines : undefined;
    });
    assert.equal(JSON.parse(line).instance_id, "aurora");
  });
}

Deno.test("SIGTERM ends the program with streams open: exit code 0, in time", options, async () => {
  await using program = await startBoat("-demo", "-listen", "127.0.0.1:0");
  const url = await program.url();
  await using client = await SseClient.open(`${url}/events`);
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`);
  const closed = new Promise((resolve) => socket.onclose = resolve);
  await new Promise((resolve) => socket.onopen = resolve);
  await client.atLeast(1);
  program.signal("SIGTERM");
  assert.equal(await program.exitCode(), 0);
  assert.doesNotMatch(program.log, /deadline/, "nothing had to be cut off");
  await closed;
  await eventually("the end of the stream", () => client.ended);
});

const refusals: [why: string, flags: string[], message: RegExp, code: number][] = [
  ["a ring that is no power of two", ["-loopback", "-ring-size", "1000"], /-ring-size: .*"1000".*power of two/, 2],
  ["an unknown flag", ["-interfase", "can0"], /Unknown flag -interfase: did you mean -interface\?/, 2],
  ["a missing interface", ["-interface", "nocan9"], /Cannot open bus "nocan9": (no such .*-demo|this kernel)/, 1],
];
for (const [why, flags, message, code] of refusals) {
  Deno.test(`${why} is one clear line and exit code ${code}`, options, async () => {
    await using program = await startBoat(...flags);
    assert.equal(await program.exitCode(), code);
    assert.match(program.log, message);
    assert.doesNotMatch(program.log, /^\s+at /m);
  });
}

Deno.test("a port that is taken is one clear line and exit code 1", options, async () => {
  const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    await using program = await startBoat("-loopback", "-listen", `127.0.0.1:${taken.addr.port}`);
    assert.equal(await program.exitCode(), 1);
    assert.match(
      program.log,
      /^vbg-boat: Cannot listen on 127\.0\.0\.1:\d+: the port is taken; -port or -listen names another$/m,
    );
  } finally {
    taken.close();
  }
});
