import type { ClientRequest, IncomingMessage } from "node:http";
import { errorText, type ListenAddress, type Logger } from "../../base/mod.ts";
import type { Instances, Nodes } from "../../cloud/mod.ts";
import { finish, overloaded, problem } from "../reply.ts";
import { upgradeOf } from "../streams/upgrades.ts";
import { mergeInstances } from "./merge_instances.ts";
import { joinSockets } from "./join_sockets.ts";

/** Answers a request; `from` is the client's address. */
type Handler = (request: Request, from?: ListenAddress) => Promise<Response>;

/** A request to another node. */
export interface NodeRequest {
  method: string;
  /** With its query. */
  path: string;
  headers: Record<string, string>;
}

/** Dependencies of {@linkcode forwardRequests}. */
export interface ForwardOptions {
  nodes: Pick<Nodes, "nodeOf" | "others" | "signalOf">;
  instances: Pick<Instances, "find">;
  /** Opens a request to another node, given by its URL. The caller ends it. */
  open: (url: string, request: NodeRequest) => ClientRequest;
  log: Logger;
}

/** Headers with the client's address, and with the scheme of its request: nodes are trusted proxies of each other. */
const FORWARDED_FOR = "x-forwarded-for";
const FORWARDED_PROTO = "x-forwarded-proto";
/** Headers of one connection (RFC 9110 §7.6.1). */
const HOP_BY_HOP = ["connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"];
/** Headers that this server has answered already, or writes itself. */
const NOT_FORWARDED = [...HOP_BY_HOP, "expect", FORWARDED_FOR];
/** Statuses without a body. */
const BODILESS = [204, 205, 304];
const LIST_PATH = "/instances";
/** Longest time for the list of another node's boats. */
const LIST_TIMEOUT_MS = 3000;

/**
 * Answers requests for boats that are live at another node with that node's answers. All other requests are answered by
 * `local`; the list of boats has those of all nodes.
 *
 * The other node checks token and origin as if the client had asked it.
 */
export function forwardRequests(local: Handler, options: ForwardOptions): Handler {
  const { nodes, log } = options;
  const answer = loadingBoats(local, options);
  return async (request, from) => {
    const { pathname } = new URL(request.url);
    if (request.method === "GET" && pathname === LIST_PATH) return await listOfAll(request, { from, local, options });
    const id = request.method === "OPTIONS" ? undefined : boatOfPath(pathname);
    const url = id === undefined ? undefined : nodes.nodeOf(id);
    if (id === undefined || url === undefined) return await answer(request, from);
    try {
      return await forward(request, { url, from, options });
    } catch (error) {
      if (!request.signal.aborted) {
        log.warn("request for a boat not answered", { id, node: url, error: errorText(error) });
      }
      return unreadable(request, { id, why: "the node that has it does not answer" });
    }
  };
}

/** Answers with `local`. A boat that was connected to other nodes only is loaded before. */
export function loadingBoats(local: Handler, { instances, log }: Pick<ForwardOptions, "instances" | "log">): Handler {
  return async (request, from) => {
    const id = request.method === "OPTIONS" ? undefined : boatOfPath(new URL(request.url).pathname);
    try {
      if (id !== undefined) await instances.find(id);
    } catch (error) {
      log.warn("boat not loaded", { id: id ?? "", error: errorText(error) });
      return unreadable(request, { id: id ?? "", why: "the store does not answer" });
    }
    return await local(request, from);
  };
}

function unreadable(request: Request, { id, why }: { id: string; why: string }): Response {
  return finish(request, problem(overloaded(`The boat "${id}" cannot be read now: ${why}`)));
}

/** The boat of `/instances/{id}/...`, decoded as the routes decode it. */
function boatOfPath(pathname: string): string | undefined {
  const [, first = "", id = "", ...rest] = pathname.split("/");
  try {
    return rest.length > 0 && `/${decodeURIComponent(first)}` === LIST_PATH ? decodeURIComponent(id) : undefined;
  } catch {
    return undefined;
  }
}

interface Forwarded {
  url: string;
  from: ListenAddress | undefined;
  options: Pick<ForwardOptions, "open" | "nodes">;
}

async function forward(request: Request, { url, from, options: { open, nodes } }: Forwarded): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const headers = headersOf(request, from);
  const outgoing = open(url, { method: request.method, path: pathname + search, headers });
  const away = nodes.signalOf(url);
  const end = () => void outgoing.destroy(new Error("the node does not answer, or the client has gone"));
  for (const signal of [away, request.signal]) signal?.addEventListener("abort", end, { once: true });
  outgoing.once("close", () => {
    for (const signal of [away, request.signal]) signal?.removeEventListener("abort", end);
  });
  if (away?.aborted || request.signal.aborted) end();
  const answer = answerOf(outgoing, { request, away });
  // The other node may answer before it has read the body, or without reading it.
  if (request.body) outgoing.flushHeaders();
  sendBody(request, outgoing).catch(end);
  return await answer;
}

