import type { Cancel } from "./cancel.ts";
import { ConnectionError } from "./errors.ts";

/** A reply whose body is read while it comes. */
export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  /** Ends the reading. */
  cancel: Cancel;
}

/**
 * Reads the text of a reply as it comes. Nothing is read before it is asked for.
 *
 * @param options.silenceMs a connection on which nothing comes for so long, while something is waited for, is dead;
 * default 0: any silence is borne
 * @throws {ConnectionError} the connection was lost, or is dead
 */
export async function* readTexts(
  { body, cancel }: OpenBody,
  { silenceMs = 0 }: { silenceMs?: number } = {},
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const isDead = () => new ConnectionError(`Nothing came for ${silenceMs / 1000} s`);
  // A body need not end with the signal of its fetch: runtimes may have forgotten it.
  const leave = () => void reader.cancel().catch(() => {});
  cancel.signal.addEventListener("abort", leave);
  try {
    for (;;) {
      cancel.signal.throwIfAborted();
      if (silenceMs > 0) cancel.within(silenceMs, isDead);
      const { value, done } = await reader.read();
      if (silenceMs > 0) cancel.inTime();
      if (!done) yield decoder.decode(value, { stream: true });
      else return cancel.signal.throwIfAborted();
    }
  } catch (error) {
    cancel.signal.throwIfAborted();
    throw new ConnectionError("The connection was lost", { cause: error });
  } finally {
    cancel.signal.removeEventListener("abort", leave);
    await reader.cancel().catch(() => {});
  }
}
