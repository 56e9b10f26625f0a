import { systemClock } from "../../src/base/mod.ts";
import { Authority, AUTHORITY_FILES, type CertificateFolder, initAuthority } from "../../src/pki/mod.ts";
import type { CloudOptions } from "../../src/cloud_server/cloud.ts";
import { formatHead, HEAD_FILE } from "../../src/journal/mod.ts";
import { FRAMES_AN_HOUR } from "./day.ts";
import { type BenchProcess, sleep, startProcess } from "./process.ts";
import type { BoatSettings } from "./replication_boat.ts";
import type { FleetResult, FleetSettings } from "./replication_fleet.ts";
import type { HoursSettings } from "./replication_hours.ts";

/** What a cloud says of a boat. */
export interface InstanceStatus {
  connected: boolean;
  /** Every frame up to and with this one is there. */
  cursor: number;
  /** Highest number that came live. */
  received_through: number;
}

/** Processes that write a journal at the same time. */
const WRITERS = 2;
const LOOK_EVERY_MS = 20;
const VALIDITY = { days: 30, isForced: false };

/** A cloud in a process of its own, with the certificates of boats that come to it; all in a folder that goes with it. */
export class BenchCloud implements AsyncDisposable {
  readonly folder: string;
  readonly process: BenchProcess;
  /** Where boats come to. */
  readonly target: string;
  readonly #certificates: Map<string, CertificateFolder>;
  readonly #http: string;

  private constructor(
    parts: { folder: string; process: BenchProcess; host: string },
    certificates: Iterable<
      [string, CertificateFolder]
    >,
  ) {
    const { folder, process, host } = parts;
    this.folder = folder;
    this.process = process;
    this.#certificates = new Map(certificates);
    const { grpc, http }: Record<"grpc" | "http", { port: number }> = JSON.parse(process.line);
    this.target = `${host}:${grpc.port}`;
    this.#http = `http://127.0.0.1:${http.port}`;
  }

