/** Memory of a message in the WebSocket implementation besides its bytes; measured with Deno 2.9.6. */
const OVERHEAD_BYTES = 1024;

/**
 * The messages that a WebSocket has not sent yet. The socket reports only bytes, but the memory of short messages is
 * mostly overhead.
 */
export class UnsentMessages {
  /** Lengths, oldest first. */
  #lengths: number[] = [];
  #bytes = 0;
  #sent = 0;

  /** Messages sent since the start. */
  get sent(): number {
    return this.#sent;
  }

  /** Messages not sent as of the last update. */
  get count(): number {
    return this.#lengths.length;
  }

  /** Bytes of the unsent messages. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Memory of the unsent messages, including overhead. */
  get memoryBytes(): number {
    return this.#bytes + this.#lengths.length * OVERHEAD_BYTES;
  }

  /** Adds a message given to the socket. Returns its memory, bytes. */
  add(length: number): number {
    this.#lengths.push(length);
    this.#bytes += length;
    return length + OVERHEAD_BYTES;
  }

  /** Updates from the socket's `bufferedAmount`. Returns the number of messages sent since the last call. */
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
