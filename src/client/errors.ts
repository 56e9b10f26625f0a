import type { Problem } from "./types.ts";

/** The server responded with an error (RFC 9457). */
export class ApiError extends Error {
  /** `ApiError`. */
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly status: number;
  /** The server's description; derived from the status if the response has none. */
  readonly problem: Problem;
  /** `Retry-After` of the response, milliseconds. */
  readonly retryAfterMs: number | undefined;

  /** Creates the error of a request: `GET http://…`. */
  constructor(request: string, { problem, retryAfterMs }: { problem: Problem; retryAfterMs?: number | undefined }) {
    super(`${request}: ${problem.status} ${problem.detail}`);
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server cannot be reached, the connection was lost, or the response is not that of a gateway. */
export class ConnectionError extends Error {
  /** `ConnectionError`. */
  override readonly name = "ConnectionError";
}

/** The server no longer has the next frames of the session. Acknowledge them to continue with the oldest it has. */
export class FallenBehindError extends Error {
  /** `FallenBehindError`. */
  override readonly name = "FallenBehindError";
  /** The session's id. */
  readonly session: string;
  /** Sequence number of the first frame that the session has not read. */
  readonly fromSeq: number;
  /** Oldest available sequence number: acknowledge the one before it to continue. */
  readonly oldestSeq: number;

  /** @ignore */
  constructor(session: string, { fromSeq, oldestSeq }: { fromSeq: number; oldestSeq: number }) {
    super(`Session "${session}" has fallen behind: it needs frame ${fromSeq}, the oldest is ${oldestSeq}`);
    this.session = session;
    this.fromSeq = fromSeq;
    this.oldestSeq = oldestSeq;
  }
}

/** Another client reads the session now. */
export class SupersededError extends Error {
  /** `SupersededError`. */
  override readonly name = "SupersededError";
  /** The session's id. */
  readonly session: string;

  /** @ignore */
  constructor(session: string) {
    super(`Session "${session}" is read by another client now`);
    this.session = session;
  }
}

/** The session was deleted while it was read. */
export class SessionDeletedError extends Error {
  /** `SessionDeletedError`. */
  override readonly name = "SessionDeletedError";
  /** The session's id. */
  readonly session: string;

  /** @ignore */
  constructor(session: string) {
    super(`Session "${session}" was deleted`);
    this.session = session;
  }
}