/** The answer as soon as its head is there, or the connection of a WebSocket. */
async function answerOf(
  outgoing: ClientRequest,
  { request, away }: { request: Request; away: AbortSignal | undefined },
): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  outgoing.on("error", reject);
  outgoing.once("response", (incoming) => resolve(responseOf(incoming)));
  outgoing.once("upgrade", (incoming, socket, head) => {
    const upgrade = upgradeOf(request);
    if (!upgrade) {
      socket.destroy();
      return reject(new Error("the node has upgraded an ordinary request"));
    }
    upgrade.socket.write(headText(incoming));
    joinSockets(upgrade, { socket, head, away });
    // The class has no responses with this status.
    resolve(Object.defineProperty(new Response(null), "status", { value: 101 }));
  });
  return await promise;
}

function headersOf(request: Request, from: ListenAddress | undefined): Record<string, string> {
  const headers = Object.fromEntries(request.headers);
  const { upgrade = "" } = headers;
  for (const name of NOT_FORWARDED) delete headers[name];
  if (upgradeOf(request)) Object.assign(headers, { connection: "Upgrade", upgrade });
  if (from) headers[FORWARDED_FOR] = from.hostname;
  headers[FORWARDED_PROTO] = new URL(request.url).protocol.slice(0, -1);
  // The end of the body must be known whatever the method: the bytes after it would be another request.
  if (!request.body) delete headers["content-length"];
  else if (headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
  return headers;
}

function headText({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const fields = pairsOf(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${fields.join("")}\r\n`;
}

function pairsOf(rawHeaders: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) pairs.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  return pairs;
}

/** Sends the body as fast as the other node takes it. */
async function sendBody({ body }: Request, outgoing: ClientRequest): Promise<void> {
  for await (const chunk of body ?? []) {
    if (outgoing.destroyed) return;
    if (outgoing.write(chunk)) continue;
    const { promise, resolve } = Promise.withResolvers<void>();
    outgoing.on("drain", resolve).on("close", resolve);
    await promise;
    outgoing.off("drain", resolve).off("close", resolve);
  }
  outgoing.end();
}

/** The answer of another node; its body is read as fast as the client takes it. */
function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 502, rawHeaders } = incoming;
  const headers = new Headers(pairsOf(rawHeaders).filter(([name]) => !HOP_BY_HOP.includes(name.toLowerCase())));
  if (BODILESS.includes(status)) {
    incoming.resume();
    return new Response(null, { status, headers });
  }
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  return new Response(ReadableStream.from<Uint8Array>(isStream ? untilBroken(incoming) : incoming), {
    status,
    headers,
  });
}

/** An event stream of a node that is lost ends: its client connects again. Other bodies must not look complete. */
async function* untilBroken(incoming: IncomingMessage): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming;
  } catch {
    return;
  }
}

/** The boats of all nodes. What a node does not answer in time is missing, as are boats that only it has. */
async function listOfAll(
  request: Request,
  { from, local, options }: { from: ListenAddress | undefined; local: Handler; options: ForwardOptions },
): Promise<Response> {
  // Without compression, so that it can be read.
  const plain = new Request(request.url, {
    headers: [...request.headers].filter(([name]) => name !== "accept-encoding"),
  });
  const own = await local(plain, from);
  if (own.status !== 200) return own;
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS);
  const lists = await Promise.all(options.nodes.others.map(async (url) => {
    try {
      return await listOf(url, { request: plain, from, signal, options });
    } catch (error) {
      options.log.warn("boats of another node not listed", { node: url, error: errorText(error) });
      return undefined;
    }
  }));
  return finish(request, mergeInstances([await own.text(), ...lists.filter((list) => list !== undefined)]));
}

/** The list of another node. @throws it has none */
async function listOf(
  url: string,
  { request, from, signal, options: { open } }: {
    request: Request;
    from: ListenAddress | undefined;
    signal: AbortSignal;
    options: Pick<ForwardOptions, "open">;
  },
): Promise<string> {
  const path = LIST_PATH + new URL(request.url).search;
  const outgoing = open(url, { method: "GET", path, headers: headersOf(request, from) });
  const end = () => void outgoing.destroy(new Error("no answer in time"));
  signal.addEventListener("abort", end, { once: true });
  try {
    const answer = answerOf(outgoing, { request, away: undefined });
    outgoing.end();
    const response = await answer;
    const list = await response.text();
    if (response.status !== 200) throw new Error(`status ${response.status}`);
    return list;
  } finally {
    signal.removeEventListener("abort", end);
  }
}
