/** What a message takes in the WebSocket implementation besides its bytes; measured with Deno 2.9.6. */
const OVERHEAD_BYTES = 1024;

/**
 * The messages that a WebSocket has not sent yet. The socket tells bytes alone, and what many short messages take is
 * mostly not their bytes.
 */
export class UnsentMessages {
  /** Lengths, oldest first. */
  #lengths: number[] = [];
  #bytes = 0;
  #sent = 0;

  /** Messages sent in all. */
  get sent(): number {
    return this.#sent;
  }

  /** Messages not sent as of the last update. */
  get count(): number {
    return this.#lengths.length;
  }

  /** Their bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Memory that they take, bytes. */
  get memoryBytes(): number {
    return this.#bytes + this.#lengths.length * OVERHEAD_BYTES;
  }

  /** A message was handed to the socket. Returns the memory that it takes. */
  add(length: number): number {
    this.#lengths.push(length);
    this.#bytes += length;
    return length + OVERHEAD_BYTES;
  }

  /** The socket still has so many bytes to send. Returns how many messages it has sent since the last call. */
  update(bufferedAmount: number): number {
    let sent = 0;
    for (const length of this.#lengths) {
      if (this.#bytes - length < bufferedAmount) break;
      this.#bytes -= length;
      sent++;
    }
    if (sent > 0) this.#lengths.splice(0, sent);
    this.#sent += sent;
    return sent;
  }
}
