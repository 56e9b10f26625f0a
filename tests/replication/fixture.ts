import assert from "node:assert/strict";
import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import {
  type Caller,
  type ClientSecurity,
  type HandshakeRequest,
  type HandshakeResponse,
  identify,
  type Keepalive,
  type LiveFrame,
  ReplicationClient,
  ReplicationServer,
  type ReplicationService,
  RpcError,
} from "../../src/replication/mod.ts";
import type { CertificateFiles, TestAuthority } from "../support/certificates.ts";

/** Type of the HTTP/2 frame that announces the end of a connection. */
const GOAWAY = 7;

/** What the simplest boat asks. */
export const REQUEST: HandshakeRequest = {
  instanceId: "boat-001",
  headSeq: 2000,
  journalBytes: 100,
  epoch: undefined,
  features: ["batch", "void", "another"],
  void: [],
  oldestSeq: 1,
  busNames: ["can0"],
  lost: [],
};

/** What the simplest cloud answers. */
export const RESPONSE: HandshakeResponse = {
  cursor: 999,
  holes: [{ start: 1000, end: 2000 }],
  liveStartFrom: 2000,
  features: ["batch"],
  known: true,
  durableThrough: 999,
  rateLimit: 2000,
  rateBurst: 500,
};

/** Long enough for whatever does not hang. */
export const TIMEOUT = { timeoutMs: 60_000 };

/** For `assert.rejects`: what is thrown is a status with this code. */
export function code(expected: string, why: RegExp = /./): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof RpcError, String(error));
    assert.equal(error.code, expected, error.message);
    assert.match(error.message, why);
    return true;
  };
}

/** A frame of 8 bytes. */
export function frame(seq: number, size = 8): LiveFrame {
  return { seq, timestampUs: 1_750_000_000_000_000 + seq, canId: 0x09f80101, data: new Uint8Array(size).fill(seq) };
}

/** A service that answers everything and has something for each live frame: its number. Tests put in what they need. */
export function service(over: Partial<ReplicationService> = {}): ReplicationService {
  return {
    handshake: () => Promise.resolve(RESPONSE),
    live: async (stream) => {
      for await (const message of stream) {
        if (message.kind === "frame") await stream.send({ ackSeq: message.frame.seq, receivedThrough: 0 });
      }
    },
    backfill: async (stream) => {
      for await (const { block } of stream) {
        const filled = [{ start: block!.baseSeq, end: block!.baseSeq + block!.frameCount }];
        await stream.send({ continuousThrough: 0, remaining: [], filled, rejected: [] });
      }
    },
    ...over,
  };
}

/** A server on a port of its own, plain or over TLS. Stops at the end of the test, with all clients it has made. */
export class ServerFixture implements AsyncDisposable {
  readonly faults: unknown[];
  readonly callers: Caller[];
  readonly server: ReplicationServer;
  readonly #listener: Server;
  readonly #clients: ReplicationClient[] = [];
  readonly #sockets: Set<Socket>;

  private constructor({ server, listener, faults, callers, sockets }: {
    server: ReplicationServer;
    listener: Server;
    faults: unknown[];
    callers: Caller[];
    sockets: Set<Socket>;
  }) {
    this.#sockets = sockets;
    this.server = server;
    this.#listener = listener;
    this.faults = faults;
    this.callers = callers;
  }

  static async start(answers: ReplicationService, { tls, keepalive }: {
    /** Our certificate, and who may sign clients'. Left out: plain. */
    tls?: { files: CertificateFiles; clients: TestAuthority };
    keepalive?: Keepalive;
  } = {}): Promise<ServerFixture> {
    const [faults, callers]: [unknown[], Caller[]] = [[], []];
    const server = await ReplicationServer.create({
      service: telling(answers, (caller) => callers.push(caller)),
      identify: (credentials) => identify(credentials, tls ? "certificate" : "insecure"),
      onFault: (error) => faults.push(error),
      ...keepalive && { keepalive },
    });
    const sockets = new Set<Socket>();
    const accept = (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      server.accept(socket);
    };
    const listener = tls
      ? createTlsServer({
        cert: Deno.readTextFileSync(tls.files.certPath),
        key: Deno.readTextFileSync(tls.files.keyPath),
        ca: tls.clients.pem,
        requestCert: true,
        rejectUnauthorized: false,
        ALPNProtocols: ["http/1.1", "h2"],
      }, accept)
      : createServer(accept);
    await new Promise<void>((resolve) => listener.listen(0, tls ? "0.0.0.0" : "127.0.0.1", resolve));
    return new ServerFixture({ server, listener, faults, callers, sockets });
  }

  /** Where it listens. */
  get port(): number {
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return address.port;
  }

  /** Cuts all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Tells all clients that their connections end: a GOAWAY frame for streams after `lastStream`, with a code and a word. */
  goaway({ lastStream = 2 ** 31 - 1, code = 0, word = "" } = {}): void {
    const text = new TextEncoder().encode(word);
    const frame = new Uint8Array(17 + text.length);
    const view = new DataView(frame.buffer);
    view.setUint32(0, (8 + text.length) << 8 | GOAWAY);
    view.setUint32(9, lastStream);
    view.setUint32(13, code);
    frame.set(text, 17);
    for (const socket of this.#sockets) socket.write(frame);
  }

  /** A client of this server, or of what is on another port. */
  async client(
    { security = { kind: "insecure" }, instanceId = "boat-001", host = "127.0.0.1", port = this.port, keepalive }: {
      security?: ClientSecurity;
      instanceId?: string;
      host?: string;
      port?: number;
      keepalive?: Keepalive;
    } = {},
  ): Promise<ReplicationClient> {
    const target = `${host}:${port}`;
    const client = await ReplicationClient.create({ target, instanceId, security, ...keepalive && { keepalive } });
    this.#clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.server.stop({ graceMs: 5000 });
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}

/** Tells who calls before each answer. */
function telling(
  { handshake, live, backfill }: ReplicationService,
  tell: (caller: Caller) => void,
): ReplicationService {
  return {
    handshake: (request, caller) => (tell(caller), handshake(request, caller)),
    live: (stream, caller) => (tell(caller), live(stream, caller)),
    backfill: (stream, caller) => (tell(caller), backfill(stream, caller)),
  };
}

/** A way to a port on which bytes can be held up without a word, in both directions. */
export class BlackHole implements AsyncDisposable {
  readonly #listener: Server;
  readonly #sockets: Socket[] = [];

  private constructor(listener: Server, to: number) {
    this.#listener = listener;
    listener.on("connection", (near: Socket) => {
      const far = connect(to, "127.0.0.1");
      this.#sockets.push(near, far);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) socket.on("error", () => socket.destroy());
    });
  }

  static async start(to: number): Promise<BlackHole> {
    const listener = createServer();
    const hole = new BlackHole(listener, to);
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    return hole;
  }

  get port(): number {
    const address = this.#listener.address();
    if (address === null || typeof address === "string") throw new Error("it does not listen");
    return address.port;
  }

  /** From now on nothing comes through, and nobody is told. */
  open(): void {
    for (const socket of this.#sockets) socket.unpipe().on("data", () => {});
  }

  /** From now on nothing comes back. Counts the bytes that still go there. */
  openBackwards(): { sent: () => number } {
    const [near, far] = this.#sockets;
    far!.unpipe().on("data", () => {});
    const before = near!.bytesRead;
    return { sent: () => near!.bytesRead - before };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }
}
