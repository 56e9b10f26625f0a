import { eventually } from "./eventually.ts";
import { HeldPort } from "./held_port.ts";

/** Address that it connects to servers from: no client's. */
export const HAPROXY_ADDRESS = "127.0.0.9";

/** What it does in front of a server. */
export interface Frontend {
  /** Port of the server on this machine. */
  target: number;
  /** `tcp` sends a PROXY header of version 2, `http` the header X-Forwarded-For. */
  mode: "tcp" | "http";
}

/** Debian's haproxy as a process of its own, on 127.0.0.1, with one port for each of its frontends. */
export class Haproxy implements AsyncDisposable {
  readonly ports: readonly number[];
  readonly #held: readonly HeldPort[];
  readonly #process: Deno.ChildProcess;

  private constructor(held: readonly HeldPort[], process: Deno.ChildProcess) {
    this.#held = held;
    this.ports = held.map(({ port }) => port);
    this.#process = process;
  }

  /** Starts it, with its files in a folder; it listens when this resolves. */
  static async start(folder: string, frontends: readonly Frontend[]): Promise<Haproxy> {
    const held = frontends.map(() => HeldPort.take());
    const config = `${folder}/haproxy.cfg`;
    await Deno.writeTextFile(config, configOf(frontends, held));
    const process = new Deno.Command("haproxy", { args: ["-db", "-f", config], stdout: "null", stderr: "null" })
      .spawn();
    const haproxy = new Haproxy(held, process);
    await eventually("haproxy to listen", () => haproxy.#listens());
    return haproxy;
  }

  async #listens(): Promise<boolean> {
    try {
      for (const port of this.ports) (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGKILL");
    await this.#process.status;
    for (const each of this.#held) each[Symbol.dispose]();
  }
}

/** Its checks of the server are connections of its own: LOCAL in the PROXY protocol. */
function configOf(frontends: readonly Frontend[], held: readonly HeldPort[]): string {
  const sections = frontends.map(({ target, mode }, index) => `
listen port${index}
  mode ${mode}
  bind 127.0.0.1:${held[index]!.port}
  ${mode === "http" ? "option forwardfor" : ""}
  server one 127.0.0.1:${target} source ${HAPROXY_ADDRESS} check inter 100ms ${mode === "tcp" ? "send-proxy-v2" : ""}
`);
  return `
global
  maxconn 200
defaults
  timeout connect 10s
  timeout client 1m
  timeout server 1m
${sections.join("")}`;
}
