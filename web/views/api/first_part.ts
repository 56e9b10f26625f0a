/** Most bytes of a reply that are shown. */
export const MAX_REPLY_BYTES = 20_000;
/** Longest time that a reply is read, milliseconds: streams never end. */
const READ_MS = 4000;

/** The beginning of a reply. */
export interface FirstPart {
  status: string;
  text: string;
  /** What is left out. */
  note: string;
}

/** Sends a request and reads the first bytes of its reply; JSON that is whole is indented. */
export async function firstPart(
  send: (signal: AbortSignal) => Promise<Response>,
  { maxBytes = MAX_REPLY_BYTES, readMs = READ_MS }: { maxBytes?: number; readMs?: number } = {},
): Promise<FirstPart> {
  const stop = new AbortController();
  const response = await send(stop.signal);
  const reader = response.body?.getReader();
  const timer = setTimeout(() => void reader?.cancel(), readMs);
  const parts: Uint8Array[] = [];
  let bytes = 0;
  let isWhole = false;
  const startMs = performance.now();
  while (reader && bytes < maxBytes) {
    const { done, value } = await reader.read();
    // A cancelled reader is done, too.
    if (done) {
      isWhole = performance.now() - startMs < readMs;
      break;
    }
    parts.push(value);
    bytes += value.length;
  }
  clearTimeout(timer);
  stop.abort();
  const text = await new Blob(parts.map((part) => Uint8Array.from(part))).slice(0, maxBytes).text();
  const status = `${response.status} ${response.statusText}`.trim();
  if (!isWhole && reader) return { status, text, note: `the first ${Math.min(bytes, maxBytes)} bytes` };
  const isJson = response.headers.get("Content-Type")?.includes("json") ?? false;
  return { status, text: isJson ? indented(text) : text, note: `${bytes} bytes` };
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
