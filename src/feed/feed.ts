import type { Clock, Logger, StallDetector } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import {
  compileFor,
  type FrameArchive,
  FrameSource,
  Sessions,
  type SessionsOptions,
  type StreamCounter,
  StreamHub,
  type StreamMemory,
} from "../stream/mod.ts";

/** Options of a {@linkcode Feed}. */
export interface FeedOptions {
  /** Broker that the frames are published to. */
  broker: Broker;
  /** Storage of frames beyond the ring; default none. */
  archive?: FrameArchive | undefined;
  /** Options of the sessions. */
  sessions: Pick<SessionsOptions, "limits" | "slots" | "slotsFrom" | "epoch" | "directory" | "journal">;
  clock: Clock;
  log: Logger;
}

/** Options of {@linkcode Feed.openHub}. */
export interface HubOptions {
  stall: StallDetector;
  /** Memory budget of all streams; several feeds may share it. Default: a new one. */
  memory?: StreamMemory;
  /** Counts open streams; several feeds may share it. Default: a new one. */
  streams?: StreamCounter;
}

/**
 * A boat's frames for clients: the broker that they are published to, the source of all readable frames, the sessions
 * and the live streams. The boat server, the simulation and each replica in the cloud have one.
 */
export class Feed {
  readonly broker: Broker;
  /** All readable frames. */
  readonly source: FrameSource;
  readonly sessions: Sessions;
  readonly #clock: Clock;

  private constructor({ broker, clock }: FeedOptions, { source, sessions }: Pick<Feed, "source" | "sessions">) {
    this.broker = broker;
    this.source = source;
    this.sessions = sessions;
    this.#clock = clock;
  }

  /** Opens a feed; sessions are restored from their directory. */
  static async open(options: FeedOptions): Promise<Feed> {
    const { broker, archive, clock, log } = options;
    const source = new FrameSource(broker, { archive });
    const compile = (filter: Parameters<typeof compileFor>[0]) => compileFor(filter, broker);
    const sessions = await Sessions.open({ ...options.sessions, source, compile, clock, log });
    return new Feed(options, { source, sessions });
  }

  /** Opens the hub of the live streams; the caller stops it. */
  openHub(options: HubOptions): StreamHub {
    return new StreamHub({ ...options, broker: this.broker, clock: this.#clock });
  }
}
