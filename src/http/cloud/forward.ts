import type { ClientRequest, IncomingMessage } from "node:http";
import { errorText, type ListenAddress, type Logger } from "../../base/mod.ts";
import type { Instances, Nodes } from "../../cloud/mod.ts";
import { finish, overloaded, problem } from "../reply.ts";
import { upgradeOf } from "../streams/upgrades.ts";
import { mergeInstances } from "./merge_instances.ts";

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
  const { nodes, instances, log } = options;
  return async (request, from) => {
    const { pathname } = new URL(request.url);
    const [, id] = /^\/instances\/([^/]+)\/./.exec(pathname) ?? [];
    if (request.method === "OPTIONS") return await local(request, from);
    if (pathname === LIST_PATH) return await listOfAll(request, { from, local, options });
    if (id === undefined) return await local(request, from);
    const url = nodes.nodeOf(id);
    try {
      if (url !== undefined) return await forward(request, { url, from, options });
      await instances.find(id);
    } catch (error) {
      log.warn("request for a boat not answered", { id, node: url ?? "", error: errorText(error) });
      const why = url === undefined ? "the store does not answer" : "the node where it is live does not answer";
      return finish(request, problem(overloaded(`The boat "${id}" cannot be read now: ${why}`)));
    }
    return await local(request, from);
  };
}

interface Forwarded {
  url: string;
  from: ListenAddress | undefined;
  options: Pick<ForwardOptions, "open" | "nodes">;
}

async function forward(request: Request, { url, from, options: { open, nodes } }: Forwarded): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  const isUpgrade = upgradeOf(request) !== undefined;
  const headers = headersOf(request, { from, isUpgrade });
  const outgoing = open(url, { method: request.method, path: pathname + search, headers });
  const away = nodes.signalOf(url);
  const end = () => outgoing.destroy(new Error("the node does not answer, or the client has gone"));
  for (const signal of [away, request.signal]) signal?.addEventListener("abort", end, { once: true });
  outgoing.once("close", () => {
    for (const signal of [away, request.signal]) signal?.removeEventListener("abort", end);
  });
  if (away?.aborted || request.signal.aborted) end();
  const answer = answerOf(outgoing, request);
  // Without a body the other node answers at once; its error is that of the answer.
  await sendBody(request, outgoing).catch(end);
  return await answer;
}

/** The answer as soon as its head is there, or the connection of a WebSocket. */
function answerOf(outgoing: ClientRequest, request: Request): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  outgoing.on("error", reject);
  outgoing.once("response", (incoming: IncomingMessage) => resolve(responseOf(incoming)));
  outgoing.once("upgrade", (incoming: IncomingMessage, socket, head) => {
    const upgrade = upgradeOf(request);
    if (!upgrade) return void socket.destroy();
    upgrade.socket.write(headText(incoming));
    upgrade.socket.write(head);
    socket.write(upgrade.head);
    upgrade.socket.pipe(socket).pipe(upgrade.socket);
    const close = () => {
      socket.destroy();
      upgrade.socket.destroy();
      upgrade.closed();
    };
    for (const each of [socket, upgrade.socket]) each.once("close", close).on("error", close);
    // The class has no responses with this status.
    resolve(Object.defineProperty(new Response(null), "status", { value: 101 }));
  });
  return promise;
}

function headersOf(
  request: Request,
  { from, isUpgrade }: { from: ListenAddress | undefined; isUpgrade: boolean },
): Record<string, string> {
  const headers = Object.fromEntries(request.headers);
  if (!isUpgrade) { for (const name of HOP_BY_HOP) delete headers[name]; }
  if (from) headers[FORWARDED_FOR] = from.hostname;
  headers[FORWARDED_PROTO] = new URL(request.url).protocol.slice(0, -1);
  return headers;
}

function headText({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  let text = `HTTP/1.1 ${statusCode} ${statusMessage}\r\n`;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
  return `${text}\r\n`;
}

async function sendBody({ body }: Request, outgoing: ClientRequest): Promise<void> {
  for await (const chunk of body ?? []) outgoing.write(chunk);
  outgoing.end();
}

/** The answer of another node; its body is read as fast as the client takes it. */
function responseOf(incoming: IncomingMessage): Response {
  const { statusCode: status = 502, headers } = incoming;
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name) && name !== "content-length");
  const init = { status, headers: kept.map(([name, value]): [string, string] => [name, `${value}`]) };
  if ([204, 304].includes(status)) {
    incoming.resume();
    return new Response(null, init);
  }
  return new Response(ReadableStream.from<Uint8Array>(incoming), init);
}

/** The boats of all nodes. What a node does not answer in time is missing, as are boats that only it has. */
async function listOfAll(
  request: Request,
  { from, local, options: { nodes, open, log } }: {
    from: ListenAddress | undefined;
    local: Handler;
    options: ForwardOptions;
  },
): Promise<Response> {
  // Without compression, so that it can be read.
  const plain = new Request(request.url, {
    headers: [...request.headers].filter(([name]) => name !== "accept-encoding"),
  });
  const own = await local(plain, from);
  if (own.status !== 200 || request.method !== "GET") return own;
  const signal = AbortSignal.timeout(LIST_TIMEOUT_MS);
  const { search } = new URL(request.url);
  const lists = await Promise.all(nodes.others.map(async (url) => {
    try {
      const headers = headersOf(plain, { from, isUpgrade: false });
      const outgoing = open(url, { method: "GET", path: LIST_PATH + search, headers });
      signal.addEventListener("abort", () => outgoing.destroy(new Error("no answer in time")));
      const answer = answerOf(outgoing, plain);
      outgoing.end();
      return await (await answer).text();
    } catch (error) {
      log.warn("boats of another node not listed", { node: url, error: errorText(error) });
      return undefined;
    }
  }));
  return finish(request, mergeInstances([await own.text(), ...lists.filter((text) => text !== undefined)]));
}
