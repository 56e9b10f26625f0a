import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Logger, StallDetector } from "../../src/base/mod.ts";
import { Connections, type Handler, type Listener, listenNodes, NodeRequests, TlsFiles } from "../../src/listen/mod.ts";
import {
  Authority,
  type CertificateFolder,
  ClientAuthorities,
  initAuthority,
  RevocationFile,
} from "../../src/pki/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs } from "../support/needs.ts";

export const NET = needs({ permissions: ["net", "read", "write"] });
export const DAY_MS = 86_400_000;
export const ISSUE = { days: 30, isForced: true };
export const NAMES = { hosts: [], ips: ["127.0.0.1"] };
export const AT = { hostname: "127.0.0.1", port: 0 };

export type Files = Pick<CertificateFolder, "certPath" | "keyPath">;

/** An authority in a folder of its own. */
async function makeAuthority(directory: string, clock: FakeClock): Promise<Authority> {
  await initAuthority(directory, { name: "Fleet", days: 3650, clock });
  return await Authority.open(directory, { clock });
}

/** The port of the node `n2`, with files of certificates that a test may replace. */
export class NodePort implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly log = new Logger({ write: (line) => this.lines.push(line) });
  readonly #stack = new AsyncDisposableStack();
  readonly #connections = new Connections();
  readonly folder: string;
  authority!: Authority;
  rogue!: Authority;
  authorities!: ClientAuthorities;
  revoked!: RevocationFile;
  tls!: TlsFiles;
  listener!: Listener;

  private constructor(folder: string) {
    this.folder = folder;
    this.clock.jump(Date.now() - this.clock.wallUs() / 1000);
  }

  static async open(folder: string, handler: Handler): Promise<NodePort> {
    const port = new NodePort(folder);
    const { clock, log } = port;
    const [ca, stack] = [`${folder}/ca`, port.#stack];
    const authority = port.authority = stack.use(await makeAuthority(ca, clock));
    port.rogue = stack.use(await makeAuthority(`${folder}/rogue`, clock));
    await Deno.copyFile(`${ca}/ca.pem`, `${folder}/authorities.pem`);
    const authorities = port.authorities = await ClientAuthorities.open({
      path: `${folder}/authorities.pem`,
      clock,
      log,
    });
    const options = { path: `${ca}/revoked.txt`, authorities: () => authorities.pem, log };
    const revoked = port.revoked = await RevocationFile.open(options);
    const tls = port.tls = await port.files(await authority.issueNode("n2", { ...ISSUE, names: NAMES }));
    const stall = new StallDetector(log);
    stack.defer(() => [authorities, revoked, stall].forEach((each) => each.stop()));
    const parts = { tls, authorities, revoked, clock, handler, stall, connections: port.#connections, log };
    port.listener = await listenNodes(AT, parts);
    stack.defer(() => port.listener.stop());
    return port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.listener.address.port}`;
  }

  async files({ certPath, keyPath }: Files): Promise<TlsFiles> {
    const tls = await TlsFiles.open({ certPath, keyPath, clock: this.clock, log: this.log });
    this.#stack.defer(() => tls.stop());
    return tls;
  }

  /** The client of another node. */
  async client(files: Files): Promise<{ tls: TlsFiles; requests: NodeRequests }> {
    const tls = await this.files(files);
    const requests = new NodeRequests({ tls, authorities: this.authorities });
    this.#stack.defer(() => requests.stop());
    return { tls, requests };
  }

  /** Issues a certificate for a node. */
  issue(name: string, authority = this.authority): Promise<CertificateFolder> {
    return authority.issueNode(name, { ...ISSUE, names: NAMES });
  }

  /** Revokes a node's certificates, or the one with a serial number. */
  async revoke(name: string, serial?: string): Promise<void> {
    await this.authority.revoke(name, { kind: "node", serial });
    await this.revoked.check();
  }

  /** Connections by their phase. */
  get counts(): Connections["counts"] {
    return this.#connections.counts;
  }

  /** Log lines of refused connections. */
  get refusals(): string[] {
    return this.lines.filter((line) => line.includes("node connection refused"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

export const hello: Handler = async (request) => new Response(`${request.method} ${await request.text()}`);

/** Streams that a test writes. */
export class Streams {
  readonly #open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  aborted = 0;

  readonly handler: Handler = (request) => {
    request.signal.addEventListener("abort", () => this.aborted++);
    let sink: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void this.#open.add(sink = controller),
      cancel: () => void this.#open.delete(sink),
    });
    return Promise.resolve(new Response(body));
  };

  write(text: string): void {
    for (const sink of this.#open) sink.enqueue(new TextEncoder().encode(text));
  }
}

interface Asked {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

/** Asks a node; resolves with the head of the reply. */
export async function ask(
  requests: NodeRequests,
  url: string,
  { method = "GET", body = "", headers = {} }: Asked = {},
): Promise<IncomingMessage> {
  const { pathname: path } = new URL(url);
  const response = once(requests.open(url, { method, path, headers }).end(body), "response");
  return (await response)[0];
}

/** Reads parts of streamed replies. */
export class Parts {
  readonly incoming: IncomingMessage;
  readonly #parts: AsyncIterator<Uint8Array>;

  constructor(incoming: IncomingMessage) {
    this.incoming = incoming;
    this.#parts = incoming[Symbol.asyncIterator]();
  }

  static async open(requests: NodeRequests, url: string): Promise<Parts> {
    return new Parts(await ask(requests, url));
  }

  /** The next part as text; undefined: the reply has ended or failed. */
  async next(): Promise<string | undefined> {
    const part = await this.#parts.next().catch(() => undefined);
    return part?.value && new TextDecoder().decode(part.value);
  }
}
