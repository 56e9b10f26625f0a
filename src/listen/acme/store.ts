import { AtomicFile } from "../../base/mod.ts";
import { checkTlsPair, TlsError, type TlsPair } from "../tls_pair.ts";

const FOLDER_MODE = 0o700;
const ACCOUNT = "account.pem";
const KEY = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----\n?/;

/** What is kept of an authority: the key of the account there, and certificates. Others cannot read it. */
export class AcmeStore {
  readonly #directory: string;

  /** @param directory is made when something is written */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * The account's key, PEM; made with `make` where there is none.
   *
   * @throws {FileError} it cannot be read, or cannot be kept
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
   * The certificate of a domain and its key; undefined when there is none.
   *
   * @throws {FileError} the file cannot be read
   * @throws {TlsError} it cannot be used
   */
  async read(domain: string): Promise<TlsPair | undefined> {
    const bytes = await (await this.#file(`${domain}.pem`)).read();
    if (bytes === undefined) return undefined;
    const text = new TextDecoder().decode(bytes);
    const [key] = KEY.exec(text) ?? [];
    if (key === undefined) throw new TlsError("there is no key");
    return checkTlsPair(text.replace(key, ""), key);
  }

  /** Keeps a certificate with its key, in one file: the two are replaced together. @throws {FileError} it cannot */
  async write(domain: string, { cert, key }: Pick<TlsPair, "cert" | "key">): Promise<void> {
    await (await this.#file(`${domain}.pem`)).write(`${key.trimEnd()}\n${cert.trimEnd()}\n`);
  }

  async #file(name: string): Promise<AtomicFile> {
    await Deno.mkdir(this.#directory, { recursive: true, mode: FOLDER_MODE });
    return new AtomicFile(this.#directory, { name });
  }
}
