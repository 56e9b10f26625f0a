import { CONNECTION_DEFAULTS, networksProblem } from "@vessel/gateway/boat";
import { offAtZero, OptionGroup } from "./option_types.ts";
import type { SettingsOf } from "./options.ts";

const network = new OptionGroup("Network");
const MAX_CONNECTIONS = 1_000_000;

const sharedOptions = {
  maxHandshakes: network.integer({
    name: "max-handshakes",
    beyond: "The oldest of them is closed and counted with the reason max_handshakes.",
    default: CONNECTION_DEFAULTS.maxHandshakes,
    min: 1,
    max: MAX_CONNECTIONS,
    help: "Most connections that have not finished TLS and their first request header.",
  }),
  maxHandshakesPerAddress: network.integer({
    name: "max-handshakes-per-address",
    beyond: "Further ones have 2 seconds; then they are closed and counted with the reason max_handshakes_per_address.",
    default: CONNECTION_DEFAULTS.maxHandshakesPerAddress,
    min: 1,
    max: MAX_CONNECTIONS,
    help: "Most of these from one address (from one network of 64 bits with IPv6). Half of them may be gRPC " +
      "connections without a valid certificate. Connections that have sent a request are not limited per address.",
  }),
  handshakeTimeoutMs: network.duration({
    name: "handshake-timeout",
    beyond: "The connection is closed and counted with the reason handshake_timeout.",
    default: CONNECTION_DEFAULTS.handshakeTimeoutMs,
    minMs: 100,
    maxMs: 3_600_000,
    help: "Longest time that a connection may take to finish TLS and its first request header.",
  }),
  connectionIdleTimeoutMs: network.duration({
    name: "connection-idle-timeout",
    beyond: "The connection is closed.",
    default: CONNECTION_DEFAULTS.connectionIdleTimeoutMs,
    minMs: 1000,
    maxMs: 86_400_000,
    help: "Longest time that a connection may stay open without a request in progress. A stream counts as one.",
  }),
  trustedProxies: network.list({
    name: "trusted-proxies",
    commas: true,
    placeholder: "ADDRESS",
    help:
      "Addresses and networks, such as 10.0.0.0/8, of proxies and balancers. The client is the one that they name with " +
      "the PROXY protocol (version 2) or X-Forwarded-For. -max-handshakes-per-address does not apply to them.",
    validate: networksProblem,
  }),
};

/** Options of connections. `most`: upper bound of the default. */
export function connectionOptions({ most }: { most: number }) {
  const maxConnections = offAtZero(network.integer({
    name: "max-connections",
    beyond:
      "The connection that has been quiet the longest is closed, or the new one when all have a request under way. " +
      "Counted in vbg_connections_refused_total with the reason max_connections.",
    default: 0,
    max: MAX_CONNECTIONS,
    help:
      `Most connections, of all ports together. 0: half of the files that the process may open, at most ${most}, and ` +
      "4096 where the server cannot read that limit. The other half is for journal and state files.",
  }));
  return { maxConnections: { ...maxConnections, defaultText: "half of the open files" }, ...sharedOptions };
}

/** Settings of connections. */
export type ConnectionSettings = SettingsOf<ReturnType<typeof connectionOptions>>;
