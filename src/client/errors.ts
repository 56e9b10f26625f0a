import type { Problem } from "./types.ts";

/** The server has answered, and refuses: RFC 9457. */
export class ApiError extends Error {
  /** `ApiError`. */
  override readonly name = "ApiError";
  /** HTTP status code. */
  readonly status: number;
  /** What the server says of it; made up from the status when it says nothing. */
  readonly problem: Problem;
  /** How long the server wants to be left alone, milliseconds; undefined: it has not said. */
  readonly retryAfterMs: number | undefined;

  /** Made from the reply to `request`: `GET http://…`. */
  constructor(request: string, { problem, retryAfterMs }: { problem: Problem; retryAfterMs?: number | undefined }) {
    super(`${request}: ${problem.status} ${problem.detail}`);
    this.status = problem.status;
    this.problem = problem;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The server cannot be reached, the connection is lost, or what came is not what such a server sends. */
export class ConnectionError extends Error {
  /** `ConnectionError`. */
  override readonly name = "ConnectionError";
}

/** Frames that a session still has to read are kept no longer; what heals it is to go on with those that there are. */
export class FallenBehindError extends Error {
  /** `FallenBehindError`. */
  override readonly name = "FallenBehindError";
  /** The session's id. */
  readonly session: string;
  /** First number that the session has not read. */
  readonly fromSeq: number;
  /** Oldest number that there is: acknowledging all before it heals the session. */
  readonly oldestSeq: number;

  /** @ignore */
  constructor(session: string, { fromSeq, oldestSeq }: { fromSeq: number; oldestSeq: number }) {
    super(`Session "${session}" has fallen behind: it needs frame ${fromSeq}, the oldest is ${oldestSeq}`);
    this.session = session;
    this.fromSeq = fromSeq;
    this.oldestSeq = oldestSeq;
  }
}

/** Somebody else reads the session now. */
export class SupersededError extends Error {
  /** `SupersededError`. */
  override readonly name = "SupersededError";
  /** The session's id. */
  readonly session: string;

  /** @ignore */
  constructor(session: string) {
    super(`Session "${session}" is read by somebody else now`);
    this.session = session;
  }
}

/** Somebody has deleted the session while it was read. */
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
