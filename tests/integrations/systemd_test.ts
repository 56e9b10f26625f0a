import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Logger } from "../../src/base/mod.ts";
import { SystemdNotifier } from "../../src/integrations/systemd/systemd.ts";
import { growing, type NotifySettings, readNotifySettings, Watchdog } from "../../src/integrations/systemd/watchdog.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Manager } from "../support/systemd.ts";

const NEEDS = needs({ permissions: ["write", "env"], programs: ["systemd-notify", "python3"] });
const CHILD = fileURLToPath(new URL("./systemd_child.ts", import.meta.url));
const NEVER_MS = 2 ** 30;
function notifier(settings: NotifySettings, lines: string[] = []): SystemdNotifier {
  return new SystemdNotifier({ settings, probe: () => true, log: new Logger({ write: (line) => lines.push(line) }) });
}

/** Looks at a watchdog as its timer would. */
function watchdog(probe: () => boolean | Promise<boolean>) {
  const seen = { pings: 0, lines: [] as string[] };
  const ping = () => Promise.resolve(void seen.pings++);
  const log = new Logger({ write: (line) => seen.lines.push(line) });
  return { seen, dog: new Watchdog({ intervalMs: NEVER_MS, probe, ping, log }) };
}

Deno.test("what systemd put into the environment is read, and what is not for us is left", () => {
  assert.equal(readNotifySettings({}, [7, 6]), undefined);
  assert.equal(readNotifySettings({ NOTIFY_SOCKET: "" }, [7, 6]), undefined);
  assert.equal(readNotifySettings({ NOTIFY_SOCKET: "vsock:2:1234" }, [7, 6]), undefined);
  const socket = "/run/systemd/notify";
  const read = (rest: Record<string, string>) => readNotifySettings({ NOTIFY_SOCKET: socket, ...rest }, [7, 6]);
  assert.deepEqual(read({}), { socket, watchdogMs: undefined });
  assert.deepEqual(read({ WATCHDOG_USEC: "30000000" }), { socket, watchdogMs: 30_000 });
  assert.deepEqual(read({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7" }), { socket, watchdogMs: 30_000 });
  assert.deepEqual(read({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "6" }), { socket, watchdogMs: 30_000 });
  for (
    const rest of [{ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }, { WATCHDOG_USEC: "0" }, { WATCHDOG_USEC: "x" }]
  ) {
    assert.deepEqual(read(rest), { socket, watchdogMs: undefined });
  }
  assert.equal(readNotifySettings({ NOTIFY_SOCKET: "@abstract" }, [7, 6])?.socket, "@abstract");
});

Deno.test("signs of life come while the count grows, stop with it, and come again", async () => {
  let heartbeats = 0;
  const { seen, dog } = watchdog(growing(() => heartbeats));
  for (const grows of [1, 1, 0, 0, 5, 1]) {
    heartbeats += grows;
    await dog.tick();
  }
  dog.stop();
  assert.equal(seen.pings, 4);
  assert.equal(seen.lines.length, 1, seen.lines.join());
});

Deno.test("a probe that fails, says no or never answers gives no sign of life", async () => {
  for (const probe of [() => false, () => Promise.resolve(false), () => Promise.reject(new Error("broken"))]) {
    const { seen, dog } = watchdog(probe);
    for (let i = 0; i < 3; i++) await dog.tick();
    dog.stop();
    assert.equal(seen.pings, 0);
    assert.equal(seen.lines.length, 1);
  }
  const hung = Promise.withResolvers<boolean>();
  let asked = 0;
  const { seen, dog } = watchdog(() => (asked++, hung.promise));
  const first = dog.tick();
  await dog.tick();
  await dog.tick();
  assert.deepEqual([seen.pings, asked, seen.lines.length], [0, 1, 1]);
  hung.resolve(true);
  await first;
  await dog.tick();
  assert.deepEqual([seen.pings, asked], [2, 2]);
  dog.stop();
  await dog.tick();
  assert.equal(seen.pings, 2);
});

Deno.test("systemd is told of each step in its order, by path and by abstract name", NEEDS, async () => {
  await inFolder(async (folder) => {
    for (const socket of [`${folder}/notify`, `@vbg-${crypto.randomUUID()}`]) {
      await using manager = await Manager.at(socket);
      const systemd = notifier({ socket, watchdogMs: undefined });
      void systemd.ready("listening on 8089");
      void systemd.status("3 devices\nREADY=0");
      void systemd.reloading();
      void systemd.ready("listening on 8089");
      await systemd.stopping();
      await eventually("all messages", () => manager.count("STOPPING=1 STATUS=stopping") === 1);
      const told = manager.told;
      const reload = told.splice(2, 1)[0] ?? "";
      assert.deepEqual(told, [
        "READY=1 STATUS=listening on 8089",
        "STATUS=3 devices READY=0",
        "READY=1 STATUS=listening on 8089",
        "STOPPING=1 STATUS=stopping",
      ]);
      assert.match(reload, /^RELOADING=1 MONOTONIC_USEC=\d{7,}$/);
    }
  });
});

Deno.test("a socket that nobody listens on is told once, and harms nothing", NEEDS, async () => {
  await inFolder(async (folder) => {
    const lines: string[] = [];
    const systemd = notifier({ socket: `${folder}/nobody`, watchdogMs: undefined }, lines);
    await systemd.ready("x");
    await systemd.status("y");
    await systemd.stopping();
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(lines[0]!, /WARN .*systemd notification failed .*READY=1/);
  });
});

async function service(test: (manager: Manager, child: Deno.ChildProcess) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const socket = `${folder}/notify`;
    await using manager = await Manager.at(socket);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--cached-only", "-A", CHILD],
      env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "100000" },
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    try {
      await eventually("it is ready", () => manager.count("READY=1 STATUS=listening on 8089") === 1);
      await eventually("signs of life", () => manager.count("WATCHDOG=1") >= 3);
      await test(manager, child);
    } finally {
      await child.stdin.close().catch(() => {});
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended by itself.
      }
      await child.status;
    }
  });
}

Deno.test("a service that hangs gives no more signs of life", NEEDS, async () => {
  await service(async (manager, child) => {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("hang"));
    writer.releaseLock();
    // What was on its way when it hung still arrives; then nothing does, for many intervals.
    await eventually("silence", async () => {
      const before = manager.count("WATCHDOG=1");
      await pause(1000);
      return manager.count("WATCHDOG=1") === before;
    });
  });
});

Deno.test("a service that stops says so, and gives no more signs of life", NEEDS, async () => {
  await service(async (manager, child) => {
    await child.stdin.close();
    assert.equal((await child.status).code, 0);
    await eventually("the last word", () => manager.told.at(-1) === "STOPPING=1 STATUS=stopping");
  });
});
