import type { Client, ClientFrame, FieldSpan, PgnDetails } from "@vessel/gateway/client";

/** Longest payload of which the spans are remembered: longer ones are rare, and some have texts at several places. */
const MAX_KNOWN_BYTES = 8;

/** Reads where the fields of messages are from the server, which knows the layout that a payload chooses. */
export class SpanReader {
  readonly #client: Client;
  readonly #known = new Map<string, readonly FieldSpan[]>();
  #asking: AbortController | undefined;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Where the fields of a message are; empty if that is unknown. Cancels the request before, which then returns nothing. */
  async read(frame: ClientFrame, details: PgnDetails | undefined): Promise<readonly FieldSpan[]> {
    this.cancel();
    if (!frame.decoded) return [];
    const key = layoutKey(frame, details);
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known) return known;
    const asking = this.#asking = new AbortController();
    try {
      const spans = await this.#client.pgnSpans(frame.pgn, frame.data, { signal: asking.signal });
      if (key !== undefined) this.#known.set(key, spans);
      return spans;
    } catch {
      // Bytes are shown without their fields then; the next message asks again.
      return [];
    }
  }

  cancel(): void {
    this.#asking?.abort();
  }
}

/** Messages with the same key have their fields at the same places; undefined: the data decides, not only the layout. */
export function layoutKey(
  { pgn, data, decoded }: Pick<ClientFrame, "pgn" | "data" | "decoded">,
  details: PgnDetails | undefined,
): string | undefined {
  const bytes = data.length / 2;
  if (!details || bytes > MAX_KNOWN_BYTES) return undefined;
  const isFixed = details.layouts.every(({ fields }) => fields.every((field) => "bits" in field));
  if (!isFixed) return undefined;
  const names = new Set(details.layouts.flatMap(({ matches = [] }) => matches.map(({ name }) => name)));
  const variant = Array.from(names, (name) => name === undefined ? undefined : decoded?.[name]);
  return variant.includes(undefined) ? undefined : JSON.stringify([pgn, bytes, variant]);
}
