import { isOwnMachine } from "@vessel/gateway/boat";
import { ALL_ADDRESSES, errorText, formatAddress, type ListenAddress } from "@vessel/gateway/base";
import { readClientAuthorities, readRevoked } from "@vessel/gateway/cloud";
import { OptionGroup } from "./option_types.ts";
import { type AsyncCheck, type Check, refuse, type SettingsOf } from "./options.ts";
import { authoritiesProblem, tlsPairProblem } from "./tls_pair.ts";

/** Where a cloud with two ports listens for boats. */
export const GRPC_LISTEN: ListenAddress = { hostname: ALL_ADDRESSES, port: 9443 };
/** The same without certificates. */
export const INSECURE_GRPC_LISTEN: ListenAddress = { hostname: "127.0.0.1", port: 9443 };
/** Where it listens for HTTP clients. */
export const HTTP_LISTEN: ListenAddress = { hostname: ALL_ADDRESSES, port: 8080 };
/** Where a cloud with one port listens. */
export const SINGLE_LISTEN: ListenAddress = { hostname: ALL_ADDRESSES, port: 443 };
/** Where an ACME authority checks http-01 challenges. */
export const ACME_HTTP_LISTEN: ListenAddress = { hostname: ALL_ADDRESSES, port: 80 };

const network = new OptionGroup("Network", { section: "acme" });
const boats = new OptionGroup("Boats", { section: "acme" });
const acme = new OptionGroup("ACME", { section: "acme" });

/** Options of where a cloud listens. */
export const cloudListenOptions = {
  grpcListen: network.address({
    name: "grpc-listen",
    key: "grpc.listen",
    help: `Address that boats replicate to. Default ${formatAddress(GRPC_LISTEN)}.`,
  }),
  httpListen: network.address({
    name: "http-listen",
    key: "http.listen",
    help: `Address of the HTTP server, without TLS. Default ${formatAddress(HTTP_LISTEN)}.`,
  }),
  listen: network.address({
    name: "listen",
    help:
      "One address for both: boats by gRPC with their certificates, other clients by HTTPS. Instead of -grpc-listen and " +
      `-http-listen. With ACME the default is ${formatAddress(SINGLE_LISTEN)}.`,
  }),
  tlsCert: network.text({
    name: "tls-cert",
    key: ["grpc.tls.cert", "tls.cert"],
    placeholder: "FILE",
    help:
      "PEM file with the cloud's certificate chain. A changed file is reloaded within 10 seconds, as are all certificate " +
      "files; if it cannot be used, the old certificate stays in use.",
  }),
  tlsKey: network.text({
    name: "tls-key",
    key: ["grpc.tls.key", "tls.key"],
    placeholder: "FILE",
    help: "PEM file with the key of -tls-cert, not encrypted.",
  }),
  tlsClientCa: boats.text({
    name: "tls-client-ca",
    key: ["grpc.tls.client-ca", "tls.client-ca"],
    placeholder: "FILE",
    help:
      "PEM file with the authorities that must have issued the boats' certificates: `vbg-cloud ca init` creates one.",
  }),
  tlsRevoked: boats.text({
    name: "tls-revoked",
    key: ["grpc.tls.revoked", "tls.revoked"],
    placeholder: "FILE",
    help: "File of revoked certificates, as `vbg-cloud ca revoke` writes it. Reloaded within a second.",
  }),
  insecure: boats.boolean({
    name: "insecure",
    key: "grpc.insecure",
    help: "Accept boats without certificates, under any instance id. Only on this machine, for tests.",
  }),
  acmeDomain: acme.text({
    name: "acme-domain",
    placeholder: "HOST",
    help: "Public name of this server: its certificate is obtained and renewed by ACME. Uses one port for all clients.",
    validate: (value) =>
      value === "" || /^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(value)
        ? undefined
        : `Cannot get a certificate for "${value}": expected the name of a host, such as cloud.example.com`,
  }),
  acmeEmail: acme.text({
    name: "acme-email",
    placeholder: "EMAIL",
    help: "Contact address for the authority. Giving it accepts the authority's terms of service.",
  }),
  acmeChallenge: acme.oneOf({
    name: "acme-challenge",
    default: "auto",
    choices: ["auto", "http-01", "tls-alpn-01"],
    help:
      "Challenge that proves control of the domain. http-01: at port 80. tls-alpn-01: at the one port itself, needs " +
      "openssl. auto: http-01, then tls-alpn-01 if it fails.",
  }),
  acmeHttpListen: acme.address({
    name: "acme-http-listen",
    help: `Address that answers http-01 and redirects other requests to HTTPS. Default ${
      formatAddress(ACME_HTTP_LISTEN)
    }.`,
  }),
  acmeDirectory: acme.text({
    name: "acme-directory",
    placeholder: "URL",
    help: "ACME directory of an authority other than Let's Encrypt.",
    validate: (value) =>
      value === "" || (URL.canParse(value) && new URL(value).protocol === "https:")
        ? undefined
        : `Cannot read the URL "${value}": expected https://`,
  }),
  acmeCa: acme.text({
    name: "acme-ca",
    placeholder: "FILE",
    help: "PEM file with the certificate that the directory of a private authority is verified by.",
  }),
};

