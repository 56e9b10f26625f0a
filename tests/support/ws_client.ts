import { eventually } from "./eventually.ts";

/** What the server says: `{type, data}`. */
export interface Envelope {
  type: string;
  data: unknown;
}

/** A WebSocket client that keeps what it is told. */
export class WsClient implements AsyncDisposable {
  readonly socket: WebSocket;
  readonly messages: Envelope[] = [];
  /** Set when the connection has closed. */
  closed: { code: number; reason: string } | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.onmessage = ({ data }) => this.messages.push(JSON.parse(String(data)));
    socket.onclose = ({ code, reason }) => this.closed = { code, reason };
  }

  /** Connects; `url` may begin with http. */
  static async open(url: string | URL, options?: { headers: Record<string, string> }): Promise<WsClient> {
    const client = new WsClient(new WebSocket(String(url).replace(/^http/, "ws"), options));
    const { socket } = client;
    await eventually(`a WebSocket at ${url}`, () => socket.readyState !== WebSocket.CONNECTING);
    if (socket.readyState !== WebSocket.OPEN) throw new Error(`Cannot open a WebSocket at ${url}`);
    return client;
  }

  /** Data of all messages of one type. */
  of<T>(type: string): T[] {
    return this.messages.filter((message) => message.type === type).map(({ data }) => data as T);
  }

  /** Waits for so many messages of one type. */
  async atLeast<T>(type: string, count: number): Promise<T[]> {
    await eventually(`${count} messages of type ${type}`, () => this.of(type).length >= count);
    return this.of<T>(type);
  }

  /** Says something and waits for the next error message. */
  async errorTo(message: string | Uint8Array<ArrayBuffer>): Promise<string | undefined> {
    const before = this.of("error").length;
    this.socket.send(message);
    return (await this.atLeast<string>("error", before + 1))[before];
  }

  /** Closes and waits until it is closed. */
  async close(): Promise<void> {
    if (this.socket.readyState < WebSocket.CLOSING) this.socket.close();
    await eventually("the WebSocket to close", () => this.closed !== undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
