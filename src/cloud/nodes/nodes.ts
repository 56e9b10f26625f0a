import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import type { ObjectStore } from "../../object_store/mod.ts";
import { inReadTime } from "../store/read_time.ts";
import { announceNode, nodeName, removeNode } from "./node_list.ts";

/** What a node has of a boat. */
export interface BoatAtNode {
  id: string;
  /** True while the boat streams to the node; false: the node has frames that are not in the store yet. */
  isLive: boolean;
  /** Time since the boat's last message, milliseconds. */
  idleMs: number;
}

/** Options of {@linkcode Nodes}. */
export interface NodesOptions {
  /** URL of this node, as others reach it. */
  url: string;
  store: ObjectStore;
  /** What this node has of a boat; undefined: nothing that is not in the store. */
  boat: (id: string) => BoatAtNode | undefined;
  /** Asks another node for its boats; returns its {@linkcode boatsText}. @throws it does not answer */
  ask: (url: string, signal: AbortSignal) => Promise<string>;
  clock: Clock;
  log: Logger;
}

/** Path at which a node answers with its boats, {@linkcode boatsText}. */
export const NODE_BOATS_PATH = "/node/boats";
/** A node that takes longer to answer is asked again. */
const ASK_TIMEOUT_MS = 2000;
/** A node without an answer for this time is away. */
export const NODE_AWAY_MS = 3500;
/**
 * Interval of renewing the entry of this node in the store, and of listing the others. A new node asks all that it finds, which
 * know it then.
 */
const LIST_EVERY_MS = 60_000;
/** A boat that two nodes call live is at the one with newer messages, if they differ by this time, milliseconds. */
const NEWER_BY_MS = 2000;

interface OtherNode {
  boats: Map<string, BoatAtNode>;
  /** Monotonic time of the last answer; undefined: none yet. */
  answeredMs: number | undefined;
  isAsked: boolean;
  /** Aborted when the node is away. */
  away: AbortController;
}

/**
 * The other nodes with the same object store, and where each boat is live. Nothing here is needed for keeping frames: it
 * decides who answers readers, and which boats a node releases.
 */
export class Nodes {
  readonly #options: NodesOptions;
  readonly #others = new Map<string, OtherNode>();
  /** Boats that other nodes have had. */
  readonly #seen = new Set<string>();
  #arrivals = 0;
  readonly #stop = new AbortController();
  #listedMs = -Infinity;
  #listing: Promise<void> | undefined;
  #isListFailing = false;

  constructor(options: NodesOptions) {
    this.#options = options;
  }

