// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * Runs a command where the CAN interfaces `vcan0` and `vcan1` exist and are up, and exits with its status.
 *
 * If the machine's kernel supports vcan, the interfaces are created there, and removed afterwards unless they existed
 * before. Otherwise the command runs in user-mode Linux: a Linux kernel as an ordinary program, with this machine's files,
 * as root, on one slow processor. Times measured there mean nothing.
 *
 * ```sh
 * deno run -A scripts/vcan.ts [--timeout-s=600] [--memory-mib=2048] [--] COMMAND ARGS…
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Interfaces for the command. */
const INTERFACES = ["vcan0", "vcan1"];
/** Interface that is created and removed to check whether the kernel supports vcan. */
const PROBE_INTERFACE = "vbgprobe0";
/** Modules in the order of their dependencies; the last is for tests that slow down a bus with tc(8). */
const MODULES = [
  "net/can/can",
  "net/can/can-raw",
  "drivers/net/can/dev/can-dev",
  "drivers/net/can/vcan",
  "net/sched/sch_tbf",
];
/** Environment variables passed to the command, besides those that start with VBG_. */
const PASSED_VARIABLES = ["HOME", "PATH", "NODE_PATH", "NO_COLOR", "LANG", "USER"];
const PASSED_PREFIX = "VBG_";
/** Folders of Deno's cache that the command shares with this machine, and where its own cache is. */
const SHARED_CACHE = ["dl", "gen", "npm", "remote"];
const OWN_CACHE = "/run/deno";
/** Library that user-mode Linux needs on processors with AMX. */
const REGISTERS_SOURCE = fileURLToPath(new URL("vcan_registers.c", import.meta.url));
const APT_COMMAND = "apt-get install user-mode-linux can-utils kmod iproute2";
const DEFAULT_TIMEOUT_S = 900;
const DEFAULT_MEMORY_MIB = 2048;
/** Exit status after a timeout, as of timeout(1). */
const TIMEOUT_STATUS = 124;
/** Exit status when vcan is unavailable, as of the shell for a missing command. */
const UNAVAILABLE_STATUS = 127;
/** Lines of the kernel's console shown when it ended without a status. */
const CONSOLE_TAIL_LINES = 20;

interface Settings {
  command: string[];
  timeoutS: number;
  memoryMib: number;
}

/** User-mode Linux cannot be started, or ended early; the message says what to do. */
class VcanError extends Error {
  override name = "VcanError";
}

function parse(args: string[]): Settings {
  const settings: Settings = { command: [], timeoutS: DEFAULT_TIMEOUT_S, memoryMib: DEFAULT_MEMORY_MIB };
  let at = 0;
  for (; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      at++;
      break;
    }
    if (!arg.startsWith("-")) break;
    const [name, joined] = arg.split("=", 2);
    const value = Number(joined ?? args[++at]);
    if (!(value > 0)) throw new VcanError(`Cannot read "${arg}": expected a number above zero`);
    if (name === "--timeout-s") settings.timeoutS = value;
    else if (name === "--memory-mib") settings.memoryMib = value;
    else throw new VcanError(`Cannot read "${arg}": known are --timeout-s and --memory-mib`);
  }
  settings.command = args.slice(at);
  if (settings.command.length === 0) throw new VcanError("Cannot run: no command given");
  return settings;
}

/** Runs `ip`; returns whether it succeeded. */
async function ip(...args: string[]): Promise<boolean> {
  try {
    return (await new Deno.Command("ip", { args, stdout: "null", stderr: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function isUp(name: string): Promise<boolean> {
  const flags = await Deno.readTextFile(`/sys/class/net/${name}/flags`).catch(() => "0");
  return (Number(flags.trim()) & 1) === 1;
}

/** Creates the interfaces in this machine's kernel. Returns those created; undefined if the kernel has no vcan. */
async function prepareNative(): Promise<string[] | undefined> {
  if ((await Promise.all(INTERFACES.map(isUp))).every(Boolean)) return [];
  if (!await ip("link", "add", "dev", PROBE_INTERFACE, "type", "vcan")) return undefined;
  await ip("link", "del", PROBE_INTERFACE);
  const made: string[] = [];
  for (const name of INTERFACES) {
    if (await ip("link", "add", "dev", name, "type", "vcan")) made.push(name);
    await ip("link", "set", name, "up");
  }
  return made;
}

async function runNative({ command, timeoutS }: Settings, made: string[]): Promise<number> {
  const [program = "", ...args] = command;
  try {
    return await runChild(new Deno.Command(program, { args, stdin: "null" }), { timeoutS });
  } finally {
    for (const name of made) await ip("link", "del", name);
  }
}

/** Runs a program. Kills it at the time limit, or when this program receives SIGTERM or SIGINT. */
async function runChild(
  command: Deno.Command,
  { timeoutS, copy, kill = (pid) => Deno.kill(pid, "SIGTERM") }: {
    timeoutS: number;
    copy?: (child: Deno.ChildProcess) => Promise<unknown>;
    kill?: (pid: number) => void;
  },
): Promise<number> {
  const child = command.spawn();
  let stoppedStatus: number | undefined;
  const stop = (status: number) => {
    stoppedStatus ??= status;
    try {
      kill(child.pid);
    } catch {
      // It has ended by itself.
    }
  };
  const onTerminate = () => stop(128 + 15);
  const onInterrupt = () => stop(128 + 2);
  Deno.addSignalListener("SIGTERM", onTerminate);
  Deno.addSignalListener("SIGINT", onInterrupt);
  const timer = setTimeout(() => {
    console.error(`vcan: killed the command, it ran longer than ${timeoutS} s`);
    stop(TIMEOUT_STATUS);
  }, timeoutS * 1000);
  try {
    const [status] = await Promise.all([child.status, copy?.(child)]);
    return stoppedStatus ?? status.code;
  } finally {
    clearTimeout(timer);
    Deno.removeSignalListener("SIGTERM", onTerminate);
    Deno.removeSignalListener("SIGINT", onInterrupt);
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Cache directory of this machine's Deno. */
function denoCache(): string {
  const { DENO_DIR, XDG_CACHE_HOME, HOME = "/root" } = Deno.env.toObject();
  return DENO_DIR ?? join(XDG_CACHE_HOME ?? join(HOME, ".cache"), "deno");
}

/**
 * Script that the kernel starts as process 1. The command's output goes through two terminals in raw mode, separate from
 * the kernel's console; `cat` copies it, so that the command does not write to a terminal.
 * Deno inside has its own databases: file locks do not work across hostfs, so SQLite inside would truncate files that a
 * Deno outside has mapped, which then dies of SIGBUS.
 */
function initScript(folder: string, { command }: Settings): string {
  const variables = Object.entries(Deno.env.toObject())
    .filter(([name]) => PASSED_VARIABLES.includes(name) || name.startsWith(PASSED_PREFIX))
    .map(([name, value]) => `export ${name}=${quote(value)}`);
  return `#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ip link set lo up
