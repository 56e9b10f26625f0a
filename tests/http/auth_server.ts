import { createHash } from "node:crypto";
import { z } from "zod";
import { type Logger, silentLogger, StallDetector, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import {
  Access,
  type AccessRules,
  type AccessToken,
  boatRoutes,
  type Caller,
  evaluateHealth,
  Metrics,
  proofOfBoat,
  type RouteTable,
  routeWithBody,
  serveRoutes,
} from "../../src/http/mod.ts";
import { Connections, listen, type Listener, listenTls, type TlsFiles } from "../../src/listen/mod.ts";
import { StreamHub } from "../../src/stream/mod.ts";
import { json } from "../../src/http/reply.ts";
import { noQuery } from "../../src/http/params.ts";
import { type RawReply, type RawRequest, rawRequest } from "../support/raw_http.ts";

/** A token as the settings give it. */
export function tokenOf(name: string, secret: string, scopes: AccessToken["scopes"]): AccessToken {
  return { name, sha256: createHash("sha256").update(secret).digest("hex"), scopes };
}

/** A row that takes `send` and does nothing, and one that takes `admin`. Both tell who asked. */
function whoRows(asked: Caller[]): RouteTable {
  return (["send", "admin"] as const).map((scope) =>
    routeWithBody({
      method: "POST",
      path: `/who/${scope}`,
      summary: "Tells who asks",
      scope,
      parts: noQuery,
      body: z.unknown().refine((body) => body !== undefined),
      replies: { 200: ["application/json", z.unknown()] },
      answer: (_body, _parts, { caller }) => {
        asked.push(caller);
        return json(caller);
      },
    })
  );
}

/** Who waits for a body that must not be waited for is answered soon, so that a test of it fails soon. */
const BODY_TIMEOUT_MS = 1000;

/** How a guarded server is made. */
interface GuardedOptions extends AccessRules {
  tls?: TlsFiles;
  /** Default silent. */
  log?: Logger;
}

/** The rows of a boat behind rules of access, on a real port; its broker has no bus. */
export class GuardedServer implements AsyncDisposable {
  readonly access: Access;
  readonly broker: Broker;
  /** Who has asked `/who/…`. */
  readonly asked: readonly Caller[];
  /** `http://127.0.0.1:port`, or https. */
  readonly url: string;
  readonly #stop: () => Promise<void>;

  private constructor(
    listener: Listener,
    { access, broker, asked, scheme, stop }: Pick<GuardedServer, "access" | "broker" | "asked"> & {
      scheme: string;
      stop: () => Promise<void>;
    },
  ) {
    this.access = access;
    this.broker = broker;
    this.asked = asked;
    this.url = `${scheme}://127.0.0.1:${listener.address.port}`;
    this.#stop = stop;
  }

  /** Starts it on any free port. */
  static async start({ tls, log = silentLogger, ...rules }: GuardedOptions = {}): Promise<GuardedServer> {
    const clock = systemClock;
    const access = new Access(rules, { log });
    const broker = new Broker({ buses: ["can0"] });
    const stall = new StallDetector(log);
    const hub = new StreamHub({ broker, clock, stall });
    const metrics = new Metrics({ version: "0.0.0", broker, lines: [], hub, stall, access, identity: undefined });
    const health = () =>
      evaluateHealth({ broker, lines: [], busSilenceMs: undefined, startedMs: 0, nowMs: clock.monoMs() });
    const limits = () => ({ maxStreams: 1000, streamBufferBytes: 2 ** 20 });
    const nothing = { journal: undefined, replication: undefined, buses: [] };
    const proof = () => proofOfBoat({ asOf: "", epoch: null, numbered: { first: 1, frames: 0 }, ...nothing });
    const asked: Caller[] = [];
    const table = [
      ...boatRoutes({ broker, hub, metrics, clock, health, limits, proof, server: { name: "Boat", version: "1.2.3" } }),
      ...whoRows(asked),
    ];
    const handler = serveRoutes(table, {
      ...{ title: "Test", version: "0.0.0", log, access, bodyTimeoutMs: BODY_TIMEOUT_MS },
    });
    const address = { hostname: "127.0.0.1", port: 0 };
    const options = { handler, stall, connections: new Connections(), log };
    const listener = tls ? await listenTls(address, { ...options, tls }) : await listen(address, options);
    const stop = async () => {
      hub.stop();
      stall.stop();
      await listener.stop();
    };
    return new GuardedServer(listener, { access, broker, asked, scheme: tls ? "https" : "http", stop });
  }

  /** A request whose reply nobody touches. */
  raw(path: string, request?: RawRequest): Promise<RawReply> {
    return rawRequest(this.url + path, request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }
}
