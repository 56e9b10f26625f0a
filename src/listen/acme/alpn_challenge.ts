import { connect, type Socket } from "node:net";
import { errorText, type Logger } from "../../base/mod.ts";
import type { ClientHello } from "../client_hello.ts";
import type { HelloPeek } from "../tls_listener.ts";
import { AcmeError, type Challenge, type ChallengeAnswer } from "./challenge.ts";

/** RFC 8737 §6.2. */
const PROTOCOL = "acme-tls/1";
const PROGRAM = "openssl";
const LOOPBACK = "127.0.0.1";
/** Printed by `openssl s_server` when it listens. */
const READY = /ACCEPT 127\.0\.0\.1:(\d+)\s/;
const START_TIMEOUT_MS = 10_000;

/** A running `openssl s_server` for one challenge. */
interface Responder {
  domain: string;
  directory: string;
  port: number;
  child: Deno.ChildProcess;
}

/**
 * Answers tls-alpn-01 challenges on the TLS port of the server. The challenge certificate has a critical extension that
 * the runtime's TLS refuses to serve, so the authority's connections are forwarded to the program `openssl`.
 */
export class AlpnChallenge implements ChallengeAnswer, HelloPeek {
  readonly kind = "tls-alpn-01";
  readonly #log: Logger;
  #responder: Responder | undefined;
  #isStopped = false;

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get isWaiting(): boolean {
    return this.#responder !== undefined;
  }

  take({ protocols, serverName }: ClientHello, socket: Socket): boolean {
    const responder = this.#responder;
    // RFC 8737 §3: this protocol and no other, and the name of the domain.
    const isChallenge = protocols.length === 1 && protocols[0] === PROTOCOL && serverName === responder?.domain;
    if (!isChallenge || responder === undefined) return false;
    this.#log.debug("ACME challenge received", { protocol: PROTOCOL });
    const inner = connect({ host: LOOPBACK, port: responder.port }, () => socket.pipe(inner).pipe(socket));
    const end = () => {
      socket.destroy();
      inner.destroy();
    };
    inner.on("error", (error) => this.#log.warn("ACME challenge failed", { error: error.message }));
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
      this.#responder = { domain: domain.toLowerCase(), directory, port, child };
      if (this.#isStopped) throw new AcmeError("the server is stopping");
    } catch (error) {
      await this.hide();
      await removeDirectory(directory);
      const reason = error instanceof Deno.errors.NotFound ? `the program "${PROGRAM}" is missing` : errorText(error);
      throw new AcmeError(`cannot answer the challenge on the TLS port: ${reason}`);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.hide();
  }

  async hide(): Promise<void> {
    const responder = this.#responder;
    this.#responder = undefined;
    if (responder === undefined) return;
    end(responder.child);
    await responder.child.status;
    await removeDirectory(responder.directory);
  }
}

/** `-www`: `s_server` must not read commands from standard input, which is closed. */
function serve(args: string[]): Deno.ChildProcess {
  return new Deno.Command(PROGRAM, {
    args: ["s_server", "-www", "-alpn", PROTOCOL, "-accept", `${LOOPBACK}:0`, ...args],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

/** Waits for the port, then drains standard output: a full pipe would block the program. */
async function portOf(child: Deno.ChildProcess): Promise<number> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => end(child), START_TIMEOUT_MS);
  let text = "";
  let port: string | undefined;
  while (port === undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    port = READY.exec(text)?.[1];
  }
  clearTimeout(timer);
  if (port === undefined) throw new AcmeError(`"${PROGRAM} s_server" exited before it listened`);
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
    // It has exited already.
  }
}

async function removeDirectory(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
