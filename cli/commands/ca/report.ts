import { formatAddress } from "@vessel/gateway/base";
import {
  AUTHORITY_FILES,
  type CertificateFolder,
  type IssuedCertificate,
  type ServerNames,
} from "@vessel/gateway/cloud";
import { formatItems, type ItemColumn } from "../../program/table.ts";

/** Port on which a cloud accepts replication. */
const GRPC_PORT = 9443;
/** Port of a node in configuration lines. */
const NODE_PORT = 9444;
/** Placeholder in configuration lines if the host is unknown. */
const EXAMPLE_HOST = "cloud.example.com";
/** Directories of the certificate files in configuration lines, of a boat, a cloud and a node. */
const BOAT_FOLDER = "/etc/vbg/replication";
const CLOUD_FOLDER = "/etc/vbg/tls";
const NODE_FOLDER = "/etc/vbg/node";
const DEFAULT_CA_DIR = "vbg-ca";

/** Report of `ca init`, with the next steps. */
export function formatInit(caDir: string, notAfterMs: number): string {
  const command = `vbg-cloud ca issue${caDirFlag(caDir)}`;
  return [
    `Created an authority, valid until ${dateOf(notAfterMs)}:`,
    ...columns([
      [`${caDir}/${AUTHORITY_FILES.cert}`, "its certificate, which boats and cloud trust"],
      [
        `${caDir}/${AUTHORITY_FILES.key}`,
        "its key, which can create a certificate for any boat: keep a copy in a safe place",
      ],
      [`${caDir}/${AUTHORITY_FILES.record}`, "the list of its certificates"],
      [`${caDir}/${AUTHORITY_FILES.revoked}`, "its revoked certificates, for the cloud"],
      [`${caDir}/${AUTHORITY_FILES.crl}`, "the same, signed, for other programs"],
    ]),
    "",
    "Next:",
    ...columns([
      [`${command} -host ${EXAMPLE_HOST}`, "the cloud's certificate, for the host name that boats use"],
      [`${command} BOAT`, "a boat's certificate; BOAT is its instance id"],
    ]),
  ].join("\n");
}

/** Report of `ca issue` for a cloud, with the settings that use the certificate. */
export function formatServer(made: CertificateFolder, caDir: string): string {
  const revokedPath = `${caDir}/${AUTHORITY_FILES.revoked}`;
  return [
    ...madeLines(made, `for the cloud at ${made.certificate.name}`),
    "",
    "Flags of the cloud, with the files where they are:",
    ...flagLines([
      ["tls-cert", made.certPath],
      ["tls-key", made.keyPath],
      ["tls-client-ca", made.caPath],
      ["tls-revoked", revokedPath],
    ]),
    "",
    ...installLines([made.certPath, made.keyPath, made.caPath, revokedPath], CLOUD_FOLDER),
    "Add to /etc/vbg/vbg-cloud.conf:",
    "  grpc {",
    "    tls {",
    `      cert = "${CLOUD_FOLDER}/cert.pem"`,
    `      key = "${CLOUD_FOLDER}/key.pem"`,
    `      client-ca = "${CLOUD_FOLDER}/ca.pem"`,
    `      revoked = "${CLOUD_FOLDER}/${AUTHORITY_FILES.revoked}"`,
    "    }",
    "  }",
  ].join("\n");
}

/** Report of `ca issue` for a node, with the settings that use the certificate. */
export function formatNode(
  made: CertificateFolder,
  { caDir, names: { hosts, ips } }: { caDir: string; names: ServerNames },
): string {
  const { name } = made.certificate;
  const hostname = [...hosts, ...ips].find((each) => !each.startsWith("*")) ?? EXAMPLE_HOST;
  const url = `https://${formatAddress({ hostname, port: NODE_PORT })}`;
  return [
    ...madeLines(made, `for the node "${name}"`),
    ...earlierLines(made, { caDir, who: `-node ${name}`, holder: "node" }),
    "",
    "Flags of the node, with the files where they are:",
    ...flagLines([["node-url", url], ["node-cert", made.certPath], ["node-key", made.keyPath]]),
    "",
    ...installLines([made.certPath, made.keyPath], NODE_FOLDER),
    "Add to /etc/vbg/vbg-cloud.conf:",
    "  node {",
    `    url = "${url}"`,
    `    cert = "${NODE_FOLDER}/cert.pem"`,
    `    key = "${NODE_FOLDER}/key.pem"`,
    "  }",
    "",
    "Nodes accept each other by the authorities of boats and the list of revoked certificates:",
    "-tls-client-ca and -tls-revoked.",
  ].join("\n");
}

