import type { Clock, Logger } from "../../base/mod.ts";
import {
  type BackfillStatus,
  type BackfillUpstream,
  type Caller,
  type HandshakeRequest,
  type HandshakeResponse,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  type ReplicationService,
  RpcError,
} from "../../replication/mod.ts";
import { BackfillSession } from "./backfill_session.ts";
import type { Instance } from "../instance/instance.ts";
import { handshakeRequired } from "../instance/sessions.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import type { Instances } from "../instance/instances.ts";
import { LiveSession } from "./live_session.ts";

/** Dependencies of {@linkcode CloudService}. */
export interface CloudServiceOptions {
  instances: Instances;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
}

const TICK_MS = 1000;

/** The replication service for identified boats. */
export class CloudService implements ReplicationService {
  readonly #options: CloudServiceOptions;
  readonly #live = new Set<LiveSession>();
  readonly #backfill = new Set<BackfillSession>();
  readonly #timer: ReturnType<typeof setInterval>;
  #isStopped = false;

  constructor(options: CloudServiceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#live.forEach((session) => session.tick()), TICK_MS);
  }

  /**
   * Accepts the boat's declarations, and answers with the frames that the cloud requests.
   *
   * @throws {RpcError} `UNAVAILABLE`: nothing can be recorded; `FAILED_PRECONDITION`: two machines may share the boat's
   * identity; `RESOURCE_EXHAUSTED`: too many boats
   */
  async handshake(request: HandshakeRequest, { instanceId, address }: Caller): Promise<HandshakeResponse> {
    this.#requireRunning();
    if (request.headSeq >= Number.MAX_SAFE_INTEGER) {
      throw new RpcError("INVALID_ARGUMENT", `sequence number ${request.headSeq} is out of range`);
    }
    const instance = await this.#options.instances.ensure(instanceId);
    return await instance.handshake(request, address);
  }

  /** Serves a live stream. @throws {RpcError} why it ends; see {@linkcode LiveSession} */
  async live(stream: MessageStream<LiveUpstream, LiveStatus>, caller: Caller): Promise<void> {
    const session = new LiveSession({ ...this.#options, instance: this.#known(caller), stream, caller });
    await run(session, this.#live);
  }

  /** Serves a backfill. @throws {RpcError} why it ends; see {@linkcode BackfillSession} */
  async backfill(stream: MessageStream<BackfillUpstream, BackfillStatus>, caller: Caller): Promise<void> {
    const session = new BackfillSession({ ...this.#options, instance: this.#known(caller), stream, caller });
    await run(session, this.#backfill);
  }

  /** Ends the streams of callers that are no longer allowed. */
  recheck(isAllowed: (caller: Caller) => boolean): void {
    for (const session of [...this.#live, ...this.#backfill]) {
      if (isAllowed(session.caller)) continue;
      session.end(new RpcError("UNAUTHENTICATED", "the certificate is no longer valid"));
    }
  }

  /** Ends all streams and refuses further calls. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const session of [...this.#live, ...this.#backfill]) {
      session.end(new RpcError("UNAVAILABLE", "the server is stopping"));
    }
  }

  #requireRunning(): void {
    if (this.#isStopped) throw new RpcError("UNAVAILABLE", "the server is stopping");
  }

  #known({ instanceId }: Caller): Instance {
    this.#requireRunning();
    const instance = this.#options.instances.get(instanceId);
    if (instance) return instance;
    throw handshakeRequired();
  }
}

/** Runs a session, which is in the set meanwhile. */
async function run<S extends LiveSession | BackfillSession>(session: S, open: Set<S>): Promise<void> {
  open.add(session);
  try {
    await session.run();
  } finally {
    open.delete(session);
  }
}
