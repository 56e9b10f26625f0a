import { fileURLToPath } from "node:url";
import { eventually, pause } from "../support/eventually.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { TestProgram } from "../support/program.ts";
import { fedNumber } from "./fed_frame.ts";

/** What is attacked. */
export interface Target {
  /** Of the HTTP server. */
  url: string;
  hostname: string;
  port: number;
  /** Where boats replicate to, without TLS; of a cloud alone. */
  grpcPort: number | undefined;
  pid: number;
  /** Aborted when the attack is to end. */
  signal: AbortSignal;
  /** Disposed of when the attack has ended, before the feeder stops: for connections that are held open. */
  stack: AsyncDisposableStack;
}

/** How a server is attacked. */
export interface AttackOptions {
  /** The program; default the boat server. A cloud has a boat of its own that replicates to it. */
  program?: "boat" | "cloud";
  /** What each bus brings meanwhile; default 2000. */
  framesPerSecond?: number;
  /** How many buses there are; default 1. */
  buses?: number;
  /** How long the attack takes. */
  timeMs: number;
  /**
   * The program has a core to itself, and everything that attacks and feeds it another: so the attack's own CPU time is not
   * in the times of `/livez`. Needs two cores.
   */
  isApart?: boolean;
  /** More flags of the program. */
  flags?: readonly string[];
  /** Attacks; when it returns early, the feeder goes on until the time is over. What it throws is thrown. */
  attack: (target: Target) => Promise<void> | void;
}

/** What came of an attack. */
export interface AttackReport {
  /** Frames that the feeders sent, by their own count. */
  fed: number;
  /** How many of them are in the journal: of the program that was attacked. */
  recorded: number;
  /** Frames that are there more than once. In a cloud: with several numbers; blocks on its disk may overlap. */
  duplicated: number;
  /** Frames whose sequence number is not as far from the first one's as they are from the first frame. */
  misnumbered: number;
  /** Answers of `/livez`, every 50 ms, over a connection of its own each. */
  samples: number;
  /** Questions that were not answered with 200 within 30 s. */
  livezFailed: number;
  livezP99Ms: number;
  livezMaxMs: number;
  /** Most memory of the program, resident. */
  rssMaxMb: number;
  /** Exit code of the program at SIGTERM. */
  exitCode: number;
  /** What the program has logged. */
  log: string;
}

/** How long an attack may take after it was told to end. */
const GRACE_MS = 10_000;
/** How long frames may be on their way once the feeder has stopped. */
const ARRIVAL_MS = 60_000;
/** Where the server runs, and everything else, when they are apart. */
const SERVER_CORE = 1;
const ATTACKERS_CORE = 0;
const BOAT_ID = "attacked";
const FOLDER = "journal";

/**
 * Starts a server whose bus brings frames from a process of its own, attacks it, stops it, and counts what it has recorded.
 * Everything that is started ends with it.
 *
 * @throws {Error} a process failed, or the attack threw or did not end
 */
export async function underAttack(
  { program = "boat", framesPerSecond = 2000, buses = 1, timeMs, isApart = false, flags = [], attack }: AttackOptions,
): Promise<AttackReport> {
  await using all = new AsyncDisposableStack();
  if (isApart) all.use(await ownCore(ATTACKERS_CORE));
  const feeders = Array.from(
    { length: buses },
    (_, bus) => all.use(new Helper("feeder.ts", String(framesPerSecond), String(bus))),
  );
  const ports = await Promise.all(feeders.map(async (feeder) => (await feeder.next<{ port: number }>()).port));
  const core = isApart ? SERVER_CORE : undefined;
  const cloud = program === "cloud" ? all.use(await startCloud({ flags, core })) : undefined;
  const grpcPort = cloud && await grpcPortOf(cloud);
  const boat = all.use(await startBoat(ports, grpcPort === undefined ? { flags, core } : { flags: [], grpcPort }));
  const attacked = cloud ?? boat;
  const [url, boatUrl] = [await attacked.url(), await boat.url()];
  await eventually("the first frames", async () => (await boatOf(boatUrl))?.frames);
  const probe = all.use(new Helper("probe.ts", url, String(attacked.pid)));
  await probe.ready();
  await runAttack({ url, grpcPort, pid: attacked.pid }, { attack, timeMs });
  for (const feeder of feeders) feeder.say();
  const counts = await Promise.all(feeders.map(async (feeder) => (await feeder.next<{ fed: number }>()).fed));
  const fed = counts.reduce((sum, count) => sum + count, 0);
  await arrived(fed, { boatUrl, cloudUrl: cloud && url });
  probe.say();
  const seen = await probe.next<
    Pick<AttackReport, "samples" | "livezFailed" | "livezP99Ms" | "livezMaxMs" | "rssMaxMb">
  >();
  boat.signal("SIGTERM");
  const boatCode = await boat.exitCode();
  cloud?.signal("SIGTERM");
  const exitCode = cloud ? await cloud.exitCode() : boatCode;
  const directory = cloud ? `${cloud.folder}/boats` : `${boat.folder}/${FOLDER}`;
  const found = countRecorded(directory, { counts, mayOverlap: cloud !== undefined });
  return { fed, ...found, ...seen, exitCode, log: attacked.log };
}

