import { text } from "node:stream/consumers";
import type { IncomingMessage } from "node:http";
import { ALL_ADDRESSES, type Clock, type ListenAddress, type Logger, type StallDetector } from "../base/mod.ts";
import {
  type BoatAtNode,
  boatsText,
  type Instance,
  type Instances,
  NODE_BOATS_PATH,
  nodeName,
  Nodes,
} from "../cloud/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { forwardRequests, loadingBoats } from "../http/cloud/mod.ts";
import { type Connections, type Handler, type Listener, listenNodes, NodeRequests, TlsFiles } from "../listen/mod.ts";
import type { ObjectStore } from "../object_store/mod.ts";
import { ClientAuthorities, RevocationFile } from "../pki/mod.ts";
import type { BoatTrust } from "./listeners.ts";

/** How a node shares its object store with others. */
export interface CloudNodeOptions {
  /** URL at which other nodes reach this one: `https://HOST:PORT`. */
  url: string;
  /** Where it listens for them; default: all addresses at the port of `url`. */
  listen?: ListenAddress;
  /** Certificate of this node, PEM. */
  certPath: string;
  /** Its key, PEM, not encrypted. */
  keyPath: string;
}

interface SharingParts {
  authorities: ClientAuthorities;
  revoked: RevocationFile | undefined;
  tls: TlsFiles;
  requests: NodeRequests;
  nodes: Nodes;
}

/** This node among those that share an object store. */
export class Sharing {
  readonly nodes: Nodes;
  readonly name: string;
  readonly #parts: SharingParts;
  readonly #options: CloudNodeOptions & { clock: Clock; log: Logger };
  #instances: Instances | undefined;
  #listener: Listener | undefined;

  private constructor(options: CloudNodeOptions & { clock: Clock; log: Logger }, parts: SharingParts) {
    this.#options = options;
    this.#parts = parts;
    this.nodes = parts.nodes;
    this.name = nodeName(options.url);
  }

  /**
   * Announces this node in the store, and finds the others.
   *
   * @throws {TlsError} certificate and key cannot be used
   * @throws {AuthoritiesError} the authorities of boats and nodes cannot be used
   * @throws {RevocationError} the list of revoked certificates cannot be used
   */
  static async open(
    node: CloudNodeOptions,
    { trust: { clientCaPath, revokedPath }, store, clock, log }: {
      trust: BoatTrust;
      store: ObjectStore;
      clock: Clock;
      log: Logger;
    },
  ): Promise<Sharing> {
    const authorities = await ClientAuthorities.open({ path: clientCaPath, clock, log });
    const revoked = revokedPath === undefined
      ? undefined
      : await RevocationFile.open({ path: revokedPath, authorities: () => authorities.pem, log });
    const tls = await TlsFiles.open({ ...node, clock, log });
    const requests = new NodeRequests({ tls, authorities });
    const ask = (url: string, signal: AbortSignal) =>
      askBoats(requests, { url, signal, path: `${NODE_BOATS_PATH}?from=${encodeURIComponent(node.url)}` });
    const boat = (id: string): BoatAtNode | undefined => sharing.#boat(sharing.#instances?.get(id));
    const nodes: Nodes = new Nodes({ url: node.url, store, boat, ask, clock, log });
    const sharing: Sharing = new Sharing({ ...node, clock, log }, { authorities, revoked, tls, requests, nodes });
    await nodes.start();
    return sharing;
  }

  /** From now on the boats of this node are those. */
  begin(instances: Instances): void {
    this.#instances = instances;
  }

  /** A handler for clients: other nodes answer for boats that are live there. */
  shared(local: Handler): Handler {
    const { nodes, requests } = this.#parts;
    const { log } = this.#options;
    const find = async (id: string) => await this.#instances?.find(id);
    return forwardRequests(
      (request, from) => local(request, from ?? NOWHERE),
      { nodes, instances: { find }, open: requests.open.bind(requests), log },
    );
  }

  /**
   * Serves other nodes, which get answers of this node only.
   *
   * @throws {ListenError} the port cannot be opened
   */
  async listen(
    local: Handler,
    { connections, stall }: { connections: Connections; stall: StallDetector },
  ): Promise<void> {
    const { authorities, revoked, tls } = this.#parts;
    const { listen, url, clock, log } = this.#options;
    const address = listen ?? { hostname: ALL_ADDRESSES, port: Number(new URL(url).port || 443) };
    const find = async (id: string) => await this.#instances?.find(id);
    const answer = loadingBoats((request, from) => local(request, from ?? NOWHERE), { instances: { find }, log });
    const handler: Handler = async (request, from) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== NODE_BOATS_PATH) return await answer(request, from);
      this.nodes.met(searchParams.get("from") ?? "");
      return new Response(boatsText(this.#boats()), { headers: { "Content-Type": "application/json" } });
    };
    this.#listener = await listenNodes(address, { authorities, revoked, tls, handler, connections, stall, clock, log });
  }

  /** Must be called about once a second. */
  runHousekeeping(): void {
    this.nodes.runHousekeeping();
  }

  /** Health names no node: the endpoint needs no token. */
  health(): ComponentHealth {
    const { away, others } = this.nodes;
    if (away === 0) return { status: "ok" };
    return { status: "degraded", message: `${away} of ${away + others.length} other nodes do not answer` };
  }

  /** Removes this node from the store; it still answers others that know it. Never rejects. */
  async leave(): Promise<void> {
    await this.nodes.stop();
  }

  /** Other nodes are not answered any more. */
  async stop(): Promise<void> {
    const { authorities, revoked, tls, requests } = this.#parts;
    await this.#listener?.stop();
    requests.stop();
    tls.stop();
    revoked?.stop();
    authorities.stop();
  }

  *#boats(): Generator<BoatAtNode> {
    for (const instance of this.#instances ?? []) {
      const boat = this.#boat(instance);
      if (boat) yield boat;
    }
  }

  #boat(instance: Instance | undefined): BoatAtNode | undefined {
    if (!instance || !(instance.isPresent || instance.hasUnstored)) return undefined;
    const { id, isPresent: isLive, silentMs } = instance;
    return { id, isLive, idleMs: Number.isFinite(silentMs) ? silentMs : LONG_MS };
  }
}

/** Address of a request that came over no network. */
const NOWHERE: ListenAddress = { hostname: "", port: 0 };
/** Time since the last message of a boat that has sent none. */
const LONG_MS = 1e9;

/** Asks a node for its boats. @throws it does not answer */
async function askBoats(
  requests: NodeRequests,
  { url, path, signal }: { url: string; path: string; signal: AbortSignal },
): Promise<string> {
  const outgoing = requests.open(url, { method: "GET", path, headers: {} });
  const end = () => outgoing.destroy(new Error("no answer in time"));
  signal.addEventListener("abort", end, { once: true });
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("error", reject).once("response", resolve);
    });
    outgoing.end();
    const answer = await answered;
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
    return await text(answer);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
