/** The parts of a TLS ClientHello that the listener needs. */
export interface ClientHello {
  /** Offered protocols in order of preference (ALPN, RFC 7301); empty: no ALPN. */
  protocols: readonly string[];
  /** Server name (SNI, RFC 6066), lower case. */
  serverName: string | undefined;
}

/** Result of {@linkcode readClientHello}. */
export type HelloReading =
  /** More bytes are needed. */
  | { kind: "partial" }
  | { kind: "hello"; hello: ClientHello }
  /** Not a valid ClientHello. */
  | { kind: "none" };

/** Maximum length of a hello; usual ones have 300 bytes to 2 KiB. */
export const MAX_HELLO_BYTES = 16 * 1024;

/** RFC 8446 §5.1, §4, §4.2. */
const RECORD_HEADER_BYTES = 5;
const HANDSHAKE_RECORD = 22;
const TLS_MAJOR = 3;
const CLIENT_HELLO = 1;
const HELLO_HEADER_BYTES = 4;
const SERVER_NAME_EXTENSION = 0;
const PROTOCOLS_EXTENSION = 16;
const HOST_NAME = 0;
const RANDOM_BYTES = 32;

const PARTIAL: HelloReading = { kind: "partial" };
const NONE: HelloReading = { kind: "none" };

/** The bytes end early, or a length points past their end. */
class HelloError extends Error {
  override name = "HelloError";
}

/**
 * Parses the bytes that a client has sent so far. The hello may span several records and may be incomplete.
 *
 * @param bytes everything from the first byte on
 */
export function readClientHello(bytes: Uint8Array): HelloReading {
  const handshake = joinRecords(bytes);
  if (handshake === undefined) return NONE;
  const { content } = handshake;
  if (content.length > 0 && content[0] !== CLIENT_HELLO) return NONE;
  const length = content.length < HELLO_HEADER_BYTES ? undefined : new Reader(content.subarray(1)).number(3);
  if (length !== undefined && length > MAX_HELLO_BYTES) return NONE;
  if (length === undefined || content.length < HELLO_HEADER_BYTES + length) {
    return bytes.length > MAX_HELLO_BYTES ? NONE : PARTIAL;
  }
  try {
    return { kind: "hello", hello: readHello(content.subarray(HELLO_HEADER_BYTES, HELLO_HEADER_BYTES + length)) };
  } catch (error) {
    if (!(error instanceof HelloError)) throw error;
    return NONE;
  }
}

/** Joins the content of the records, of which the last may be incomplete; undefined: not handshake records. */
function joinRecords(bytes: Uint8Array): { content: Uint8Array } | undefined {
  const content = new Uint8Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    const [type, major] = [bytes[at], bytes[at + 1]];
    if (type !== HANDSHAKE_RECORD || (major !== undefined && major !== TLS_MAJOR)) {
      // Bytes after the hello are not checked.
      if (isComplete(content.subarray(0, length))) break;
      return undefined;
    }
    if (bytes.length < at + RECORD_HEADER_BYTES) break;
    const size = new Reader(bytes.subarray(at + 3)).number(2);
    // RFC 8446 §5.1: a handshake has no empty record.
    if (size === 0) return undefined;
    const part = bytes.subarray(at + RECORD_HEADER_BYTES, at + RECORD_HEADER_BYTES + size);
    content.set(part, length);
    length += part.length;
    at += RECORD_HEADER_BYTES + size;
  }
  return { content: content.subarray(0, length) };
}

function isComplete(content: Uint8Array): boolean {
  return content.length >= HELLO_HEADER_BYTES &&
    content.length >= HELLO_HEADER_BYTES + new Reader(content.subarray(1)).number(3);
}

function readHello(body: Uint8Array): ClientHello {
  const reader = new Reader(body);
  reader.bytes(2 + RANDOM_BYTES);
  reader.vector(1); // session id
  reader.vector(2); // cipher suites
  reader.vector(1); // compression methods
  let protocols: string[] = [];
  let serverName: string | undefined;
  if (!reader.isAtEnd) {
    for (const extensions = reader.vector(2); !extensions.isAtEnd;) {
      const type = extensions.number(2);
      const content = extensions.vector(2);
      if (type === PROTOCOLS_EXTENSION) protocols = readProtocols(content);
      if (type === SERVER_NAME_EXTENSION) serverName = readServerName(content);
    }
  }
  return { protocols, serverName };
}

function readProtocols(content: Reader): string[] {
  const names: string[] = [];
  for (const list = content.vector(2); !list.isAtEnd;) names.push(list.vector(1).text());
  return names;
}

function readServerName(content: Reader): string | undefined {
  for (const list = content.vector(2); !list.isAtEnd;) {
    const type = list.number(1);
    const name = list.vector(2).text();
    if (type === HOST_NAME) return name.toLowerCase();
  }
  return undefined;
}

/** Reads numbers and vectors in sequence. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  bytes(length: number): Uint8Array {
    const part = this.#bytes.subarray(this.#at, this.#at + length);
    if (part.length < length) throw new HelloError("the hello ends early");
    this.#at += length;
    return part;
  }

  /** Big-endian. */
  number(length: number): number {
    return this.bytes(length).reduce((value, byte) => value * 256 + byte, 0);
  }

  /** Bytes with a length prefix of `lengthBytes` bytes. */
  vector(lengthBytes: number): Reader {
    return new Reader(this.bytes(this.number(lengthBytes)));
  }

  text(): string {
    return String.fromCharCode(...this.bytes(this.#bytes.length - this.#at));
  }
}
