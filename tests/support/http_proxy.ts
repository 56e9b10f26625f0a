import { createServer, type IncomingMessage, request as send, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * What a bad network, proxy or store does with a request:
 * - `drop`: closes the connection before the request is passed on
 * - `lose answer`: closes it when the answer has come
 * - `stall`: never answers
 * - `fail` and `slow down`: answers 500 or 503 itself
 * - `login page`: answers 200 with a page of HTML itself, as the network of a marina does
 * - `forget` and `forget with a tag`: answers 200 itself, without or with a made-up `ETag`
 * - `cut upload`: passes on half of the body, then closes the connection
 * - `cut`: closes the connection after half of the answer's body
 * - `shorten`: passes on half of the answer's body as if it were all
 * - `flip`: changes one bit of the answer's body
 * - `lengthen`: adds a byte to the answer's body
 */
export type Fault =
  | "drop"
  | "lose answer"
  | "stall"
  | "fail"
  | "slow down"
  | "login page"
  | "forget"
  | "forget with a tag"
  | "cut upload"
  | "cut"
  | "shorten"
  | "flip"
  | "lengthen";

/** Where a request is stopped: when a share of its body was passed on, 0 to 1, or when the server has answered. */
export type StopAt = { kind: "body"; share: number } | { kind: "answer" };

/** Which request is stopped, and where. */
export interface Stop {
  method: string;
  /** Part of its path. */
  path: string;
  /** Number of such requests that are passed on before. */
  after: number;
  at: StopAt;
}

interface Plan {
  method: string;
  fault: Fault;
  times: number;
}

const FAULTY_ANSWERS: Partial<Record<Fault, [status: number, body: string, headers: Record<string, string>]>> = {
  fail: [500, "Internal Server Error", { "content-type": "text/plain" }],
  "slow down": [503, "<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>", {
    "content-type": "application/xml",
  }],
  "login page": [200, "<html><head><title>Marina</title></head><body><p>Log in</p></body></html>", {
    "content-type": "text/html",
  }],
  forget: [200, "", {}],
  "forget with a tag": [200, "", { etag: '"d41d8cd98f00b204e9800998ecf8427e"' }],
};

/** An HTTP proxy on a port of its own, in front of a server on this machine, that lies when it is told to. */
export class HttpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: URL;
  #plans: Plan[] = [];
  #stop: (Stop & { reached: () => void }) | undefined;
  /** Requests so far, such as `PUT`. */
  readonly requests: string[] = [];

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Starts one in front of `http://HOST:PORT`. */
  static async start(target: string): Promise<HttpProxy> {
    const proxy = new HttpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** `http://127.0.0.1:PORT`. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Does this to the next requests with a method; the others are passed on. */
  next(method: string, fault: Fault, times = Infinity): void {
    this.#plans.push({ method, fault, times });
  }

  /** Stops a request for as long as its client waits. Resolves when it is stopped. */
  stop(stop: Stop): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stop = { ...stop, reached: resolve };
    return promise;
  }

  /** Passes everything on again. */
  heal(): void {
    this.#plans = [];
    this.#stop = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #faultOf(method: string): Fault | undefined {
    const plan = this.#plans.find((plan) => plan.method === method && plan.times > 0);
    if (plan) plan.times--;
    return plan?.fault;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? "";
    this.requests.push(method);
    const fault = this.#faultOf(method);
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // The client has hung up.
      return;
    }
    const stop = this.#stopOf(request);
    if (stop) return this.#forwardUntil(request, { body: join(chunks), ...stop });
    const own = fault && FAULTY_ANSWERS[fault];
    if (own) response.writeHead(own[0], own[2]).end(own[1]);
    else if (fault === "drop") request.socket.destroy();
    else if (fault !== "stall") this.#forward(request, { response, body: join(chunks), fault });
  }

  #stopOf({ method, url = "" }: IncomingMessage): (Stop & { reached: () => void }) | undefined {
    const stop = this.#stop;
    if (!stop || stop.method !== method || !url.includes(stop.path) || stop.after-- > 0) return undefined;
    this.#stop = undefined;
    return stop;
  }

  #forwardUntil(
    { method, url, headers, socket }: IncomingMessage,
    { body, at, reached }: { body: Uint8Array; at: StopAt; reached: () => void },
  ): void {
    const { hostname, port } = this.#target;
    const upstream = send({ hostname, port, method, path: url, headers, agent: false }, (answer: IncomingMessage) => {
      answer.resume().on("end", reached);
    });
    upstream.on("error", reached);
    socket.on("close", () => upstream.destroy());
    if (at.kind === "answer") upstream.end(body);
    else upstream.write(body.subarray(0, Math.floor(body.length * at.share)), reached);
  }

  #forward(
    { method, url, headers, socket }: IncomingMessage,
    { response, body, fault }: { response: ServerResponse; body: Uint8Array; fault: Fault | undefined },
  ): void {
    const { hostname, port } = this.#target;
    // The signature covers the header Host, which is therefore left as it is.
    const options = { hostname, port, method, path: url, headers, agent: false };
    const upstream = send(options, async (answer: IncomingMessage) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer) chunks.push(chunk);
      if (fault === "lose answer") socket.destroy();
      else answerFaulty(response, { answer, body: join(chunks), fault });
    });
    upstream.on("error", () => socket.destroy());
    if (fault !== "cut upload") return void upstream.end(body);
    upstream.write(body.subarray(0, body.length / 2), () => {
      upstream.destroy();
      socket.destroy();
    });
  }
}

function answerFaulty(
  response: ServerResponse,
  { answer, body, fault }: { answer: IncomingMessage; body: Uint8Array; fault: Fault | undefined },
): void {
  const half = body.subarray(0, body.length / 2);
  const { "transfer-encoding": _, ...headers } = answer.headers;
  if (body.length === 0 || fault === undefined) {
    // The answer to HEAD tells the length of what it leaves out.
    return void response.writeHead(answer.statusCode ?? 500, { "content-length": body.length, ...headers }).end(body);
  }
  const changed = fault === "shorten" ? half : fault === "lengthen" ? join([body, half]) : body.slice();
  if (fault === "flip") changed[changed.length >> 1]! ^= 1;
  response.writeHead(answer.statusCode ?? 500, { ...headers, "content-length": changed.length });
  if (fault === "cut") response.write(half, () => response.socket?.destroy());
  else response.end(changed);
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
