import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";
import { PtyCommand, vbgWords } from "../support/pty_command.ts";

const PTY = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["script", "stty"] });
const SHELL = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["bash", "head"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const [NORMAL_SCREEN, ALTERNATE_SCREEN] = ["\u001b[?25h\u001b[?1049l", "\u001b[?1049h\u001b[?25l"];

/** A boat with a device that nobody's terminal has room for. */
async function boatWithDevice({ port = 0 } = {}): Promise<TestBoat> {
  const boat = await TestBoat.start({ port });
  boat.claim(7, { manufacturerCode: 229 });
  boat.product(7, "A model with a very long name");
  await eventually("both messages", () => boat.boat.broker.head === 2);
  return boat;
}

/** A shell line that runs `vbg top`, and then tells its exit code and whether the terminal is as it was. */
function topLine(url: string): string {
  const top = vbgWords("top", "-server", url);
  return `before=$(stty -g); sh -c "echo PID \\$\\$.; exec ${top}"; code=$?; ` +
    `test "$before" = "$(stty -g)" && echo "SAME $code" || echo "OTHER $code"`;
}

/** What was shown before the screen was taken, on it, and after. */
function screensOf(text: string): string[] {
  return text.split(ALTERNATE_SCREEN).flatMap((part) => part.split(NORMAL_SCREEN));
}

Deno.test("tables on a real terminal fit it, with titles in bold unless NO_COLOR is set", PTY, async () => {
  await using boat = await boatWithDevice();
  const line = vbgWords("devices", "-server", boat.url);
  await using bold = new PtyCommand(line, { columns: 70 });
  assert.equal(await bold.code(), 0);
  assert.ok(bold.text.startsWith("\u001b[1mSRC"), bold.text);
  await using plain = new PtyCommand(line, { columns: 70, env: { NO_COLOR: "1" } });
  assert.equal(await plain.code(), 0);
  assert.ok(plain.text.startsWith("SRC") && !plain.text.includes("\u001b"), plain.text);
  const lines = plain.text.split("\r\n");
  assert.equal(lines.length, 3);
  assert.ok(lines.every((each) => each.length <= 70) && lines[1]?.includes("…"), plain.text);
});

Deno.test("vbg top gives the terminal back at q, at Ctrl-C and at SIGTERM, with code 0", PTY, async () => {
  await using boat = await boatWithDevice();
  for (const end of ["q", "\u0003", "SIGTERM"] as const) {
    await using terminal = new PtyCommand(topLine(boat.url));
    await terminal.shows("Overview]");
    if (end === "SIGTERM") Deno.kill(Number(/PID (\d+)\./.exec(terminal.text)?.[1]), end);
    else await terminal.type(end);
    assert.equal(await terminal.code(), 0);
    const [before = "", shown = "", after = ""] = screensOf(terminal.text);
    assert.ok(before.startsWith("PID") && shown.includes("Garmin"), terminal.text);
    assert.equal(after.trim(), "SAME 0", "what follows is on the normal screen");
  }
});

Deno.test("vbg top gives the terminal back when it fails", PTY, async () => {
  using held = HeldPort.take();
  const { port } = held;
  const boat = await boatWithDevice(held);
  await using terminal = new PtyCommand(topLine(boat.url));
  await terminal.shows("Overview]");
  await boat[Symbol.asyncDispose]();
  // Somebody else's server has the address now, and refuses for good.
  await using other = Deno.serve(
    { port, hostname: "127.0.0.1", onListen: () => {} },
    () => new Response("go away", { status: 400 }),
  );
  assert.equal(await terminal.code(), 0);
  assert.equal(other.addr.port, port);
  const [, , after = ""] = screensOf(terminal.text);
  assert.match(after.trim(), /^vbg top: GET .*: 400 go away\r\nSAME 1$/);
});

Deno.test("vbg values -watch on a real terminal ends at Ctrl-C with code 0", PTY, async () => {
  await using boat = await boatWithDevice();
  boat.say({ src: 7, data: HEADING });
  // Without a shell around it, which Ctrl-C would end, too.
  const line = `exec ${vbgWords("values", "-watch", "-pgn", "127250", "-server", boat.url)}`;
  await using terminal = new PtyCommand(line);
  await terminal.shows("heading 057.3°M");
  boat.say({ src: 8, data: HEADING });
  await terminal.shows("\u001b[1m8\u001b[0m");
  await terminal.type("\u0003");
  assert.equal(await terminal.code(), 0);
});

Deno.test(
  "a reader that leaves in the middle of a history ends it quietly, with code 0",
  SHELL,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal });
      const count = 20_000;
      for (let i = 0; i < count; i++) boat.say({ data: HEADING });
      await eventually("all frames", () => boat.boat.broker.head === count);
      const line = `${vbgWords("history", "-limit", String(count), "-server", boat.url)} | head -2; echo "$PIPESTATUS"`;
      const { stdout, stderr } = await new Deno.Command("bash", { args: ["-c", line], env: OWN_WORDS }).output();
      const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
      assert.deepEqual([lines.length, lines[2], new TextDecoder().decode(stderr)], [3, "0", ""]);
      assert.equal(JSON.parse(lines[1] ?? "").seq, 2);
    }),
);

