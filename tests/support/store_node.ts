import { systemClock } from "../../src/base/mod.ts";
import { connectCloud } from "../../src/client/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import { Fleet } from "../../src/simulation/fleet/mod.ts";
import { CEPH_WRITER } from "./ceph.ts";
import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";
import { START_MS, TestProgram } from "./program.ts";
import { FLEET_SEED, framesOfHistory, type SeenFrame } from "./store_oracle.ts";

/** Bucket of the stores of tests. */
export const STORE_BUCKET = "boats";
const VALIDITY = { days: 90, isForced: false };

/** How a node is started. */
export interface StoreNodeOptions {
  /** `http://HOST:PORT` of the store; also a proxy's. Undefined: files on the local disk. */
  endpoint: string | undefined;
  /** Part of the bucket; default `fleet`. */
  prefix?: string;
  /** Time between two PUTs of a boat, seconds; default 2. */
  intervalS?: number;
  /** Further flags. */
  flags?: readonly string[];
  /** Directory of an authority with a server's certificate; default one of its own. */
  authority?: string;
}

/** Creates an authority, and a certificate for clouds on this machine. */
export async function createAuthority(directory: string): Promise<void> {
  await initAuthority(directory, { name: "fleet", days: 180, clock: systemClock });
  using authority = await Authority.open(directory, { clock: systemClock });
  await authority.issueServer({ hosts: ["localhost"], ips: ["127.0.0.1"] }, VALIDITY);
}

/** A cloud with an object store as a process, which comes back to its ports with an empty disk or with what it had. */
export class StoreNode implements AsyncDisposable {
  /** Directory of everything; those of the node are `node`. */
  readonly folder: string;
  readonly #options: StoreNodeOptions;
  readonly #ports: { grpc: HeldPort; http: HeldPort };
  #program: TestProgram | undefined;
  #logs: string[] = [];

  private constructor(folder: string, options: StoreNodeOptions) {
    this.folder = folder;
    this.#options = options;
    this.#ports = { grpc: HeldPort.take(), http: HeldPort.take() };
  }

  /** Starts it with an authority of its own; resolves when it answers. */
  static async start(options: StoreNodeOptions): Promise<StoreNode> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_node_" });
    if (options.authority === undefined) await createAuthority(`${folder}/ca`);
    const node = new StoreNode(folder, options);
    await node.begin();
    return node;
  }

  /** Directory of the authority of boats. */
  get authority(): string {
    return this.#options.authority ?? `${this.folder}/ca`;
  }

  /** Where boats connect. */
  get target(): string {
    return `127.0.0.1:${this.#ports.grpc.port}`;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.http.port}`;
  }

  /** Its process, while it runs. */
  get pid(): number {
    return this.#program?.pid ?? NaN;
  }

  /** What all its runs have written on standard error. */
  get log(): string {
    return [...this.#logs, this.#program?.log ?? ""].join("\n--- next run\n");
  }

  /** Starts it, and waits until it answers. */
  async begin({ deadlineMs = START_MS }: { deadlineMs?: number } = {}): Promise<void> {
    const server = `${this.authority}/server`;
    const { endpoint, prefix = "fleet", intervalS = 2, flags = [] } = this.#options;
    const { accessKeyId, secretAccessKey } = CEPH_WRITER;
    const program = this.#program = await TestProgram.start("cloud", () => [
      ...["-data-dir", `${this.folder}/node/data`, "-spool-dir", `${this.folder}/node/spool`],
      ...["-grpc-listen", this.target, "-http-listen", this.url.slice("http://".length)],
      ...["-tls-cert", `${server}/cert.pem`, "-tls-key", `${server}/key.pem`, "-tls-client-ca", `${server}/ca.pem`],
      ...endpoint === undefined
        ? ["-spool-dir", ""]
        : ["-store", `s3://${STORE_BUCKET}/${prefix}`, "-store-endpoint", endpoint, "-store-interval", `${intervalS}s`],
      ...flags,
    ], { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_REGION: "us-east-1" });
    let isOver = false;
    void program.exitCode().then(() => isOver = true);
    await eventually("the node", async () => {
      if (isOver) throw new Error(`The node has ended:\n${program.log}`);
      return await fetch(`${this.url}/livez`).then((answer) => answer.text().then(() => answer.ok), () => false);
    }, { deadlineMs });
  }

  /** Sends a signal to it: SIGSTOP and SIGCONT freeze it and let it go on. */
  signal(signal: Deno.Signal): void {
    this.#program?.signal(signal);
  }

  /** Kills it as a power cut does. */
  async kill(): Promise<void> {
    const program = this.#program;
    if (!program) return;
    program.signal("SIGKILL");
    await program.exitCode();
    this.#logs.push(program.log);
    await program[Symbol.asyncDispose]();
    this.#program = undefined;
  }

  /** Kills it, and removes all that it has on its disk. */
  async lose(): Promise<void> {
    await this.kill();
    await Deno.remove(`${this.folder}/node`, { recursive: true });
  }

  /** Components of `/healthz`. */
  async health(): Promise<Record<string, { status: string; message?: string }>> {
    return (await (await fetch(`${this.url}/healthz`)).json()).components;
  }

  /** What it says of a boat; undefined: it does not know it. */
  async status(id: string): Promise<{ connected: boolean; stored_seq: number | null } | undefined> {
    return await fetch(`${this.url}/instances/${id}/status`).then((answer) => answer.ok ? answer.json() : undefined);
  }

  /** Frames of a boat as it serves them, oldest first. */
  async history(id: string, options: { limit?: number } = {}): Promise<SeenFrame[]> {
    return await framesOfHistory(connectCloud(this.url).boat(id).history({ from: new Date(0), ...options }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
    for (const port of Object.values(this.#ports)) port[Symbol.dispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}

/** Connects boats to a node; each deletes its frames as soon as it is told that they are stored. */
export async function startFleet(
  node: Pick<StoreNode, "target" | "authority">,
  { boats, rate, collectMs = 20, maxReconnectMs }: {
    boats: number;
    rate: number;
    collectMs?: number;
    maxReconnectMs?: number;
  },
): Promise<Fleet> {
  const fleet = await Fleet.start({
    target: node.target,
    ids: Array.from({ length: boats }, (_, index) => `boat-${index + 1}`),
    trust: { kind: "authority", directory: node.authority },
    seed: FLEET_SEED,
    rate,
    collectMs,
    isForgetting: true,
    ...(maxReconnectMs !== undefined && { maxReconnectMs }),
    clock: systemClock,
    signal: new AbortController().signal,
  });
  await fleet.connect({ graceMs: START_MS, signal: new AbortController().signal });
  return fleet;
}

/** The number up to which each boat was told that its frames are stored. */
export function toldOf(fleet: Fleet): { id: string; epoch: Uint8Array; through: number }[] {
  return fleet.boats.map(({ id, epoch, objectsThrough }) => ({ id, epoch, through: objectsThrough }));
}
