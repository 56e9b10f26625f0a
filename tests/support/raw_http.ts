/** A reply that has not ended by then will not end. */
const DEADLINE_MS = 60_000;

/** What came back, nothing decoded but the chunks. */
export interface RawReply {
  status: number;
  headers: Headers;
  body: Uint8Array<ArrayBuffer>;
  /** The body as text, unpacked when it is gzip. */
  text: () => Promise<string>;
}

/** What is asked. */
export interface RawRequest {
  method?: string;
  headers?: Record<string, string>;
  /** Sent with its length. */
  body?: string;
}

/** Opens a connection and sends a request on it; the rest is up to the caller. */
export async function sendRaw(
  url: string | URL,
  { method = "GET", headers = {}, body }: RawRequest = {},
): Promise<Deno.TcpConn> {
  const { hostname, port, pathname, search, host } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const length = body !== undefined && { "Content-Length": String(new TextEncoder().encode(body).length) };
  const lines = Object.entries({ Host: host, ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`;
  await connection.write(new TextEncoder().encode(head + (body ?? "")));
  return connection;
}

/** Asks over a connection of its own and gives the reply as it came: fetch hides encodings and refuses methods. */
export async function rawRequest(url: string | URL, request: RawRequest = {}): Promise<RawReply> {
  const connection = await sendRaw(url, request);
  const deadline = setTimeout(() => connection.close(), DEADLINE_MS);
  try {
    let bytes = new Uint8Array(0);
    const buffer = new Uint8Array(65_536);
    for (;;) {
      const count = await connection.read(buffer);
      if (count === null) throw new Error(`Connection closed after ${bytes.length} bytes`);
      const joined = new Uint8Array(bytes.length + count);
      joined.set(bytes);
      joined.set(buffer.subarray(0, count), bytes.length);
      bytes = joined;
      const reply = readReply(bytes, request.method ?? "GET");
      if (reply) return reply;
    }
  } finally {
    clearTimeout(deadline);
    connection.close();
  }
}

/** The reply, or nothing while it is not whole. */
function readReply(bytes: Uint8Array<ArrayBuffer>, method: string): RawReply | undefined {
  const latin1 = new TextDecoder("latin1").decode(bytes);
  const end = latin1.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [statusLine = "", ...lines] = latin1.slice(0, end).split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  const headers = new Headers(
    lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const rest = bytes.slice(end + 4);
  const chunked = headers.get("Transfer-Encoding") === "chunked";
  // What does not end is told as far as it came: a stream that opens where it must not is seen at once.
  const isStream = headers.get("Content-Type")?.startsWith("text/event-stream") ?? false;
  const bodiless = method === "HEAD" || status === 204 || status < 200 || isStream;
  const length = bodiless ? 0 : Number(headers.get("Content-Length") ?? 0);
  const body = bodiless || !chunked ? rest : joinChunks(rest);
  if (!body || body.length < length) return undefined;
  const text = () => {
    const stream = new Blob([body]).stream();
    return new Response(
      headers.get("Content-Encoding") === "gzip" ? stream.pipeThrough(new DecompressionStream("gzip")) : stream,
    ).text();
  };
  return { status, headers, body, text };
}

/** The bytes of all chunks; nothing while the last one is missing. */
function joinChunks(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const joined: number[] = [];
  const latin1 = new TextDecoder("latin1").decode(bytes);
  for (let at = 0;;) {
    const lineEnd = latin1.indexOf("\r\n", at);
    const length = lineEnd < 0 ? NaN : parseInt(latin1.slice(at, lineEnd), 16);
    if (Number.isNaN(length)) return undefined;
    if (length === 0) return Uint8Array.from(joined);
    joined.push(...bytes.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