/** Text of a device, a server or a bus that a terminal would obey. */
const HOSTILE = "x\u001b[2J\u009b31m\u009d0;y\u0007\u0085\u007f\u202ez";
// deno-lint-ignore no-control-regex -- those are the ones
const STEERING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** A server all of whose texts are hostile. */
function hostileServer(): Deno.HttpServer<Deno.NetAddr> {
  const time = "2026-01-02T03:04:05.000Z";
  const device = { src: 1, bus: HOSTILE, name: "0x0123456789abcdef", manufacturer: HOSTILE, model_id: HOSTILE };
  const seen = { first_seen: time, last_seen: time, packet_count: 1, byte_count: 8 };
  const head = { seq: 1, ts: time, prio: 2, pgn: 126720, src: 1, dst: 255, bus: HOSTILE };
  const frame = { ...head, data: "ff", decoded: { text: HOSTILE, [HOSTILE]: HOSTILE } };
  const value = { pgn: 126720, ts: time, data: "ff", seq: 1, description: HOSTILE, decoded: { text: HOSTILE } };
  const answers: Record<string, unknown> = {
    "/devices": [{ ...device, ...seen }],
    "/values": [{ ...device, values: [value] }],
    "/values/decoded": [{ ...device, values: [value] }],
    "/history": [frame],
  };
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const answer = answers[new URL(url).pathname];
    if (answer !== undefined) return Response.json(answer);
    const problem = { type: "about:blank", title: HOSTILE, status: 404, detail: HOSTILE };
    return Response.json(problem, { status: 404, headers: { "Content-Type": "application/problem+json" } });
  });
}

Deno.test("a terminal gets nothing that a hostile server wants it to obey, and JSON says the same", PTY, async () => {
  await using server = hostileServer();
  const url = `http://127.0.0.1:${server.addr.port}`;
  const since = ["-from", "2026-01-02T00:00:00Z"];
  const commands = [["devices"], ["values"], ["history", ...since], ["pgns", "-server", url, "126720"], ["doctor"], [
    "dump",
  ]];
  for (const [name = "", ...words] of commands) {
    for (const form of [[], ["-json"]]) {
      const line = vbgWords(name, ...(words.includes("-server") ? [] : ["-server", url]), ...form, ...words);
      await using terminal = new PtyCommand(`timeout 5 ${line}`, { columns: 200, env: { NO_COLOR: "1" } });
      await terminal.code();
      assert.doesNotMatch(terminal.text, STEERING, `${name} ${form}: ${JSON.stringify(terminal.text)}`);
      if (name === "devices" && form.length > 0) {
        assert.ok(terminal.text.includes("\\u009b"), terminal.text);
        assert.equal(JSON.parse(terminal.text)[0].model_id, HOSTILE);
      }
    }
  }
});
