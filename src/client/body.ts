import type { Cancel } from "./cancel.ts";
import { ConnectionError } from "./errors.ts";

/** The body of a response that is read while it arrives. */
export interface OpenBody {
  body: ReadableStream<Uint8Array>;
  /** Aborts the reading. */
  cancel: Cancel;
}

/** Options of reading a body. */
interface ReadOptions {
  /** Maximum wait for data, milliseconds; default 0: no limit. */
  silenceMs?: number;
}

/** Reads the text of a response as it arrives. Otherwise as {@linkcode readBytes}. */
export async function* readTexts(open: OpenBody, options: ReadOptions = {}): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const bytes of readBytes(open, options)) yield decoder.decode(bytes, { stream: true });
}

/**
 * Reads a response as it arrives. Nothing is read before it is requested.
 *
 * @throws {ConnectionError} the connection was lost, or nothing was received for `silenceMs`
 */
export async function* readBytes(
  { body, cancel }: OpenBody,
  { silenceMs = 0 }: ReadOptions = {},
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
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
      if (!done) yield value;
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
