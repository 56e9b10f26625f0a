import { CROWDED_TIMEOUT_MS } from "../src/listen/connections.ts";
import { MAX_PROXY_HEADER_BYTES } from "../src/listen/proxy_header.ts";
import { bytes, type FixedLimit, ms } from "./fixed_limit.ts";

/** Limits of connections before their first request. */
export const CONNECTIONS: readonly FixedLimit[] = [
  {
    what: "Time of a connection beyond -max-handshakes-per-address to finish TLS and its first request header",
    limit: ms(CROWDED_TIMEOUT_MS),
    beyond: "The connection is closed.",
  },
  {
    what: "Bytes of a PROXY header from a trusted proxy",
    limit: bytes(MAX_PROXY_HEADER_BYTES),
    beyond: "The connection is closed and counted with the reason proxy_header.",
  },
  {
    what: "Messages read of a gRPC call without a valid certificate",
    limit: "0",
    beyond: "The call is answered at its headers and reset; its connection is closed half a second later.",
  },
];
