/** Ports that no system gives out by itself: Linux does so from 32768 on, others from 49152. */
const [FIRST_PORT, LAST_PORT] = [10_000, 32_767];
/** The only one of them that `fetch` refuses to ask (Fetch standard, "port blocking"). */
const BLOCKED_PORT = 10_080;
/** An address of this machine where nobody listens: who listens there on a port holds it for all tests. */
const WARDEN = "127.255.255.254";
const TRIES = 1000;

/**
 * A port of this machine for who can only be told one, and not which it got: another program, or one that comes back to its
 * port. Nobody else gets it while it is held, though nobody may listen on it yet, or not any more.
 */
export class HeldPort implements Disposable {
  readonly port: number;
  #warden: Deno.TcpListener | undefined;

  private constructor(port: number, warden: Deno.TcpListener | undefined) {
    this.port = port;
    this.#warden = warden;
  }

  /** @throws {Error} none is free */
  static take(): HeldPort {
    for (let tries = 0; tries < TRIES; tries++) {
      const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
      if (port === BLOCKED_PORT) continue;
      try {
        // Only Linux has all of 127.0.0.0/8.
        using stack = new DisposableStack();
        const warden = Deno.build.os === "linux" ? stack.use(Deno.listen({ hostname: WARDEN, port })) : undefined;
        Deno.listen({ hostname: "127.0.0.1", port }).close();
        stack.move();
        return new HeldPort(port, warden);
      } catch (error) {
        if (!(error instanceof Deno.errors.AddrInUse)) throw error;
      }
    }
    throw new Error(`No port is free of ${FIRST_PORT} to ${LAST_PORT}`);
  }

  [Symbol.dispose](): void {
    this.#warden?.close();
    this.#warden = undefined;
  }
}

/** A port that nobody has at the moment, for who listens on it at once. */
export function freePort(): number {
  using held = HeldPort.take();
  return held.port;
}
