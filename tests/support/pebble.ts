import { get } from "node:https";
import { TestAuthority } from "./certificates.ts";
import { Child } from "./child.ts";
import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";

/** How an authority is made. */
export interface PebbleOptions {
  /** How long its certificates are good, seconds. */
  validityS?: number;
  /** Per cent of the requests that it refuses at first, as authorities may (RFC 8555 §6.5). */
  refusedNonces?: number;
}

/** The authority `pebble`, which gives out certificates by ACME, and its own DNS, where all names are 127.0.0.1. */
export class Pebble implements AsyncDisposable {
  /** Where it looks for pages, whatever the domain. */
  readonly httpPort: number;
  /** Where it looks for certificates, whatever the domain. */
  readonly tlsPort: number;
  readonly directoryUrl: string;
  /** Who stands behind its own HTTPS, PEM. */
  readonly ca: string;
  readonly #stack: AsyncDisposableStack;
  readonly #managementPort: number;
  readonly #dnsManagementPort: number;

  private constructor(
    { ca, stack, ports }: { ca: string; stack: AsyncDisposableStack; ports: [number, number, number] },
  ) {
    [this.httpPort, this.tlsPort] = [stack.use(HeldPort.take()).port, stack.use(HeldPort.take()).port];
    this.ca = ca;
    this.#stack = stack;
    const [port, managementPort, dnsManagementPort] = ports;
    this.directoryUrl = `https://127.0.0.1:${port}/dir`;
    this.#managementPort = managementPort;
    this.#dnsManagementPort = dnsManagementPort;
  }

  static async start(folder: string, { validityS = 3600, refusedNonces = 0 }: PebbleOptions = {}): Promise<Pebble> {
    await Deno.mkdir(`${folder}/pebble`);
    const authority = await TestAuthority.make(`${folder}/pebble`);
    const { certPath, keyPath } = await authority.issue("pebble");
    const stack = new AsyncDisposableStack();
    const take = () => stack.use(HeldPort.take()).port;
    const [port, managementPort, dnsPort, dnsManagementPort] = [take(), take(), take(), take()];
    const pebble = new Pebble({ ca: authority.pem, stack, ports: [port, managementPort, dnsManagementPort] });
    const config = {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${managementPort}`,
      certificate: certPath,
      privateKey: keyPath,
      httpPort: pebble.httpPort,
      tlsPort: pebble.tlsPort,
      certificateValidityPeriod: validityS,
    };
    const configPath = `${folder}/pebble/config.json`;
    await Deno.writeTextFile(configPath, JSON.stringify({ pebble: config }));
    const dns = ["-dns01", `127.0.0.1:${dnsPort}`, "-defaultIPv6", "", "-management", `127.0.0.1:${dnsManagementPort}`];
    const others = ["-http01", "", "-https01", "", "-tlsalpn01", ""];
    stack.use(new Child("pebble-challtestsrv", [...dns, ...others]));
    const settings = ["PEBBLE_VA_NOSLEEP=1", `PEBBLE_WFE_NONCEREJECT=${refusedNonces}`, "PEBBLE_AUTHZREUSE=0"];
    stack.use(
      new Child("env", [...settings, "pebble", "-config", configPath, "-dnsserver", `127.0.0.1:${dnsPort}`]),
    );
    await eventually("pebble", () => pebble.#get(port, "/dir").then(() => true, () => false));
    await eventually("its DNS", () => fetch(pebble.#dnsUrl("")).then((reply) => reply.text()).catch(() => undefined));
    return pebble;
  }

  /** Who signs its certificates, PEM. Another one with every start. */
  root(): Promise<string> {
    return this.#get(this.#managementPort, "/roots/0");
  }

  /** From now on a name has this address. */
  async setAddress(host: string, address: string): Promise<void> {
    const steps = [["clear-a", { host }], ["add-a", { host, addresses: [address] }]] as const;
    for (const [path, body] of steps) {
      const reply = await fetch(this.#dnsUrl(path), { method: "POST", body: JSON.stringify(body) });
      await reply.text();
      if (!reply.ok) throw new Error(`pebble-challtestsrv answers ${reply.status}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  #dnsUrl(path: string): string {
    return `http://127.0.0.1:${this.#dnsManagementPort}/${path}`;
  }

  #get(port: number, path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = get({ host: "127.0.0.1", port, path, ca: this.ca, agent: false }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => text += part).on("end", () => resolve(text));
      });
      request.on("error", reject);
    });
  }
}