/** Settings of where a cloud listens, and of whom it trusts. */
export type CloudListenSettings = SettingsOf<typeof cloudListenOptions>;

/** Checks of several of these settings. */
export const cloudListenChecks: readonly Check<CloudListenSettings>[] = [
  refuse(
    ["listen", "acmeDomain", "grpcListen", "httpListen"],
    ({ listen, acmeDomain, grpcListen, httpListen }) =>
      (listen !== undefined || acmeDomain !== "") && (grpcListen !== undefined || httpListen !== undefined) &&
      "Cannot use one port (-listen, -acme-domain) and two (-grpc-listen, -http-listen) together",
  ),
  refuse(
    ["tlsCert", "tlsKey"],
    ({ tlsCert, tlsKey }) => tlsPairProblem({ cert: tlsCert, key: tlsKey }, { cert: "tls-cert", key: "tls-key" }),
  ),
  refuse(["tlsCert", "acmeDomain", "insecure"], ({ tlsCert, acmeDomain, insecure }) => {
    if (acmeDomain !== "") {
      return tlsCert === "" ? undefined : "Cannot use -tls-cert with ACME, which obtains its own certificate";
    }
    if (tlsCert !== "" || insecure) return undefined;
    return "Cannot accept boats without -tls-cert and -tls-key: `vbg-cloud ca init` and `vbg-cloud ca issue` create them";
  }),
  refuse(
    ["tlsClientCa", "insecure"],
    ({ tlsClientCa, insecure }) =>
      tlsClientCa === "" && !insecure &&
      "Cannot verify boats without -tls-client-ca: `vbg-cloud ca init` creates an authority",
  ),
  refuse(
    ["insecure", "grpcListen", "listen", "acmeDomain"],
    ({ insecure, grpcListen = INSECURE_GRPC_LISTEN, listen, acmeDomain }) => {
      if (!insecure) return undefined;
      if (listen !== undefined || acmeDomain !== "") return "Cannot use -insecure on one port for all";
      return isOwnMachine(grpcListen.hostname)
        ? undefined
        : `Cannot use -insecure on ${formatAddress(grpcListen)}: other machines reach it; -grpc-listen 127.0.0.1:9443`;
    },
  ),
  refuse(
    ["insecure", "tlsCert", "tlsClientCa", "tlsRevoked"],
    ({ insecure, tlsCert, tlsClientCa, tlsRevoked }) =>
      insecure && tlsCert + tlsClientCa + tlsRevoked !== "" && "Cannot use -insecure with certificates",
  ),
  refuse(
    ["acmeEmail", "acmeDomain"],
    ({ acmeEmail, acmeDomain }) =>
      acmeDomain !== "" && !/^[^\s@]+@[^\s@]+$/.test(acmeEmail) &&
      "Cannot use ACME without -acme-email: it accepts the authority's terms of service",
  ),
  ...(["tlsClientCa", "acmeCa"] as const).map((name): Check<CloudListenSettings> =>
    refuse([name], ({ [name]: path }) => authoritiesProblem(path))
  ),
];

/** Checks of the trust files, read as the server reads them. */
export const cloudTrustChecks: readonly AsyncCheck<CloudListenSettings>[] = [
  {
    settings: ["tlsClientCa"],
    test: async ({ tlsClientCa }) =>
      tlsClientCa === "" ? undefined : await failureOf(readClientAuthorities(tlsClientCa)),
  },
  {
    settings: ["tlsRevoked", "tlsClientCa"],
    test: async ({ tlsRevoked: path, tlsClientCa }) => {
      if (path === "") return undefined;
      const authorities = tlsClientCa === "" ? "" : await readClientAuthorities(tlsClientCa).catch(() => undefined);
      // The check above reports bad authorities.
      return authorities === undefined ? undefined : await failureOf(readRevoked(path, authorities));
    },
  },
];

/** The error of a promise, or undefined. */
async function failureOf(work: Promise<unknown>): Promise<string | undefined> {
  return await work.then(() => undefined, errorText);
}
