/**
 * TCP and TLS listeners, one port for gRPC and HTTPS, a port and a client for the nodes of a cloud, connection limits, and
 * certificates from files or by ACME (RFC 8555).
 *
 * Connections are accepted by `node:net` and admitted by their phase (handshake, active, idle) before anything is
 * served; a port that no longer accepts is opened again. Trusted proxies name their clients with the PROXY protocol,
 * version 2, or with `X-Forwarded-For`. Certificate files are checked every 10 s, and a bad pair leaves the old one in
 * use.
 *
 * @module
 */
export { ACME_DIRECTORY, AcmeCertificate, type AcmeOptions } from "./acme/certificate.ts";
export { ACME_CHALLENGES, type AcmeChallenge, AcmeError } from "./acme/challenge.ts";
export * from "./client_hello.ts";
export {
  type Connection,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  type ConnectionOptions,
  Connections,
  openConnections,
} from "./connections.ts";
export type { Handler, HttpServerOptions } from "./http_server.ts";
export {
  listen,
  type Listener,
  type ListenOptions,
  listenTls,
  PendingHandler,
  type TlsListenOptions,
} from "./listen.ts";
export { ListenError } from "./listener.ts";
export * from "./listen_grpc.ts";
export * from "./listen_nodes.ts";
export { NodeRequests } from "./node_requests.ts";
export { RefusalLog } from "./refusal_log.ts";
export type { ClientCa, HelloPeek } from "./tls_listener.ts";
export * from "./tls_files.ts";
export { networksProblem } from "./trusted_proxies.ts";