${MODULES.map((path) => `insmod "/usr/lib/uml/modules/$(uname -r)/kernel/${path}.ko"`).join("\n")}
${INTERFACES.map((name) => `ip link add dev ${name} type vcan && ip link set ${name} up`).join("\n")}
stty -F /dev/tty1 raw -echo
stty -F /dev/tty2 raw -echo
mkfifo /run/out /run/err
mkdir ${OWN_CACHE}
${SHARED_CACHE.map((name) => `ln -s ${quote(join(denoCache(), name))} ${OWN_CACHE}/${name}`).join("\n")}
cat </run/out >/dev/tty1 & out=$!
cat </run/err >/dev/tty2 & err=$!
export HOME=/root
${variables.join("\n")}
export DENO_DIR=${OWN_CACHE}
(cd ${quote(Deno.cwd())} && exec ${command.map(quote).join(" ")}) </dev/null >/run/out 2>/run/err
status=$?
wait $out $err
stty -F /dev/tty1 sane
stty -F /dev/tty2 sane
echo $status >${quote(join(folder, "status"))}
sync
poweroff -f
`;
}

/** Environment of user-mode Linux; `folder` is for what it needs. */
async function environmentOf(folder: string): Promise<Record<string, string>> {
  if (!/^flags.*\bamx_tile\b/m.test(await Deno.readTextFile("/proc/cpuinfo"))) return {};
  const library = join(folder, "registers.so");
  const args = ["-shared", "-fPIC", "-O2", "-nostdlib", "-o", library, REGISTERS_SOURCE];
  if (!await exists("gcc")) {
    throw new VcanError('User-mode Linux needs "gcc" on a processor with AMX; install it with "apt-get install gcc"');
  }
  const { success, stderr } = await new Deno.Command("gcc", { args, stdin: "null" }).output();
  if (!success) throw new VcanError(`Cannot compile "${REGISTERS_SOURCE}": ${new TextDecoder().decode(stderr)}`);
  return { LD_PRELOAD: library };
}

async function runInside(settings: Settings): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "vcan_" });
  try {
    const init = join(folder, "init.sh");
    await Deno.writeTextFile(init, initScript(folder, settings), { mode: 0o755 });
    const console_ = join(folder, "console");
    const env = await environmentOf(folder);
    // The shell moves the streams to 3 and 4: the kernel prints to 1 and 2 before it reads the console options.
    const command = new Deno.Command("sh", {
      args: [
        "-c",
        `exec "$@" 3>&1 4>&2 >${quote(console_)} 2>&1`,
        "sh",
        "linux.uml",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        `mem=${settings.memoryMib}M`,
        "con=null",
        "con0=null,fd:2",
        "con1=null,fd:3",
        "con2=null,fd:4",
        "quiet",
        // Its directory of running kernels, by default in the home directory.
        `uml_dir=${folder}/`,
        `init=${init}`,
      ],
      env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    });
    const started = await runChild(command, {
      timeoutS: settings.timeoutS,
      kill: killKernel,
      copy: (child) => Promise.all([forward(child.stdout, Deno.stdout), forward(child.stderr, Deno.stderr)]),
    });
    const status = await Deno.readTextFile(join(folder, "status")).catch(() => "");
    if (status !== "") return Number(status);
    if (started === TIMEOUT_STATUS || started > 128) return started;
    const lines = (await Deno.readTextFile(console_).catch(() => "")).trimEnd().split("\n");
    throw new VcanError(`User-mode Linux ended early\n${lines.slice(-CONSOLE_TAIL_LINES).join("\n")}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Kills the kernel's process group: helpers of the main process would survive it. */
