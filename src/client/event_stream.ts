import { createParser } from "eventsource-parser";
import type { OpenReply } from "./api.ts";
import { ConnectionError } from "./errors.ts";

/** An event of a server: without a name it is a frame. */
export interface ServerEvent {
  name: string | undefined;
  data: string;
}

/** Longest event that is taken, characters. Frames have less than a hundred thousand, decoded. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;
const EVENT_STREAM = "text/event-stream";

/**
 * Reads the events of a reply, those that came together at once. Nothing is read before it is asked for. Ends when the
 * server ends it.
 *
 * @param options.silenceMs a connection on which nothing comes for so long, while something is waited for, is dead
 * @throws {ConnectionError} the connection was lost, is dead, or carries something else
 */
export async function* readEvents(
  reply: OpenReply,
  { silenceMs }: { silenceMs: number },
): AsyncGenerator<ServerEvent[], void, undefined> {
  let events: ServerEvent[] = [];
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARACTERS,
    onEvent: ({ event, data }) => events.push({ name: event, data }),
  });
  try {
    if (!reply.contentType.startsWith(EVENT_STREAM)) {
      throw new ConnectionError(`Expected ${EVENT_STREAM}, got "${reply.contentType}"`);
    }
    for await (const text of readTexts(reply, { silenceMs })) {
      parser.feed(text);
      yield events;
      events = [];
    }
  } finally {
    reply.close();
  }
}

/**
 * Reads the text of a reply as it comes.
 *
 * @param options.silenceMs as above; 0: any silence is borne
 * @throws {ConnectionError} the connection was lost, or is dead
 */
export async function* readTexts(
  { body, cancel }: OpenReply,
  { silenceMs = 0 }: { silenceMs?: number } = {},
): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const isDead = () => new ConnectionError(`Nothing came for ${silenceMs / 1000} s`);
  try {
    for (;;) {
      if (silenceMs > 0) cancel.within(silenceMs, isDead);
      const { value, done } = await reader.read();
      cancel.inTime();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } catch (error) {
    cancel.signal.throwIfAborted();
    throw error instanceof ConnectionError ? error : new ConnectionError("The connection was lost", { cause: error });
  } finally {
    cancel.inTime();
    await reader.cancel().catch(() => {});
  }
}
