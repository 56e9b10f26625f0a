import type { ListenAddress, Logger, StallDetector } from "../base/mod.ts";
import type { GreetingLimits } from "./greetings.ts";
import type { Handler, Listener } from "./listen.ts";
import { openFront } from "./listen_front.ts";
import { openInside } from "./listen_inside.ts";
import type { TlsSource } from "./tls_pair.ts";

/** What a server over TLS is made of. */
export interface TlsListenOptions {
  handler: Handler;
  stall: StallDetector;
  log: Logger;
  tls: TlsSource;
  limits?: Partial<GreetingLimits>;
}

/**
 * Listens for HTTPS. A certificate that is replaced counts for new connections, and no stream is cut for it.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function listenTls(
  address: ListenAddress,
  { handler, stall, ...options }: TlsListenOptions,
): Promise<Listener> {
  const inside = openInside({ handler, stall });
  try {
    const front = await openFront(address, { ...options, protocols: ["http/1.1"], accept: inside.accept });
    return {
      address: front.address,
      stop: async () => {
        front.close();
        await inside.stop();
        await front.end();
      },
    };
  } catch (error) {
    await inside.stop();
    throw error;
  }
}
