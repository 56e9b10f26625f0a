import { audit, type AuditReport } from "../../cli/commands/audit/compare.ts";
import { formatReport } from "../../cli/commands/audit/report.ts";
import { systemClock } from "../../src/base/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import type { Cable } from "./cable.ts";
import { eventually, pause } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";
import { START_MS, TestProgram } from "./program.ts";
import { BusFeed, type FeedOptions } from "./replication_feed.ts";
import { TcpProxy } from "./tcp_proxy.ts";

/** How a lab is set up. */
export interface LabOptions {
  /** Messages a second on each bus; default 400. */
  rate?: number;
  /** One for each bus; default one bus. */
  feeds?: readonly FeedOptions[];
  /** Added to the boat's flags; may name files of the lab's folder. */
  boatFlags?: LabFlags;
  /** Added to the cloud's flags. */
  cloudFlags?: LabFlags;
  /** Whether the cloud has a port for boats and another one for people, or one for all; default `dual`. */
  ports?: "dual" | "single";
  /** Called before anything is started. */
  prepare?: (folder: string) => void | Promise<void>;
  /** The boat's name; default `boat-1`. */
  id?: string;
  /** Data directory of the cloud; default one in the lab's folder. */
  dataDirectory?: string;
  /** Lays a cable between boat and cloud, whose far end leads to a port of ours; default none. */
  layCable?: (port: number) => Promise<Cable>;
  /** How long the certificates of both sides are good, days; default 90. */
  days?: number;
  /** Command that runs Deno for both sides; default the Deno that runs the test. */
  runtime?: readonly string[];
  /** Other checkouts that sides run from; default this one. */
  roots?: Partial<Record<Side, string>>;
}

/** Flags, or what they are in the lab's folder. */
type LabFlags = readonly string[] | ((folder: string) => readonly string[]);

/** What the cloud says of the boat. */
export interface InstanceStatus {
  connected: boolean;
  cursor: number;
  boat_head_seq: number;
  holes: { start: number; end: number }[];
  lag_seqs: number;
  /** Whether what comes can be recorded: `idle`, `recording` or `failing`. */
  recording: { state: string };
}

/** What the boat says of the cloud. */
export interface LinkStatus {
  connected: boolean;
  local_head_seq: number;
  cloud_cursor: number;
  /** What the cloud has acknowledged; null: it has not said. */
  cloud_durable_seq: number | null;
  holes: { start: number; end: number }[];
  live_lag: number;
  backfill_remaining_seqs: number;
}

/** Longest time for boat and cloud to agree. */
const PATIENCE_MS = 150_000;
/** Boats wait no longer for the next try, so that many rounds take no hour. */
const MAX_RECONNECT_DELAY = "PT2S";
const LOOK_EVERY_MS = 50;

type Side = "boat" | "cloud";

/**
 * A boat and a cloud as real processes with real TLS, a bus that is fed from outside, and a bad network between them.
 * What was put on the bus is written down, so that nothing depends on what the programs say of themselves.
 */
export class ReplicationLab implements AsyncDisposable {
  /** That of the first bus. */
  readonly feed: BusFeed;
  /** Those of all buses. */
  readonly feeds: readonly BusFeed[];
  readonly proxy: TcpProxy;
  /** Undefined where none was asked for. */
  readonly cable: Cable | undefined;
  /** Directory of everything. */
  readonly folder: string;
  readonly #flags: Record<Side, readonly string[]>;
  /** Checkouts that sides are started from, where not from this one; may be changed at any time. */
  readonly roots: Partial<Record<Side, string>>;
  readonly #runtime: readonly string[];
  readonly #id: string;
  readonly #dataDirectory: string;
  readonly #urls: Record<Side, string>;
  /** Programs come back to their ports. */
  readonly #ports: readonly HeldPort[];
  readonly #http: Deno.HttpClient;
  readonly #programs: Partial<Record<Side, TestProgram>> = {};
  readonly #logs: Record<Side, string[]> = { boat: [], cloud: [] };

  private constructor({ feeds, proxy, cable, folder, flags, runtime, roots, id, dataDirectory, urls, ports, ca }: {
    feeds: readonly [BusFeed, ...BusFeed[]];
    proxy: TcpProxy;
    cable: Cable | undefined;
    folder: string;
    flags: Record<Side, readonly string[]>;
    runtime: readonly string[];
    roots: Partial<Record<Side, string>>;
    id: string;
    dataDirectory: string;
    urls: Record<Side, string>;
    ports: readonly HeldPort[];
    ca: string;
  }) {
    this.feed = feeds[0];
    this.feeds = feeds;
    this.proxy = proxy;
    this.cable = cable;
    this.folder = folder;
    this.#flags = flags;
    this.#runtime = runtime;
    this.roots = roots;
    this.#id = id;
    this.#dataDirectory = dataDirectory;
    this.#urls = urls;
    this.#ports = ports;
    this.#http = Deno.createHttpClient({ caCerts: [ca] });
  }

