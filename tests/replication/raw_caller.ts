import { Buffer } from "node:buffer";
import type { Client, Metadata } from "@grpc/grpc-js";

/** The peer's `HandshakeRequest{boat-001, 50000, 52428800}`. */
export const REQUEST_BYTES = Uint8Array.fromHex("0a08626f61742d30303110d086031880808019");

/** How a call ended. */
export interface RawStatus {
  code: string;
  details: string;
  /** What came before. */
  messages: Uint8Array[];
}

/** Calls methods with bytes, right or wrong, as software that is not ours would. */
export class RawCaller {
  readonly #client: Client;
  readonly #metadata: Metadata;
  readonly #codes: Record<number, string>;

  private constructor(client: Client, { metadata, codes }: { metadata: Metadata; codes: Record<number, string> }) {
    this.#client = client;
    this.#metadata = metadata;
    this.#codes = codes;
  }

  /**
   * Over TLS when there is an authority, else plain; without a certificate unless there is one. Every call has the peer's
   * header, and messages may be as long as one likes.
   */
  static async start(
    port: number,
    { ca, pair, instanceId = "boat-001" }: {
      ca?: string;
      pair?: { cert: string; key: string };
      instanceId?: string;
    } = {},
  ): Promise<RawCaller> {
    const grpc = await import("@grpc/grpc-js");
    const { createSsl, createInsecure } = grpc.credentials;
    const own = pair ? [Buffer.from(pair.key), Buffer.from(pair.cert)] : [];
    const security = ca === undefined ? createInsecure() : createSsl(Buffer.from(ca), ...own);
    const metadata = new grpc.Metadata();
    metadata.set("x-instance-id", instanceId);
    const client = new grpc.Client(`localhost:${port}`, security, { "grpc.max_send_message_length": -1 });
    return new RawCaller(client, { metadata, codes: grpc.status });
  }

  /** Sends these messages, ends, and waits for the status. Sends unary calls, too: on the wire they are the same. */
  statusOf(path: string, ...messages: Uint8Array[]): Promise<RawStatus> {
    const same = (bytes: Buffer) => bytes;
    const call = this.#client.makeBidiStreamRequest(path, same, same, this.#metadata);
    const got: Uint8Array[] = [];
    call.on("data", (bytes: Uint8Array) => got.push(bytes));
    call.on("error", () => {});
    for (const message of messages) call.write(Buffer.from(message));
    call.end();
    return new Promise((resolve) => {
      call.on("status", ({ code, details }) => {
        resolve({ code: this.#codes[code] ?? String(code), details, messages: got });
      });
    });
  }

  close(): void {
    this.#client.close();
  }
}
