import { systemClock } from "../../src/base/mod.ts";
import { Authority } from "../../src/pki/mod.ts";
import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";
import { START_MS } from "./program.ts";
import { TcpProxy } from "./tcp_proxy.ts";
import { createAuthority, StoreNode, type StoreNodeOptions } from "./store_node.ts";

/** Options of a {@linkcode StoreCluster}. */
export interface StoreClusterOptions extends Pick<StoreNodeOptions, "endpoint" | "prefix" | "intervalS" | "flags"> {
  /** Number of nodes. */
  nodes: number;
  /** The network of each node may be cut; default false. */
  isCuttable?: boolean;
}

/** What others connect to: a node, or proxies in front of it that may be cut. */
interface NodeAddresses {
  boats: number;
  http: number;
  proxies: readonly TcpProxy[];
}

/** Program that the balancer needs. */
export const BALANCER_PROGRAM = "haproxy";

/** Several nodes with one store, behind a TCP balancer that asks each for its readiness twice a second. */
export class StoreCluster implements AsyncDisposable {
  readonly nodes: readonly StoreNode[];
  readonly #addresses: readonly NodeAddresses[];
  readonly #folder: string;
  readonly #ports: { boats: HeldPort; http: HeldPort; nodes: readonly HeldPort[] };
  readonly #balancer: Deno.ChildProcess;

  private constructor(
    folder: string,
    parts: {
      nodes: readonly StoreNode[];
      addresses: readonly NodeAddresses[];
      ports: { boats: HeldPort; http: HeldPort; nodes: readonly HeldPort[] };
      balancer: Deno.ChildProcess;
    },
  ) {
    this.#folder = folder;
    this.nodes = parts.nodes;
    this.#addresses = parts.addresses;
    this.#ports = parts.ports;
    this.#balancer = parts.balancer;
  }

  /** Starts all; resolves when each node knows the others. */
  static async start(
    { nodes: count, flags = [], isCuttable = false, ...options }: StoreClusterOptions,
  ): Promise<StoreCluster> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_cluster_" });
    const authority = `${folder}/ca`;
    await createAuthority(authority);
    const held = Array.from({ length: count }, () => HeldPort.take());
    {
      using issuer = await Authority.open(authority, { clock: systemClock });
      for (let at = 1; at <= count; at++) {
        await issuer.issueNode(`node-${at}`, { names: { hosts: [], ips: ["127.0.0.1"] }, days: 90, isForced: false });
      }
    }
    const inner = isCuttable ? await Promise.all(held.map(({ port }) => TcpProxy.start(port))) : [];
    const nodes = await Promise.all(held.map(({ port }, at) => {
      const own = `${authority}/nodes/node-${at + 1}`;
      const node = [
        ...["-node-url", `https://127.0.0.1:${inner[at]?.port ?? port}`, "-node-listen", `127.0.0.1:${port}`],
        ...["-node-cert", `${own}/cert.pem`, "-node-key", `${own}/key.pem`],
      ];
      return StoreNode.start({ ...options, authority, flags: [...node, ...flags] });
    }));
    const ports = { boats: HeldPort.take(), http: HeldPort.take(), nodes: held };
    const addresses = await Promise.all(nodes.map(async ({ target, url }, at): Promise<NodeAddresses> => {
      const [boats, http] = [portOf(`tcp://${target}`), portOf(url)];
      const proxy = inner[at];
      if (!proxy) return { boats, http, proxies: [] };
      const [outerBoats, outerHttp] = [await TcpProxy.start(boats), await TcpProxy.start(http)];
      return { boats: outerBoats.port, http: outerHttp.port, proxies: [proxy, outerBoats, outerHttp] };
    }));
    const balancer = await startBalancer(folder, { addresses, boats: ports.boats.port, http: ports.http.port });
    const cluster = new StoreCluster(folder, { nodes, addresses, ports, balancer });
    await eventually("nodes that know each other", async () => {
      const metrics = await Promise.all(
        nodes.map(({ url }) => fetch(`${url}/metrics`).then((answer) => answer.text())),
      );
      return metrics.every((text) => text.includes(`vbg_cloud_nodes_answering ${count - 1}\n`));
    }, { deadlineMs: START_MS });
    return cluster;
  }

  /** Directory of the authority of boats. */
  get authority(): string {
    return `${this.#folder}/ca`;
  }

  /** Where boats connect, to any node. */
  get target(): string {
    return `127.0.0.1:${this.#ports.boats.port}`;
  }

  /** Where readers connect, to any node. */
  get url(): string {
    return `http://127.0.0.1:${this.#ports.http.port}`;
  }

  /** Where readers reach a node, given by its position: not while its network is cut. */
  urlOf(at: number): string {
    return `http://127.0.0.1:${this.#addresses[at]?.http}`;
  }

  /** Swallows all bytes to and from a node, given by its position, or lets new connections pass again. */
  cut(at: number, isCut: boolean): void {
    for (const proxy of this.#addresses[at]?.proxies ?? []) {
      proxy.mode = isCut ? "swallow" : "pass";
      if (!isCut) proxy.cut("rst");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#balancer.kill("SIGKILL");
    await this.#balancer.status;
    for (const node of this.nodes) await node[Symbol.asyncDispose]();
    for (const { proxies } of this.#addresses) for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
    for (const port of [this.#ports.boats, this.#ports.http, ...this.#ports.nodes]) port[Symbol.dispose]();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

const portOf = (url: string): number => Number(new URL(url).port);

async function startBalancer(
  folder: string,
  { addresses, boats, http }: { addresses: readonly NodeAddresses[]; boats: number; http: number },
): Promise<Deno.ChildProcess> {
  const servers = (kind: "boats" | "http") =>
    addresses.map((address, at) => {
      const check =
        `check port ${address.http} inter 500ms fastinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions`;
      return `  server node-${at + 1} 127.0.0.1:${address[kind]} ${check}`;
    }).join("\n");
  const config = `defaults
  mode tcp
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 5s
  option redispatch
  option httpchk GET /readyz
listen boats
  bind 127.0.0.1:${boats}
  balance leastconn
${servers("boats")}
listen http
  bind 127.0.0.1:${http}
  balance roundrobin
${servers("http")}
`;
  await Deno.writeTextFile(`${folder}/haproxy.cfg`, config);
  return new Deno.Command(BALANCER_PROGRAM, {
    args: ["-db", "-f", `${folder}/haproxy.cfg`],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}