/** Lets this process, and what it starts from now on, run on one core, until that is disposed of. */
async function ownCore(core: number): Promise<AsyncDisposable> {
  const pin = async (list: string) => {
    const args = ["--all-tasks", "--cpu-list", "--pid", list, String(Deno.pid)];
    const { success, stderr } = await new Deno.Command("taskset", { args }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  };
  await pin(String(core));
  return { [Symbol.asyncDispose]: () => pin(`0-${navigator.hardwareConcurrency - 1}`) };
}

async function runAttack(
  { url, grpcPort, pid }: Pick<Target, "url" | "grpcPort" | "pid">,
  { attack, timeMs }: Pick<AttackOptions, "attack" | "timeMs">,
): Promise<void> {
  const { hostname, port } = new URL(url);
  const ending = new AbortController();
  await using stack = new AsyncDisposableStack();
  const { signal } = ending;
  const target = { url, hostname, port: Number(port), grpcPort, pid, signal, stack };
  const attacking = (async () => await attack(target))();
  // Thrown where it is waited for.
  attacking.catch(() => {});
  await pause(timeMs);
  ending.abort();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The attack goes on ${GRACE_MS / 1000} s after its end`)), GRACE_MS);
  });
  try {
    await Promise.race([attacking, late]);
  } finally {
    clearTimeout(timer);
  }
}

function startBoat(
  gatewayPorts: readonly number[],
  { flags, core, grpcPort }: { flags: readonly string[]; core?: number | undefined; grpcPort?: number },
): Promise<TestProgram> {
  const replication = ["-replication-target", `127.0.0.1:${grpcPort}`, "-replication-instance-id", BOAT_ID];
  return TestProgram.start(
    "boat",
    (folder) => [
      ...gatewayPorts.flatMap((port, bus) => ["-interface", `tcp://127.0.0.1:${port}?name=fed${bus}#ydwg`]),
      ...["-discovery=false", "-mdns=false"],
      ...["-listen", "127.0.0.1:0", "-state-dir", `${folder}/state`, "-journal-dir", `${folder}/${FOLDER}`],
      ...(grpcPort === undefined ? [] : [...replication, "-replication-insecure"]),
      ...flags,
    ],
    {},
    { core },
  );
}

function startCloud(
  { flags, core }: { flags: readonly string[]; core: number | undefined },
): Promise<TestProgram> {
  const listen = ["-http-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-insecure"];
  return TestProgram.start("cloud", (folder) => ["-data-dir", `${folder}/boats`, ...listen, ...flags], {}, { core });
}

async function grpcPortOf(cloud: TestProgram): Promise<number> {
  return Number(
    await eventually("the port for boats", () => /"listening for boats".*?"port":(\d+)/.exec(cloud.log)?.[1]),
  );
}

/** How many frames a boat has taken; undefined when it does not say. */
async function boatOf(url: string): Promise<{ frames: number; head: number } | undefined> {
  try {
    const reply = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(GRACE_MS) });
    const { broker } = await reply.json();
    return { frames: broker.frames_total, head: broker.head_seq };
  } catch {
    return undefined;
  }
}

