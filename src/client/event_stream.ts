import { createParser, type EventSourceParser } from "eventsource-parser";
import type { OpenReply } from "./api.ts";
import { readTexts } from "./body.ts";
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
    const type = reply.headers.get("Content-Type") ?? "";
    if (!type.startsWith(EVENT_STREAM)) {
      throw new ConnectionError(`Expected ${EVENT_STREAM}, got "${type}"`);
    }
    for await (const text of readTexts(reply, { silenceMs })) {
      feed(parser, text);
      yield events;
      events = [];
    }
  } finally {
    reply.close();
  }
}

function feed(parser: EventSourceParser, text: string): void {
  try {
    parser.feed(text);
  } catch (error) {
    throw new ConnectionError("What came is no event of such a server", { cause: error });
  }
}
