import type { SignalKOptions, SignalKServer } from "./server.ts";
import { type SignalKService, signalkServices } from "./vessel.ts";

/** Signal K of one boat, loaded and started at the first request. */
export class SignalK {
  readonly #options: SignalKOptions;
  #starting: Promise<SignalKServer> | undefined;
  #server: SignalKServer | undefined;
  #isStopped = false;

  constructor(options: SignalKOptions) {
    this.#options = options;
  }

  /** The server; undefined: nobody has asked for it yet. */
  get running(): SignalKServer | undefined {
    return this.#server;
  }

  /** Context of the own vessel: `vessels.urn:mrn:…`. */
  get context(): string {
    return `vessels.${this.#options.vessel.id}`;
  }

  /** The server, which is started if it is not running. */
  start(): Promise<SignalKServer> {
    return this.#starting ??= this.#load().catch((error) => {
      // The next request tries again.
      this.#starting = undefined;
      throw error;
    });
  }

  /** Health part. */
  health(): { status: "ok" | "degraded"; message: string } {
    const server = this.#server;
    if (!server) return { status: "ok", message: "not used yet" };
    const { clients: { all, slow }, refusedValues, isFull } = server;
    if (isFull) {
      return { status: "degraded", message: `${refusedValues} values not kept: there are too many` };
    }
    return { status: "ok", message: `${all} clients${slow > 0 ? `, ${slow} of them too slow` : ""}` };
  }

  /** The services that clients search for by mDNS. */
  services(how: { tls: boolean }): SignalKService[] {
    return signalkServices(this.#options.vessel, how);
  }

  /** Disconnects all clients. */
  stop(): void {
    this.#isStopped = true;
    this.#server?.stop();
  }

  async #load(): Promise<SignalKServer> {
    const { SignalKServer } = await import("./server.ts");
    const server = new SignalKServer(this.#options);
    if (this.#isStopped) server.stop();
    return this.#server = server;
  }
}
