import { createParser, type EventSourceParser } from "eventsource-parser";
import type { OpenReply } from "./api.ts";
import { readTexts } from "./body.ts";
import { ConnectionError } from "./errors.ts";

/** A server-sent event; an event without a name is a frame. */
export interface ServerEvent {
  name: string | undefined;
  data: string;
}

/** Maximum length of an event. Decoded frames have less than 100 000 characters. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;
const EVENT_STREAM = "text/event-stream";

/**
 * Reads the events of a response, in lists of those that arrived together. Nothing is read before it is requested. Returns
 * when the server ends the stream.
 *
 * @param options.silenceMs maximum wait for data, milliseconds
 * @throws {ConnectionError} the connection was lost, nothing was received for `silenceMs`, or the response is no event
 * stream
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
    throw new ConnectionError("The event stream is malformed", { cause: error });
  }
}