  /**
   * @param ids boats that will come
   * @param options.host address for boats
   * @param options.under see {@linkcode startProcess}
   */
  static async start(
    ids: readonly string[],
    { host = "127.0.0.1", under = [], ...options }: Partial<CloudOptions> & { host?: string; under?: string[] } = {},
  ): Promise<BenchCloud> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_bench_" });
    await initAuthority(`${folder}/ca`, { name: "bench", days: 60, clock: systemClock });
    using authority = await Authority.open(`${folder}/ca`, { clock: systemClock });
    const server = await authority.issueServer({ hosts: [], ips: [host] }, VALIDITY);
    const boats: [string, CertificateFolder][] = [];
    for (const id of ids) boats.push([id, await authority.issueBoat(id, VALIDITY)]);
    const ports: CloudOptions["ports"] = {
      kind: "dual",
      grpc: { hostname: host, port: 0 },
      http: { hostname: "127.0.0.1", port: 0 },
      tls: { certPath: server.certPath, keyPath: server.keyPath },
      trust: { clientCaPath: server.caPath },
    };
    const settings: CloudOptions = { dataDirectory: `${folder}/cloud`, ports, ...options };
    const process = await startProcess("./replication_cloud.ts", [JSON.stringify(settings)], { under });
    return new BenchCloud({ folder, process, host }, boats);
  }

  /** The live frames of a boat. */
  eventsUrl(id: string): string {
    return `${this.#http}/instances/${id}/events`;
  }

  /** What is known of a boat; undefined while it is none. */
  async status(id: string): Promise<InstanceStatus | undefined> {
    const response = await fetch(`${this.#http}/instances/${id}/status`);
    if (response.ok) return await response.json();
    await response.body?.cancel();
    return undefined;
  }

  /** Waits until a boat is as wanted. */
  async until(id: string, isWanted: (status: InstanceStatus) => boolean): Promise<InstanceStatus> {
    for (;;) {
      const status = await this.status(id);
      if (status && isWanted(status)) return status;
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Starts a boat, whose folder has its journal, if there is one. */
  async startBoat(
    id: string,
    { directory, framesPerSecond, under = [] }: Omit<BoatSettings, "replication"> & { under?: readonly string[] },
  ): Promise<BenchProcess> {
    const { certPath, keyPath, caPath } = this.#certificateOf(id);
    const tls = { certPath, keyPath, caPath };
    const settings: BoatSettings = {
      directory,
      framesPerSecond,
      replication: { target: this.target, instanceId: id, tls },
    };
    for (const part of ["journal", "state"]) await Deno.mkdir(`${directory}/${part}`, { recursive: true });
    return await startProcess("./replication_boat.ts", [JSON.stringify(settings)], { under });
  }

  /** Has all boats send in one other process. */
  async sail(
    { under = [], ...settings }: Omit<FleetSettings, "target" | "caPath" | "boats"> & { under?: readonly string[] },
  ): Promise<FleetResult> {
    const boats = Array.from(this.#certificates, ([id, { certPath, keyPath }]) => ({ id, certPath, keyPath }));
    const caPath = `${this.folder}/ca/${AUTHORITY_FILES.cert}`;
    const all: FleetSettings = { ...settings, target: this.target, caPath, boats };
    const process = await startProcess("./replication_fleet.ts", [JSON.stringify(all)], { under });
    await process.stop();
    return JSON.parse(process.line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.stop();
    await Deno.remove(this.folder, { recursive: true });
  }

  #certificateOf(id: string): CertificateFolder {
    const certificate = this.#certificates.get(id);
    if (!certificate) throw new Error(`No certificate was made for "${id}"`);
    return certificate;
  }
}

/** Writes hours of a boat's journal, and what makes the boat go on behind them. Gives the frames and their bytes. */
export async function writeHours(
  directory: string,
  { hours, packing }: Pick<HoursSettings, "hours" | "packing">,
): Promise<{ frames: number; bytes: number }> {
  const [journal, state] = [`${directory}/journal`, `${directory}/state`];
  for (const part of [journal, state]) await Deno.mkdir(part, { recursive: true });
  const epoch = "b0a7".repeat(8);
  const share = Math.ceil(hours / WRITERS);
  await Promise.all(Array.from({ length: WRITERS }, async (_, i) => {
    const mine = {
      directory: journal,
      epoch,
      firstHour: i * share,
      hours: Math.min(share, hours - i * share),
      packing,
    };
    const process = await startProcess("./replication_hours.ts", [JSON.stringify(mine)]);
    await process.stop();
  }));
  const frames = hours * FRAMES_AN_HOUR;
  const head = formatHead({ epoch, reservedThrough: frames, cleanHead: frames, previous: [] });
  await Deno.writeTextFile(`${state}/${HEAD_FILE}`, head);
  let bytes = 0;
  for await (const { name } of Deno.readDir(journal)) bytes += (await Deno.stat(`${journal}/${name}`)).size;
  return { frames, bytes };
}

/** A machine of its own for a boat, whose cable carries so much. */
export class FarMachine implements AsyncDisposable {
  /** Our address on the cable. */
  readonly host = "10.78.0.1";
  readonly #name = `vbg${Deno.pid}far`;
  readonly #cable = `vbg${Deno.pid}`;

  /**
   * Makes it; only root may.
   *
   * @param shape how the traffic of either side is shaped, as `tc` wants it
   */
  static async make(shape: string): Promise<FarMachine> {
    const machine = new FarMachine();
    const name = machine.#name;
    const [near, far] = ["a", "b"].map((side) => machine.#cable + side);
    const qdisc = `root ${shape}`.split(" ");
    await run("ip", "netns", "add", name);
    await run("ip", "link", "add", `${near}`, "type", "veth", "peer", "name", `${far}`, "netns", name);
    await run("ip", "address", "add", `${machine.host}/24`, "dev", `${near}`);
    await run("ip", "link", "set", `${near}`, "up");
    await run("ip", "-n", name, "address", "add", "10.78.0.2/24", "dev", `${far}`);
    await run("ip", "-n", name, "link", "set", `${far}`, "up");
    await run("ip", "-n", name, "link", "set", "lo", "up");
    await run("tc", "qdisc", "add", "dev", `${near}`, ...qdisc);
    await run("tc", "-n", name, "qdisc", "add", "dev", `${far}`, ...qdisc);
    return machine;
  }

  /** What a command is to be run under to run there. */
  get under(): string[] {
    return ["ip", "netns", "exec", this.#name];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("ip", "netns", "del", this.#name);
  }
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
