import { AtomicFile } from "../../base/mod.ts";
import { checkTlsPair, TlsError, type TlsPair } from "../tls_files.ts";

const FOLDER_MODE = 0o700;
const ACCOUNT = "account.pem";
const KEY = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----\n?/;

/** Files of one authority: account key and certificates, readable only by the owner. */
export class AcmeStore {
  readonly #directory: string;

  /** @param directory is created at the first access */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The account key, PEM; created with `make` if there is none.
   *
   * @throws {FileError} the file cannot be read or written
   */
  async accountKey(make: () => Promise<string>): Promise<string> {
    const file = await this.#file(ACCOUNT);
    const bytes = await file.read();
    if (bytes) return new TextDecoder().decode(bytes);
    const key = await make();
    await file.write(key);
    return key;
  }

  /**
   * The stored certificate of a domain; undefined if there is none.
   *
   * @throws {FileError} the file cannot be read
   * @throws {TlsError} the certificate cannot be used
   */
  async read(domain: string): Promise<TlsPair | undefined> {
    const bytes = await (await this.#file(`${domain}.pem`)).read();
    if (bytes === undefined) return undefined;
    const text = new TextDecoder().decode(bytes);
    const [key] = KEY.exec(text) ?? [];
    if (key === undefined) throw new TlsError("the file has no private key");
    return checkTlsPair(text.replace(key, ""), key);
  }

  /** Writes certificate and key to one file, which replaces both atomically. @throws {FileError} the write fails */
  async write(domain: string, { cert, key }: Pick<TlsPair, "cert" | "key">): Promise<void> {
    await (await this.#file(`${domain}.pem`)).write(`${key.trimEnd()}\n${cert.trimEnd()}\n`);
  }

  async #file(name: string): Promise<AtomicFile> {
    await Deno.mkdir(this.#directory, { recursive: true, mode: FOLDER_MODE });
    return new AtomicFile(this.#directory, { name });
  }
}
