import { Agent, type ClientRequest, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Logger, StallDetector } from "../../src/base/mod.ts";
import type { Instance } from "../../src/cloud/mod.ts";
import { forwardRequests } from "../../src/http/cloud/mod.ts";
import { Connections, type Handler, listen } from "../../src/listen/mod.ts";
import { finish, json } from "../../src/http/reply.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";

export const NET = needs({ permissions: ["net"] });
const AT = { hostname: "127.0.0.1", port: 0 };

/** Answers as the other node. */
export type NodeAnswer = (incoming: IncomingMessage, reply: ServerResponse) => void;

/** Two nodes: a client asks the first one, and the boat `aurora` is live at the other. */
export class ForwardLab implements AsyncDisposable {
  /** The first node. */
  url = "";
  /** The other one; undefined: itself has all boats. */
  node: string | undefined;
  /** Nodes whose boats are listed. */
  others: string[] = [];
  away = new AbortController();
  /** Paths that the first node has answered itself. */
  readonly local: string[] = [];
  /** Answers of the first node itself. */
  answer: Handler = (asked) => Promise.resolve(json({ local: asked.method }));
  find: (id: string) => Promise<Instance | undefined> = () => Promise.resolve(undefined);
  readonly lines: string[] = [];
  readonly outgoing: ClientRequest[] = [];
  readonly connections = new Connections();
  readonly #log = new Logger({ write: (line) => this.lines.push(line) });
  readonly #agent = new Agent({ keepAlive: true });
  readonly #stack = new AsyncDisposableStack();

  private constructor() {
    this.#stack.defer(() => this.#agent.destroy());
  }

  /** @param answer of the other node; default: it has none */
  static async open(answer?: NodeAnswer): Promise<ForwardLab> {
    const lab = new ForwardLab();
    if (answer) lab.node = await lab.serve(answer);
    const nodes = {
      nodeOf: (id: string) => id === "aurora" ? lab.node : undefined,
      signalOf: (url: string) => url === lab.node ? lab.away.signal : undefined,
      get others() {
        return lab.others;
      },
    };
    const local: Handler = async (asked, from) => {
      lab.local.push(`${asked.method} ${new URL(asked.url).pathname}`);
      return finish(asked, await lab.answer(asked, from));
    };
    const handler = forwardRequests((asked, from) => local(asked, from ?? AT), {
      nodes,
      instances: { find: (id) => lab.find(id) },
      open: (url, { method, path, headers }) => {
        const { hostname: host, port } = new URL(url);
        const outgoing = request({ agent: lab.#agent, host, port, method, path, headers });
        lab.outgoing.push(outgoing);
        return outgoing;
      },
      log: lab.#log,
    });
    lab.url = await lab.listen(handler, lab.connections);
    return lab;
  }

  /** A node as a bare server. */
  async serve(answer: NodeAnswer): Promise<string> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => server.listen(0, AT.hostname, resolve));
    this.#stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** A node with the whole HTTP server. */
  async listen(handler: Handler, connections = new Connections()): Promise<string> {
    const stall = new StallDetector(this.#log);
    this.#stack.defer(() => stall.stop());
    const listener = await listen(AT, { handler, stall, connections, log: this.#log });
    this.#stack.defer(() => listener.stop());
    return `http://127.0.0.1:${listener.address.port}`;
  }

  /** A connection of a client that reads nothing before it is asked to. */
  async silent(head: string): Promise<Socket> {
    const { hostname: host, port } = new URL(this.url);
    const socket = connect({ host, port: Number(port) });
    this.#stack.defer(() => void socket.destroy());
    await new Promise<void>((resolve) => socket.once("connect", resolve));
    socket.pause();
    socket.write(head);
    return socket;
  }

  /** Log lines of errors. */
  get errors(): string[] {
    return this.lines.filter((line) => line.includes("ERROR"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

/** Looks after which a value that does not change is taken for at rest. */
const SAME_LOOKS = 30;

/** Waits until a value is above 0 and rests. */
export async function atRest(what: string, look: () => number): Promise<number> {
  let [last, same] = [0, 0];
  await eventually(`${what} to rest`, () => {
    const now = look();
    same = now > 0 && now === last ? same + 1 : 0;
    last = now;
    return same > SAME_LOOKS;
  });
  return last;
}

/** A port of which nothing listens. */
export async function refusingUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, AT.hostname, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
