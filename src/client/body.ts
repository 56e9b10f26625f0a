import type { Cancel } from "./cancel.ts";
import { ConnectionError } from "./errors.ts";

/** The body of a response that is read while it arrives. */
export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  /** Aborts the reading. */
  cancel: Cancel;
}

/**
 * Reads the text of a response as it arrives. Nothing is read before it is requested.
 *
 * @param options.silenceMs maximum wait for data, milliseconds; default 0: no limit
 * @throws {ConnectionError} the connection was lost, or nothing was received for `silenceMs`
 */
export async function* readTexts(
  { body, cancel }: OpenBody,
  { silenceMs = 0 }: { silenceMs?: number } = {},
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const silent = () => new ConnectionError(`Nothing was received for ${silenceMs / 1000} s`);
  // In some runtimes the signal of `fetch` does not abort the body.
  const cancelBody = () => void reader.cancel().catch(() => {});
  cancel.signal.addEventListener("abort", cancelBody);
  try {
    for (;;) {
      cancel.signal.throwIfAborted();
      if (silenceMs > 0) cancel.setTimeout(silenceMs, silent);
      const { value, done } = await reader.read();
      if (silenceMs > 0) cancel.clearTimeout();
      if (!done) yield decoder.decode(value, { stream: true });
      else return cancel.signal.throwIfAborted();
    }
  } catch (error) {
    cancel.signal.throwIfAborted();
    throw new ConnectionError("The connection was lost", { cause: error });
  } finally {
    cancel.signal.removeEventListener("abort", cancelBody);
    await reader.cancel().catch(() => {});
  }
}