/** Report of `ca issue` for a boat, with the settings that use the certificate. */
export function formatBoat(
  made: CertificateFolder,
  { caDir, servers }: {
    caDir: string;
    /** Certificates of the cloud, oldest first. */
    servers: readonly IssuedCertificate[];
  },
): string {
  const { name } = made.certificate;
  const target = targetOf(servers);
  return [
    ...madeLines(made, `for the boat "${name}"`),
    ...earlierLines(made, { caDir, who: name, holder: "boat" }),
    "",
    "Flags of the boat, with the files where they are:",
    ...flagLines([
      ["replication-target", target],
      ["replication-instance-id", name],
      ["replication-tls-cert", made.certPath],
      ["replication-tls-key", made.keyPath],
      ["replication-tls-ca", made.caPath],
    ]),
    "",
    ...installLines([made.certPath, made.keyPath, made.caPath], BOAT_FOLDER),
    "Add to /etc/vbg/vbg-boat.conf:",
    "  replication {",
    `    target = "${target}"`,
    `    instance-id = "${name}"`,
    "    tls {",
    `      cert = "${BOAT_FOLDER}/cert.pem"`,
    `      key = "${BOAT_FOLDER}/key.pem"`,
    `      ca = "${BOAT_FOLDER}/ca.pem"`,
    "    }",
    "  }",
    "",
    "The cloud needs no change: it accepts every boat with a certificate of this authority.",
  ].join("\n");
}

/** Report of `ca revoke`. */
export function formatRevoked(revoked: readonly IssuedCertificate[], caDir: string): string {
  return [
    `Revoked ${revoked.length === 1 ? "1 certificate" : `${revoked.length} certificates`} of "${revoked[0]?.name}":`,
    ...columns(revoked.map(({ serial, notAfterMs }) => [serial, `was valid until ${dateOf(notAfterMs)}`])),
    "",
    "Updated files:",
    ...columns([
      [
        `${caDir}/${AUTHORITY_FILES.revoked}`,
        "for the cloud: copy it again if the cloud uses a copy; no restart is needed",
      ],
      [`${caDir}/${AUTHORITY_FILES.crl}`, "for other programs"],
    ]),
  ].join("\n");
}

/** Table of all certificates. */
export function formatList(certificates: readonly IssuedCertificate[], nowMs: number): string {
  if (certificates.length === 0) return "No certificates yet";
  const columns: readonly ItemColumn<IssuedCertificate>[] = [
    { title: "SERIAL", text: ({ serial }) => serial },
    { title: "ENDS", text: ({ notAfterMs }) => dateOf(notAfterMs) },
    { title: "STATE", text: (certificate) => stateText(certificate, nowMs) },
    { title: "KIND", text: ({ kind }) => kind },
    { title: "NAME", text: ({ name }) => name },
  ];
  return formatItems(certificates, { columns, width: Infinity, color: false });
}

/** All certificates, a line of JSON each. */
export function formatListJson(certificates: readonly IssuedCertificate[], nowMs: number): string {
  return certificates.map((each) =>
    JSON.stringify({
      serial: each.serial,
      kind: each.kind,
      name: each.name,
      state: stateOf(each, nowMs),
      not_before: new Date(each.notBeforeMs).toISOString(),
      not_after: new Date(each.notAfterMs).toISOString(),
      ...each.revokedMs !== undefined && { revoked: new Date(each.revokedMs).toISOString() },
    })
  ).join("\n");
}

function stateOf({ notAfterMs, revokedMs }: IssuedCertificate, nowMs: number): "ended" | "good" | "revoked" {
  if (revokedMs !== undefined) return "revoked";
  return nowMs > notAfterMs ? "ended" : "good";
}

function stateText(certificate: IssuedCertificate, nowMs: number): string {
  const { revokedMs } = certificate;
  return revokedMs === undefined ? stateOf(certificate, nowMs) : `revoked ${dateOf(revokedMs)}`;
}

function madeLines({ certPath, keyPath, caPath, certificate }: CertificateFolder, whose: string): string[] {
  return [
    `Created a certificate ${whose}, valid until ${
      dateOf(certificate.notAfterMs)
    }, serial number ${certificate.serial}:`,
    ...columns([
      [certPath, "the certificate"],
      [keyPath, "its key: copy it only to that machine"],
      [caPath, "the authority's certificate"],
    ]),
  ];
}

/** Commands that revoke earlier certificates of the same holder. */
function earlierLines(
  { earlier }: CertificateFolder,
  { caDir, who, holder }: { caDir: string; who: string; holder: "boat" | "node" },
): string[] {
  return earlier.flatMap(({ serial, notAfterMs }) => [
    "",
    `An earlier certificate of this ${holder} stays valid until ${
      dateOf(notAfterMs)
    }. When the ${holder} has the new one:`,
    `  vbg-cloud ca revoke${caDirFlag(caDir)} ${who} -serial ${serial}`,
  ]);
}

/** Commands that install the private files for the service, which runs as the user `vbg`. */
function installLines(paths: readonly string[], folder: string): string[] {
  return [
    "Or, for the packaged service, copy the files to its machine and run there as root:",
    `  install -D -o root -g vbg -m 640 -t ${folder} ${paths.map(shellWord).join(" ")}`,
  ];
}

/** Host of the newest cloud certificate; skips wildcards. */
function targetOf(servers: readonly IssuedCertificate[]): string {
  const hostname = servers.at(-1)?.name.split(" ").find((name) => !name.startsWith("*")) ?? EXAMPLE_HOST;
  return formatAddress({ hostname, port: GRPC_PORT });
}

function flagLines(flags: readonly (readonly [name: string, value: string])[]): string[] {
  return flags.map(([name, value], index) =>
    `  -${name} ${shellWord(value)}${index === flags.length - 1 ? "" : " \\"}`
  );
}

function caDirFlag(caDir: string): string {
  return caDir === DEFAULT_CA_DIR ? "" : ` -ca-dir ${shellWord(caDir)}`;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`);
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
