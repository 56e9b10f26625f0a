import { eventually } from "./eventually.ts";

/** A bucket of the S3 server `s3rver`. It knows one access key and does not check signatures of requests. */
export const BUCKET = "boats";
/** Environment of who may write into it. */
export const S3_ENVIRONMENT = { AWS_ACCESS_KEY_ID: "S3RVER", AWS_SECRET_ACCESS_KEY: "S3RVER" };

/** `s3rver` as a process. */
export class S3Server implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #folder: string;
  #log = "";
  #logging: Promise<void>;
  #endpoint: (url: string) => void = () => {};
  /** Its address, once it listens. */
  readonly endpoint: Promise<string>;

  /** Starts it with an empty bucket that lives in a folder. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#process = new Deno.Command("s3rver", {
      args: ["-d", folder, "-a", "127.0.0.1", "-p", "0", "--configure-bucket", BUCKET],
      env: { NO_COLOR: "1" },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.endpoint = promise;
    this.#endpoint = resolve;
    this.#logging = this.#follow();
    void this.#process.status.then(() => reject(new Error(`s3rver ended: ${this.#log}`)));
  }

  /** Objects that were stored so far, one entry for each time, in the order of their names. */
  async stored(): Promise<string[]> {
    // Its log comes later than its answers: what was before a request of our own is in when that is.
    const mark = `mark-${crypto.randomUUID()}`;
    await (await fetch(`${await this.endpoint}/${BUCKET}/${mark}`, { method: "HEAD" })).body?.cancel();
    await eventually("the store's log", () => this.#log.includes(mark));
    return [...this.#log.matchAll(/Stored object "([^"]*)"/g)].map(([, key = ""]) => key).sort();
  }

  /** Bytes of an object. */
  read(key: string): Uint8Array {
    return Deno.readFileSync(`${this.#folder}/${BUCKET}/${key}._S3rver_object`);
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    await this.#logging;
  }

  async #follow(): Promise<void> {
    for await (const piece of this.#process.stdout.pipeThrough(new TextDecoderStream())) {
      this.#log += piece;
      const [, address] = /listening on (\S+)\n/.exec(this.#log) ?? [];
      if (address !== undefined) this.#endpoint(`http://${address}`);
    }
  }
}