  /** Starts everything; resolves when both answer, and the boat hears its bus. */
  static async start(options: LabOptions = {}): Promise<ReplicationLab> {
    const { rate = 400, boatFlags = [], cloudFlags = [], id = "boat-1", ports = "dual", prepare } = options;
    const folder = await Deno.makeTempDir({ prefix: "vbg_lab_" });
    const { dataDirectory = `${folder}/cloud`, runtime = [Deno.execPath()], roots = {} } = options;
    const certificates = await makeCertificates(`${folder}/ca`, { id, days: options.days ?? 90 });
    await prepare?.(folder);
    const held = { grpc: HeldPort.take(), boat: HeldPort.take(), cloud: HeldPort.take() };
    const grpcPort = held.grpc.port;
    const httpPorts = { boat: held.boat.port, cloud: held.cloud.port };
    const cable = await options.layCable?.(grpcPort);
    const doors = ports === "single"
      ? ["-listen", `127.0.0.1:${grpcPort}`]
      : ["-grpc-listen", `${cable?.near ?? "127.0.0.1"}:${grpcPort}`, "-http-listen", `127.0.0.1:${httpPorts.cloud}`];
    const urls = {
      boat: `http://127.0.0.1:${httpPorts.boat}`,
      cloud: ports === "single" ? `https://localhost:${grpcPort}` : `http://127.0.0.1:${httpPorts.cloud}`,
    };
    const flagsOf = (flags: LabFlags) => typeof flags === "function" ? flags(folder) : flags;
    const proxy = await TcpProxy.start(grpcPort, cable);
    const [first = {}, ...others] = options.feeds ?? [];
    const feeds: [BusFeed, ...BusFeed[]] = [
      BusFeed.start(`${folder}/truth`, first),
      ...others.map((each, i) => BusFeed.start(`${folder}/truth-${i + 1}`, each)),
    ];
    const flags = {
      boat: [
        ...feeds.flatMap(({ source }) => ["-interface", source]),
        ...["-discovery=false", "-listen", `127.0.0.1:${httpPorts.boat}`],
        ...["-state-dir", `${folder}/state`, "-journal-dir", `${folder}/journal`],
        ...["-replication-target", `127.0.0.1:${proxy.port}`, "-replication-instance-id", id],
        ...["-replication-tls-cert", certificates.boat.certPath, "-replication-tls-key", certificates.boat.keyPath],
        ...["-replication-tls-ca", certificates.boat.caPath, "-replication-max-reconnect-delay", MAX_RECONNECT_DELAY],
        ...flagsOf(boatFlags),
      ],
      cloud: [
        ...["-data-dir", dataDirectory, ...doors],
        ...["-tls-cert", certificates.server.certPath, "-tls-key", certificates.server.keyPath],
        ...["-tls-client-ca", certificates.server.caPath],
        ...flagsOf(cloudFlags),
      ],
    };
    const ca = await Deno.readTextFile(certificates.server.caPath);
    const parts = {
      feeds,
      proxy,
      cable,
      folder,
      flags,
      runtime,
      roots,
      id,
      dataDirectory,
      urls,
      ports: Object.values(held),
      ca,
    };
    const lab = new ReplicationLab(parts);
    try {
      await lab.begin("cloud");
      await lab.begin("boat");
      for (const each of feeds) each.rate = rate;
      return lab;
    } catch (error) {
      await lab[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What a side has written on standard error, over all its runs. */
  log(side: Side): string {
    return [...this.#logs[side], this.#programs[side]?.log ?? ""].join("\n--- next run\n");
  }

  /** Starts a side, and waits until it answers. */
  async begin(side: Side): Promise<void> {
    const program = await TestProgram.start(side, () => [...this.#flags[side]], {}, {
      runtime: this.#runtime,
      ...(this.roots[side] !== undefined && { root: this.roots[side] }),
    });
    this.#programs[side] = program;
    let isOver = false;
    void program.exitCode().then(() => isOver = true);
    await eventually(`the ${side}`, async () => {
      if (isOver) throw new Error(`The ${side} has ended:\n${program.log}`);
      return await this.text(side, "/livez") !== undefined;
    }, { deadlineMs: START_MS });
    if (side === "boat") await eventually("the boat on its bus", () => this.feeds.every(({ isHeard }) => isHeard));
  }

  /** Ends a side: as by a power cut, or in good order. Gives its exit code; undefined: it does not run. */
  async end(side: Side, how: "SIGKILL" | "SIGTERM"): Promise<number | undefined> {
    const program = this.#programs[side];
    if (!program) return undefined;
    delete this.#programs[side];
    try {
      program.signal(how);
    } catch {
      await program[Symbol.asyncDispose]();
      throw new Error(`The ${side} has ended by itself:\n${program.log}`);
    }
    const code = await program.exitCode();
    this.#logs[side].push(program.log);
    await program[Symbol.asyncDispose]();
    return code;
  }

  /** Where a side answers requests. */
  url(side: Side): string {
    return this.#urls[side];
  }

  /** What a side answers to a request; undefined where it does not answer, or something else than 200. */
  async text(side: Side, path: string): Promise<string | undefined> {
    try {
      const response = await fetch(`${this.#urls[side]}${path}`, { client: this.#http });
      if (response.ok) return await response.text();
      await response.body?.cancel();
    } catch {
      // It is not there now.
    }
    return undefined;
  }

  /** The same as a value. */
  async get<T>(side: Side, path: string): Promise<T | undefined> {
    const text = await this.text(side, path);
    return text === undefined ? undefined : JSON.parse(text);
  }

  /** What the cloud says of the boat; undefined while it does not know it. */
  cloudStatus(): Promise<InstanceStatus | undefined> {
    return this.get("cloud", `/instances/${this.#id}/status`);
  }

  /** What the boat says of the cloud. */
  boatStatus(): Promise<LinkStatus | undefined> {
    return this.get("boat", "/replication/status");
  }

  /** Waits until the boat streams live frames to the cloud. */
  connected(): Promise<InstanceStatus> {
    return this.#until("The boat is not connected", (_boat, cloud) => cloud.connected);
  }

  /** Lets the bus fall silent, and waits until the cloud has all that the boat has. */
  converged(): Promise<InstanceStatus> {
    for (const each of this.feeds) each.rate = 0;
    let last = -1;
    return this.#until("Boat and cloud do not agree", ({ local_head_seq: head }, { connected, cursor, holes }) => {
      // Some frames may still be on their way to the boat.
      const isSettled = head === last;
      last = head;
      return isSettled && connected && holes.length === 0 && cursor === head;
    });
  }

  /** Waits until both are in a state; tells all that is known when they never are. */
  async #until(
    what: string,
    isReached: (boat: LinkStatus, cloud: InstanceStatus) => boolean,
  ): Promise<InstanceStatus> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const [boat, cloud] = await Promise.all([this.boatStatus(), this.cloudStatus()]);
      if (boat && cloud && isReached(boat, cloud)) return cloud;
      if (performance.now() > deadline) {
        const states = JSON.stringify({ boat, cloud }, undefined, 1);
        throw new Error(
          `${what} after ${PATIENCE_MS / 1000} s: ${states}\n` +
            `boat:\n${tailOf(this.log("boat"))}\ncloud:\n${tailOf(this.log("cloud"))}`,
        );
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /** Ends both in good order, and compares what they have with each other and with what was on the bus. */
  async audit(): Promise<AuditReport & { text: string }> {
    for (const side of ["boat", "cloud"] as const) {
      const code = await this.end(side, "SIGTERM");
      if (code !== undefined && code !== 0) {
        throw new Error(`The ${side} ended with code ${code}:\n${tailOf(this.log(side))}`);
      }
    }
    const dirs = { boat: `${this.folder}/journal`, cloud: `${this.#dataDirectory}/${this.#id}` };
    // The truth of one bus alone: frames of others would be strange to it.
    const truth = this.feeds.length === 1 ? { truth: this.feed.truthPath } : {};
    const report = await audit({ ...dirs, ...truth });
    return { ...report, text: formatReport(report) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of Object.values(this.#programs)) await program[Symbol.asyncDispose]();
    for (const each of this.feeds) await each[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.cable?.[Symbol.asyncDispose]();
    this.#http.close();
    for (const port of this.#ports) port[Symbol.dispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

function tailOf(log: string): string {
  return log.split("\n").slice(-20).join("\n");
}

async function makeCertificates(directory: string, { id, days }: { id: string; days: number }) {
  const validity = { days, isForced: false };
  await initAuthority(directory, { name: "lab", days: 180, clock: systemClock });
  using authority = await Authority.open(directory, { clock: systemClock });
  const server = await authority.issueServer({ hosts: ["localhost"], ips: ["127.0.0.1"] }, validity);
  return { server, boat: await authority.issueBoat(id, validity) };
}
