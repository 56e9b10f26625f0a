import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { messages, record } from "../support/replay.ts";
import { SessionClient } from "../support/session.ts";

const options = needs({ permissions: ["run", "read", "write", "net", "env"] });
const pipes = needs({ permissions: ["net", "write", "env"], programs: ["mkfifo"] });
const CANDUMP = fileURLToPath(new URL("../data/candump_sample3.txt", import.meta.url));
const SLOTS =
  '[{"id":"all","buffer_timeout":"PT1M"},{"id":"some","buffer_timeout":"PT1M","filter":{"exclude_pgn":[127257]}}]';

function simulate(...flags: string[]): Promise<TestProgram> {
  return TestProgram.start("vbg", () => ["simulate", "-listen", "127.0.0.1:0", ...flags]);
}

async function makePipe(folder: string): Promise<string> {
  const path = `${folder}/pipe`;
  const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
  assert.ok(success);
  return path;
}

/** Lines of both slots of a replay of the file at full speed, which ends by itself. */
async function replay(file: string): Promise<string[][]> {
  await using program = await simulate("--file", file, "--speed", "0", "--exit-when-done", "--slots", SLOTS);
  const url = await program.url();
  const streams = await Promise.all(["all", "some"].map((id) => new SessionClient(url, { id }).events()));
  assert.equal(await program.exitCode(), 0, program.log);
  await eventually("the end of the streams", () => streams.every(({ ended }) => ended));
  return streams.map(({ texts }) => texts);
}

Deno.test(
  "a converted recording, replayed twice at full speed, gives the same streams byte for byte, and exits with 0",
  options,
  () =>
    inFolder(async (folder) => {
      const out = `${folder}/recording.lpj`;
      {
        await using convert = await TestProgram.start("vbg", () => ["convert", CANDUMP, "-out", out]);
        assert.equal(await convert.exitCode(), 0, convert.log);
      }
      const [first, second, original] = [await replay(out), await replay(out), await replay(CANDUMP)];
      assert.equal(first[0]?.length, 1874);
      assert.ok(first[1] && first[1].length > 100 && first[1].length < 1874);
      assert.deepEqual(second, first);
      assert.deepEqual(original, first, "what convert reads can be played as it is");
    }),
);

Deno.test(
  "a recording that comes through a pipe is played from its first byte on",
  pipes,
  () =>
    inFolder(async (folder) => {
      const pipe = await makePipe(folder);
      const [piped] = await Promise.all([replay(pipe), Deno.writeFile(pipe, await Deno.readFile(CANDUMP))]);
      assert.deepEqual(piped, await replay(CANDUMP));
    }),
);

Deno.test(
  "SIGTERM while a recording is still read ends the program at once, and leaves nothing behind",
  pipes,
  () =>
    inFolder(async (folder) => {
      const temporary = `${folder}/tmp`;
      await Deno.mkdir(temporary);
      const pipe = await makePipe(folder);
      await using program = await TestProgram.start("vbg", () => ["simulate", "-file", pipe], { TMPDIR: temporary });
      using writer = await Deno.open(pipe, { write: true });
      await writer.write(await Deno.readFile(CANDUMP));
      await eventually("the journal that is made of it", () => [...Deno.readDirSync(temporary)].length > 0);
      program.signal("SIGTERM");
      assert.equal(await program.exitCode(), 0, program.log);
      assert.doesNotMatch(program.log, /deadline|Cannot/);
      assert.deepEqual([...Deno.readDirSync(temporary)], []);
    }),
);

Deno.test(
  "a directory is played in the order of its names, and a replay that lost a block exits with 1",
  options,
  () =>
    inFolder(async (folder) => {
      const path = await record(folder, { name: "b", messages: messages(1000) });
      await record(folder, { name: "a", messages: messages(5, { fromMs: 20_000 }), firstSeq: 1 });
      await Deno.writeTextFile(`${folder}/notes.txt`, "no journal");
      const bytes = await Deno.readFile(path);
      bytes[Math.floor(bytes.length / 2)]! ^= 0xff;
      await Deno.writeFile(path, bytes);
      await using program = await simulate("--dir", folder, "--speed", "0", "--exit-when-done", "--slots", SLOTS);
      await using stream = await new SessionClient(await program.url(), { id: "all" }).events();
      const frames = await stream.atLeast(100);
      assert.equal(frames[0]?.ts, "2026-01-02T03:04:25.000Z");
      assert.equal(frames[5]?.ts, "2026-01-02T03:04:05.000Z");
      await using _other = await new SessionClient(await program.url(), { id: "some" }).events();
      assert.equal(await program.exitCode(), 1);
      assert.match(program.log, /damaged block skipped/);
    }),
);

Deno.test(
  "the server stays after the replay unless told otherwise, and ends with SIGTERM: exit code 0",
  options,
  async () => {
    await using program = await simulate("--file", CANDUMP, "--speed", "0");
    const url = await program.url();
    await eventually("the end of the replay", async () => {
      const { components } = await (await fetch(`${url}/healthz`)).json();
      return components.replay.message === "ended";
    });
    program.signal("SIGTERM");
    assert.equal(await program.exitCode(), 0);
  },
);

const refusals: [why: string, flags: string[], message: RegExp][] = [
  ["neither a file nor a directory", [], /expected -file or -dir/],
  ["both a file and a directory", ["-file", "a", "-dir", "b"], /expected one of them/],
  ["a file that is not there", ["-file", "nope.lpj"], /Cannot play "nope\.lpj"/],
  ["a directory without journals", ["-dir", "."], /No journal is in/],
  ["a start that is no time", ["-file", CANDUMP, "-start", "noon"], /-start: Cannot read the time "noon"/],
  ["a start behind the end", ["-file", CANDUMP, "-start", "2030-01-01T00:00:00Z"], /Nothing was recorded/],
  ["slots that are no JSON", ["-file", CANDUMP, "-slots", "{"], /-slots: /],
  ["a slot without a timeout", ["-file", CANDUMP, "-slots", '[{"id":"x"}]'], /slots\[0\]\.buffer_timeout: missing/],
];
for (const [why, flags, message] of refusals) {
  Deno.test(`${why}: one clear line and exit code 2, before anything listens`, options, async () => {
    await using program = await simulate(...flags);
    assert.equal(await program.exitCode(), 2);
    assert.match(program.log, message);
    assert.doesNotMatch(program.log, /listening|^\s+at /m);
  });
}