async function isInCloud(url: string, head: number): Promise<boolean> {
  try {
    const reply = await fetch(`${url}/instances/${BOAT_ID}/status`, { signal: AbortSignal.timeout(GRACE_MS) });
    return (await reply.json()).ack_seq >= head;
  } catch {
    return false;
  }
}

/** Waits until everything is where it is to be, or for a generous while: what is missing is counted afterwards. */
async function arrived(
  fed: number,
  { boatUrl, cloudUrl }: { boatUrl: string; cloudUrl: string | undefined },
): Promise<void> {
  const deadline = performance.now() + ARRIVAL_MS;
  while (performance.now() < deadline) {
    const boat = await boatOf(boatUrl);
    if (boat && boat.frames >= fed && (cloudUrl === undefined || await isInCloud(cloudUrl, boat.head))) return;
    await pause(50);
  }
}

/** Counts the feeders' frames in all journal files below a directory, without our own reader. */
function countRecorded(
  directory: string,
  { counts, mayOverlap }: { counts: readonly number[]; mayOverlap: boolean },
): Pick<AttackReport, "recorded" | "duplicated" | "misnumbered"> {
  // By feeder and its number; 0: not found.
  const seqs = counts.map((fed) => new Float64Array(fed));
  let duplicated = 0;
  for (const path of journalsBelow(directory)) {
    for (const frame of readLpj(Deno.readFileSync(path)).blocks.flatMap(({ frames }) => frames)) {
      for (const [feeder, ofFeeder] of seqs.entries()) {
        const number = fedNumber(frame, feeder);
        if (number === undefined || number >= ofFeeder.length) continue;
        const [before, seq] = [ofFeeder[number], Number(frame.seq)];
        if (before !== 0 && !(mayOverlap && before === seq)) duplicated++;
        ofFeeder[number] = seq;
      }
    }
  }
  const found = seqs.map((ofFeeder) => ofFeeder.filter((seq) => seq !== 0));
  const recorded = found.reduce((sum, { length }) => sum + length, 0);
  // Numbers ascend in the order of each feeder, and all of them together leave none out.
  const disordered = found.reduce(
    (sum, each) => sum + each.filter((seq, i) => i > 0 && seq <= (each[i - 1] ?? 0)).length,
    0,
  );
  const [least, most] = found.reduce(
    ([low, high], each) => [Math.min(low, each[0] ?? Infinity), Math.max(high, each.at(-1) ?? 0)],
    [Infinity, 0],
  );
  return { recorded, duplicated, misnumbered: disordered + Math.abs(most - least + 1 - recorded) };
}

function journalsBelow(directory: string): string[] {
  return [...Deno.readDirSync(directory)].flatMap(({ name, isDirectory }) =>
    isDirectory ? journalsBelow(`${directory}/${name}`) : name.endsWith(".lpj") ? [`${directory}/${name}`] : []
  );
}

/** A script of this folder in a process of its own, which is told to stop by a line and answers by lines. */
class Helper implements AsyncDisposable {
  readonly #name: string;
  readonly #child: Deno.ChildProcess;
  readonly #lines: ReadableStreamDefaultReader<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  #rest = "";

  constructor(name: string, ...args: string[]) {
    const script = fileURLToPath(new URL(name, import.meta.url));
    const words = ["run", "-A", "--quiet", "--no-check", script, ...args];
    const piped = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    this.#name = name;
    this.#child = new Deno.Command(Deno.execPath(), { args: words, ...piped }).spawn();
    this.#lines = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#input = this.#child.stdin.getWriter();
  }

  /** Its next line, which is JSON. */
  async next<T>(): Promise<T> {
    return JSON.parse(await this.#line());
  }

  /** Waits for a line. */
  async ready(): Promise<void> {
    await this.#line();
  }

  /** Tells it to stop. */
  say(): void {
    this.#input.write(new TextEncoder().encode("stop\n")).catch(() => {});
  }

  async #line(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf("\n");
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line;
      }
      const { value, done } = await this.#lines.read();
      if (done) throw new Error(`${this.#name} has ended`);
      this.#rest += value;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#child.status;
    await this.#lines.cancel();
    await this.#input.abort().catch(() => {});
  }
}
