import { sendRaw } from "./raw_http.ts";

/** A WebSocket over a bare connection, so that the test decides when bytes are read. */
export class SlowSocket {
  /** Messages read so far, from JSON. */
  readonly messages: unknown[] = [];
  readonly #connection: Deno.TcpConn;
  #reading: Promise<void> = Promise.resolve();

  private constructor(connection: Deno.TcpConn) {
    this.#connection = connection;
  }

  /** Asks for the upgrade, and reads nothing yet. */
  static async open(url: string): Promise<SlowSocket> {
    const connection = await sendRaw(url, {
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      },
    });
    return new SlowSocket(connection);
  }

  /** Reads from now on. */
  read(): void {
    this.#reading = readMessages(this.#connection, this.messages).catch(() => {});
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    this.#connection.close();
    await this.#reading;
  }
}

/** Reads unmasked text messages (RFC 6455 §5.2), after the head of the reply. */
async function readMessages(connection: Deno.TcpConn, into: unknown[]): Promise<void> {
  const reader = connection.readable.getReader();
  let bytes = new Uint8Array(0);
  let hasBegun = false;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const joined = new Uint8Array(bytes.length + value.length);
    joined.set(bytes);
    joined.set(value, bytes.length);
    bytes = joined;
    if (!hasBegun) {
      const end = new TextDecoder("latin1").decode(bytes).indexOf("\r\n\r\n");
      if (end < 0) continue;
      bytes = bytes.slice(end + 4);
      hasBegun = true;
    }
    bytes = takeMessages(bytes, into);
  }
}

function takeMessages(bytes: Uint8Array<ArrayBuffer>, into: unknown[]): Uint8Array<ArrayBuffer> {
  let at = 0;
  for (;;) {
    const view = new DataView(bytes.buffer, bytes.byteOffset + at);
    if (view.byteLength < 4) return bytes.slice(at);
    const short = view.getUint8(1) & 0x7f;
    const head = short === 127 ? 10 : short === 126 ? 4 : 2;
    if (view.byteLength < head) return bytes.slice(at);
    const length = short === 127 ? Number(view.getBigUint64(2)) : short === 126 ? view.getUint16(2) : short;
    if (view.byteLength < head + length) return bytes.slice(at);
    const isText = (view.getUint8(0) & 0x0f) === 1;
    if (isText) into.push(JSON.parse(new TextDecoder().decode(bytes.subarray(at + head, at + head + length))));
    at += head + length;
  }
}
