import { connect, type Socket } from "node:net";
import { errorText, type Logger } from "../../base/mod.ts";
import type { ClientHello } from "../client_hello.ts";
import type { HelloPeek } from "../tls_listener.ts";
import { AcmeError } from "./error.ts";
import type { Challenge, ChallengeAnswer } from "./challenge.ts";

/** RFC 8737 §6.2. */
const PROTOCOL = "acme-tls/1";
const PROGRAM = "openssl";
/** Where it listens. What it shows is no secret: anybody who asks the domain gets to see it. */
const INSIDE = "127.0.0.1";
/** What `openssl s_server` prints when it can be called, and where. */
const READY = /ACCEPT 127\.0\.0\.1:(\d+)\s/;
const READY_WITHIN_MS = 10_000;

/** A running `openssl`, and where it listens. */
interface Shown {
  domain: string;
  directory: string;
  port: number;
  child: Deno.ChildProcess;
}

/**
 * Answers authorities on the port where everything else is, too. Their certificate has a critical extension that our own
 * TLS refuses to serve, so their connections are handed to the program `openssl`.
 */
export class AlpnChallenge implements ChallengeAnswer, HelloPeek {
  readonly kind = "tls-alpn-01";
  readonly #log: Logger;
  #shown: Shown | undefined;
  #isStopped = false;

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get isWaiting(): boolean {
    return this.#shown !== undefined;
  }

  take({ protocols, serverName }: ClientHello, socket: Socket): boolean {
    const shown = this.#shown;
    // RFC 8737 §3: this protocol and no other, and the name of the domain.
    const isTheirs = protocols.length === 1 && protocols[0] === PROTOCOL && serverName === shown?.domain;
    if (!isTheirs || shown === undefined) return false;
    this.#log.debug("authority looks at us", { protocol: PROTOCOL });
    const inner = connect({ host: INSIDE, port: shown.port }, () => socket.pipe(inner).pipe(socket));
    const end = () => {
      socket.destroy();
      inner.destroy();
    };
    inner.on("error", (error) => this.#log.warn("ACME challenge not answered", { error: error.message }));
    for (const each of [socket, inner]) each.on("error", end).on("close", end);
    return true;
  }

  async show({ domain, makeCertificate }: Challenge): Promise<void> {
    if (this.#isStopped) throw new AcmeError("the server is stopping");
    await this.hide();
    const directory = await Deno.makeTempDir({ prefix: "vbg_acme_" });
    try {
      const { cert, key } = await makeCertificate();
      const [certPath, keyPath] = [`${directory}/cert.pem`, `${directory}/key.pem`];
      await Deno.writeTextFile(certPath, cert);
      await Deno.writeTextFile(keyPath, key, { mode: 0o600 });
      const child = serve(["-cert", certPath, "-key", keyPath]);
      const port = await portOf(child);
      this.#shown = { domain: domain.toLowerCase(), directory, port, child };
      if (this.#isStopped) throw new AcmeError("the server is stopping");
    } catch (error) {
      await this.hide();
      await removeDirectory(directory);
      const reason = error instanceof Deno.errors.NotFound ? `the program "${PROGRAM}" is missing` : errorText(error);
      throw new AcmeError(`the port for TLS cannot answer the authority: ${reason}`);
    }
  }

  /** Shows nothing any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.hide();
  }

  async hide(): Promise<void> {
    const shown = this.#shown;
    this.#shown = undefined;
    if (shown === undefined) return;
    end(shown.child);
    await shown.child.status;
    await removeDirectory(shown.directory);
  }
}

/** `-www`: it must not read commands from standard input, which is closed. */
function serve(args: string[]): Deno.ChildProcess {
  return new Deno.Command(PROGRAM, {
    args: ["s_server", "-www", "-alpn", PROTOCOL, "-accept", `${INSIDE}:0`, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

/** Waits until it can be called, and then reads on: a full pipe would hold it up. */
async function portOf(child: Deno.ChildProcess): Promise<number> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => end(child), READY_WITHIN_MS);
  let text = "";
  let port: string | undefined;
  while (port === undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    port = READY.exec(text)?.[1];
  }
  clearTimeout(timer);
  if (port === undefined) throw new AcmeError(`"${PROGRAM} s_server" has ended`);
  void drain(reader);
  return Number(port);
}

async function drain(reader: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await reader.read()).done);
}

function end(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

async function removeDirectory(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