  /** Finds the other nodes and asks them once. Never rejects: what fails is tried again. */
  async start(): Promise<void> {
    await this.#list();
    await Promise.all(Array.from(this.#others, ([url, node]) => this.#ask(url, node)));
  }

  /** Asks the other nodes for their boats, and now and then the store for the nodes. Must be called once a second. */
  runHousekeeping(): void {
    const nowMs = this.#options.clock.monoMs();
    if (nowMs - this.#listedMs >= LIST_EVERY_MS) {
      this.#listing ??= this.#list().finally(() => this.#listing = undefined);
    }
    for (const [url, node] of this.#others) {
      if (!node.isAsked) void this.#ask(url, node);
      if (this.#isAway(node) && !node.away.signal.aborted) {
        node.away.abort(new Error(`node ${url} does not answer`));
        if (node.answeredMs !== undefined) this.#options.log.warn("node does not answer", { url });
      }
    }
  }

  /** URLs of the other nodes that answer. */
  get others(): string[] {
    return [...this.#others].filter(([, node]) => !this.#isAway(node)).map(([url]) => url);
  }

  /** Number of other nodes that are announced and do not answer. */
  get away(): number {
    return this.#others.size - this.others.length;
  }

  /** How often a node was found, or has answered again: what was known of its boats before may be outdated. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** Another node has asked this one: it need not wait for the next list. */
  met(url: string): void {
    if (url !== this.#options.url && URL.canParse(url)) this.#add(url);
  }

  /** True for a boat that another node has had. */
  hasSeen(id: string): boolean {
    return this.#seen.has(id);
  }

  /**
   * The node that answers for a boat; undefined: this one. It is the node to which the boat streams, else one with frames
   * that are not in the store, else one that all nodes choose alike.
   */
  nodeOf(id: string): string | undefined {
    const own = this.#options.boat(id);
    let best = own && { url: this.#options.url, boat: own };
    for (const [url, node] of this.#others) {
      const boat = this.#boatAt(node, id);
      if (!boat) continue;
      const isChosen = !best || isBetter(boat, best.boat) ||
        !boat.isLive && !best.boat.isLive && nodeName(id + url) < nodeName(id + best.url);
      if (isChosen) best = { url, boat };
    }
    if (!best) return this.#chosen(id);
    return best.url === this.#options.url ? undefined : best.url;
  }

  /** True if a boat streams to another node, and not to this one. */
  isLiveElsewhere(id: string): boolean {
    const own = this.#options.boat(id);
    return this.#others.values().some((node) => {
      const boat = this.#boatAt(node, id);
      return boat?.isLive === true && (!own || isBetter(boat, own));
    });
  }

  /** Aborted when a node is away. */
  signalOf(url: string): AbortSignal | undefined {
    return this.#others.get(url)?.away.signal;
  }

  /** Stops asking, and removes this node's entry. Never rejects. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#listing;
    const { store, url } = this.#options;
    await inReadTime((signal) => removeNode(store, { url, signal })).catch(() => {});
  }

  /** One of the nodes that answer; when one comes or goes, few boats get another one. Undefined: this one. */
  #chosen(id: string): string | undefined {
    let [chosen, lowest]: [string | undefined, string] = [undefined, nodeName(id + this.#options.url)];
    for (const url of this.others) {
      const name = nodeName(id + url);
      if (name < lowest) [chosen, lowest] = [url, name];
    }
    return chosen;
  }

  #boatAt(node: OtherNode, id: string): BoatAtNode | undefined {
    const boat = node.boats.get(id);
    if (!boat || node.answeredMs === undefined || this.#isAway(node)) return undefined;
    return { ...boat, idleMs: boat.idleMs + this.#options.clock.monoMs() - node.answeredMs };
  }

  #isAway({ answeredMs = -Infinity }: OtherNode): boolean {
    return this.#options.clock.monoMs() - answeredMs > NODE_AWAY_MS;
  }

  #add(url: string): OtherNode {
    const known = this.#others.get(url);
    if (known) return known;
    const node = { boats: new Map(), answeredMs: undefined, isAsked: false, away: new AbortController() };
    this.#others.set(url, node);
    return node;
  }

  async #list(): Promise<void> {
    const { store, url, clock, log } = this.#options;
    this.#listedMs = clock.monoMs();
    try {
      const found = await inReadTime((signal) => announceNode(store, { url, signal }), { signal: this.#stop.signal });
      for (const each of found) this.#add(each);
      // One that answers stays: the store may have been away.
      for (const [each, node] of this.#others) {
        if (!found.includes(each) && this.#isAway(node)) this.#others.delete(each);
      }
      this.#isListFailing = false;
    } catch (error) {
      if (!this.#isListFailing && !this.#stop.signal.aborted) {
        log.error("nodes not listed", { error: errorText(error) });
      }
      this.#isListFailing = true;
    }
  }

  async #ask(url: string, node: OtherNode): Promise<void> {
    const { ask, clock, log } = this.#options;
    node.isAsked = true;
    try {
      const signal = AbortSignal.any([AbortSignal.timeout(ASK_TIMEOUT_MS), this.#stop.signal]);
      const boats = parseBoats(await ask(url, signal));
      for (const { id } of boats) this.#seen.add(id);
      node.boats = new Map(boats.map((boat) => [boat.id, boat]));
      if (this.#isAway(node)) {
        this.#arrivals++;
        log.info("node answers", { url });
      }
      node.answeredMs = clock.monoMs();
      if (node.away.signal.aborted) node.away = new AbortController();
    } catch (error) {
      log.debug("node not asked", { url, error: errorText(error) });
    } finally {
      node.isAsked = false;
    }
  }
}

/** A live boat before one with unstored frames; of two live ones the one with clearly newer messages. */
function isBetter(boat: BoatAtNode, than: BoatAtNode): boolean {
  if (boat.isLive !== than.isLive) return boat.isLive;
  return boat.isLive && boat.idleMs < than.idleMs - NEWER_BY_MS;
}

/** The answer to {@linkcode NODE_BOATS_PATH}. */
export function boatsText(boats: Iterable<BoatAtNode>): string {
  return JSON.stringify({
    boats: Array.from(boats, ({ id, isLive, idleMs }) => ({ id, live: isLive, idle_ms: Math.round(idleMs) })),
  });
}

/** @throws {Error} it is no such answer */
function parseBoats(text: string): BoatAtNode[] {
  const { boats }: { boats?: unknown } = JSON.parse(text);
  if (!Array.isArray(boats)) throw new Error("no list of boats");
  return boats.map((each: { id?: unknown; live?: unknown; idle_ms?: unknown }) => {
    const { id, live, idle_ms: idleMs } = each;
    if (typeof id !== "string" || typeof live !== "boolean" || typeof idleMs !== "number") throw new Error("no boat");
    return { id, isLive: live, idleMs };
  });
}
