import assert from "node:assert/strict";
import { errorText, type LogFormat, Logger, silentLogger } from "../../src/base/mod.ts";

function logger(format: LogFormat): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const now = () => new Date("2026-01-02T03:04:05.678Z");
  return { log: new Logger({ level: "debug", format, write: (line) => lines.push(line), now }), lines };
}

Deno.test("log lines below the level are not written, and the level may change while running", () => {
  const { log, lines } = logger("text");
  log.level = "warn";
  log.debug("one");
  log.info("two");
  log.warn("three");
  log.error("four");
  log.level = "info";
  log.info("five");
  assert.deepEqual(lines.map((line) => line.split(" ").at(-1)), ["three", "four", "five"]);
});

Deno.test("a text line holds time, level, message and fields, and quotes what could be misread", () => {
  const { log, lines } = logger("text");
  log.info("bus up", { bus: "can0", count: 3, ok: true, reason: 'no "such"\ndevice', empty: "", none: undefined });
  assert.deepEqual(lines, [
    `2026-01-02T03:04:05.678Z INFO  bus up bus=can0 count=3 ok=true reason="no \\"such\\"\\ndevice" empty=""`,
  ]);
});

Deno.test("a JSON line is one object on one line and leaves out what is undefined", () => {
  const { log, lines } = logger("json");
  log.error("gone\nwrong", { bus: "can0", none: undefined });
  assert.equal(lines.length, 1);
  assert.ok(!lines[0]!.includes("\n"));
  assert.deepEqual(JSON.parse(lines[0]!), {
    time: "2026-01-02T03:04:05.678Z",
    level: "error",
    message: "gone\nwrong",
    bus: "can0",
  });
});

Deno.test("a field cannot take the place of time, level or message", () => {
  const { log, lines } = logger("json");
  log.info("true words", { message: "forged", level: "error", time: "never" });
  const { message, level, time } = JSON.parse(lines[0]!);
  assert.deepEqual({ message, level, time }, {
    message: "true words",
    level: "info",
    time: "2026-01-02T03:04:05.678Z",
  });
});

Deno.test("the silent logger writes nothing", () => {
  silentLogger.error("nobody hears");
  assert.equal(silentLogger.level, "error");
});

Deno.test("a special file that Deno opens for nobody but programs with all permissions is said so, without its flags", () => {
  const denied = new Deno.errors.NotCapable(
    'Requires all access to "/dev/stdin", run again with the --allow-all flag',
  );
  assert.equal(
    errorText(denied),
    'this program may not open "/dev/stdin": files of /dev, /proc and /sys need all permissions of Deno',
  );
  const other = 'Requires sys access to "hostname", run again with the --allow-sys flag';
  assert.equal(errorText(new Deno.errors.NotCapable(other)), other);
  assert.equal(errorText("text"), "text");
});