function killKernel(pid: number): void {
  try {
    Deno.kill(-pid, "SIGKILL");
  } catch {
    Deno.kill(pid, "SIGKILL");
  }
}

/** Copies a stream. `pipeTo` would close our own stream. */
async function forward(from: ReadableStream<Uint8Array>, to: { writeSync(bytes: Uint8Array): number }): Promise<void> {
  for await (const chunk of from) {
    for (let at = 0; at < chunk.length;) at += to.writeSync(chunk.subarray(at));
  }
}

async function exists(program: string): Promise<boolean> {
  const check = new Deno.Command("sh", { args: ["-c", `command -v ${program}`], stdout: "null", stderr: "null" });
  return (await check.output()).success;
}

async function main(): Promise<number> {
  const settings = parse(Deno.args);
  const made = await prepareNative();
  if (made) return await runNative(settings, made);
  if (!await exists("linux.uml")) {
    throw new VcanError(
      `Cannot make vcan0: this kernel has no vcan and "linux.uml" is not installed; install it with "${APT_COMMAND}"`,
    );
  }
  return await runInside(settings);
}

if (import.meta.main) {
  try {
    Deno.exit(await main());
  } catch (error) {
    if (!(error instanceof VcanError)) throw error;
    console.error(`vcan: ${error.message}`);
    Deno.exit(UNAVAILABLE_STATUS);
  }
}
