import { timerMs } from "@vessel/gateway/base";
import { ApiError, type Client, ConnectionError, type Filter } from "@vessel/gateway/client";
import type { LiveView } from "./live.ts";

/** How a session is read. */
export interface SessionDump {
  client: Client;
  id: string;
  bufferTimeout: string;
  ackIntervalMs: number;
  filter: Filter;
  live: LiveView;
  /** Resolves when all frames received so far are written out and recorded. */
  settle: () => Promise<void>;
  signal: AbortSignal;
}

/** Longest wait for the last acknowledgement. */
const LAST_ACK_MS = 3000;

/**
 * Reads a session and acknowledges what was written out. The session outlives the program: the last action
 * is an acknowledgement, and nothing is deleted.
 */
export async function dumpSession(dump: SessionDump): Promise<void> {
  const { client, id, bufferTimeout, ackIntervalMs, filter, live, settle, signal } = dump;
  const session = client.session(id, { bufferTimeout, filter, ack: "manual", fallenBehind: "skip" });
  const acks = new Acknowledgements({ live, settle, ack: (seq) => session.ack(seq) });
  const failing = Promise.withResolvers<never>();
  const timer = setInterval(() => void acks.send().catch(failing.reject), timerMs(ackIntervalMs));
  const ended = new AbortController();
  const reading = live.run(session.events(), AbortSignal.any([signal, ended.signal]));
  try {
    await Promise.race([reading, failing.promise]);
  } finally {
    clearInterval(timer);
    ended.abort();
    await reading.catch(() => {});
    const timeout = AbortSignal.timeout(LAST_ACK_MS);
    const last = client.session(id, { signal: timeout });
    await Promise.race([acks.finish((seq) => last.ack(seq)), whenAborted(timeout)]);
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
}

/** Acknowledges frames that have left this process. */
class Acknowledgements {
  readonly #live: LiveView;
  readonly #settle: () => Promise<void>;
  readonly #ack: (seq: number) => Promise<void>;
  #acked = 0;
  #sending: Promise<void> | undefined;

  constructor({ live, settle, ack }: Pick<SessionDump, "live" | "settle"> & { ack: (seq: number) => Promise<void> }) {
    this.#live = live;
    this.#settle = settle;
    this.#ack = ack;
  }

  /** One at a time. Rejects when the output is closed, or the server refuses permanently. */
  send(): Promise<void> {
    return this.#sending ??= this.#send(this.#ack).finally(() => this.#sending = undefined);
  }

  /** The last acknowledgement: frames that it does not cover are sent again the next time. */
  async finish(ack: (seq: number) => Promise<void>): Promise<void> {
    try {
      await this.#sending;
      await this.#send(ack);
    } catch {
      // The program is ending: there is nobody to report to.
    }
  }

  async #send(ack: (seq: number) => Promise<void>): Promise<void> {
    const seq = this.#live.lastSeq;
    if (seq === this.#acked) return;
    await this.#settle();
    try {
      await ack(seq);
      this.#acked = seq;
    } catch (error) {
      // Transient failures are retried; the stream reports a deleted session or a new epoch.
      const isTold = error instanceof ApiError && (error.status === 404 || error.status === 400 || error.status >= 500);
      if (!(error instanceof ConnectionError) && !isTold) throw error;
    }
  }
}
