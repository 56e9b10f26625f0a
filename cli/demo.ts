/**
 * The demo: a simulated boat, its boat server, a cloud, and replication between them over real TLS, in one process.
 *
 * @module
 */
import { ListenError } from "@vessel/gateway/boat";
import { type Cloud, startCloud } from "@vessel/gateway/cloud-server";
import {
  errorText,
  formatAddress,
  type ListenAddress,
  type Logger,
  MAX_PORT,
  pause,
  systemClock,
} from "@vessel/gateway/base";
import { connectCloud } from "@vessel/gateway/client";
import { Authority, initAuthority } from "@vessel/gateway/cloud";
import { runBoat } from "./boat.ts";
import { DemoCable } from "./program/demo_cable.ts";
import { PERMISSIONS } from "./program/permissions.ts";
import { type Running, serve, type ServerProgram } from "./program/program.ts";
import { urlOf } from "./program/server_start.ts";
import { BOAT_CONFIG_NAME, boatChecks, boatOptions, type BoatSettings } from "./settings/boat_options.ts";
import { OptionGroup } from "./settings/option_types.ts";
import { type Check, type SettingsOf, warn } from "./settings/options.ts";
import { DEMO_STATE, isDefaultStateDir, temporaryDemoFolder } from "./settings/state_dir.ts";

const network = new OptionGroup("Network");

/** Options of the demo: the boat's, and the port of its cloud. */
const demoOptions = {
  ...boatOptions,
  listen: {
    ...boatOptions.listen,
    help: "Address of the boat's HTTP server, such as :8089 for all addresses. Without it: -port on 127.0.0.1.",
  },
  port: {
    ...boatOptions.port,
    help: "Port of the boat's HTTP server, on this machine alone. 0: any free port; the log says which.",
  },
  cloudPort: network.integer({
    name: "cloud-port",
    default: 8080,
    max: MAX_PORT,
    help: "Port of the cloud's HTTP server, on this machine alone. 0: any free port; the log says which.",
  }),
  outage: network.boolean({
    name: "outage",
    help: "Cuts the network between boat and cloud once, for 20 s: see frames go missing, and none missing afterwards.",
  }),
};

type DemoSettings = SettingsOf<typeof demoOptions>;

/** Settings that the demo overrides. */
const OVERRIDDEN = [
  ...(["interfaces", "canDriver", "loopback", "demo", "replicationTarget", "replicationInstanceId"] as const),
  ...(["replicationTlsCert", "replicationTlsKey", "replicationTlsCa", "replicationInsecure"] as const),
];

/** Name, help and settings of the demo. */
export const demoProgram: ServerProgram<DemoSettings> = {
  name: "vbg-demo",
  permissions: PERMISSIONS.demo,
  summary: "runs a simulated boat, its boat server and a cloud that it replicates to; takes the boat server's flags",
  options: demoOptions,
  hidden: OVERRIDDEN,
  checks: [
    ...boatChecks,
    ...OVERRIDDEN.map((name): Check<DemoSettings> =>
      warn([name], (_, isGiven) => isGiven(name) && "Not used: the demo has its own bus and cloud")
    ),
  ],
  configName: BOAT_CONFIG_NAME,
};

/** Instance id of the boat. */
const BOAT = "demo";
const HERE = "127.0.0.1";
/** Validity of the certificates, days; longer than any demo runs. */
const DAYS = 365;
/** Longest wait for the connection between boat and cloud. */
const CONNECT_MS = 10_000;
const POLL_MS = 100;
/** When the network is cut, after boat and cloud are connected, and for how long. */
const OUTAGE_AFTER_MS = 10_000;
const OUTAGE_MS = 20_000;
/** Longest time between attempts to connect then, so that the end of the outage shows at once. */
const OUTAGE_RECONNECT_MS = 3000;
/** Limits the disk usage of the demo. */
const MAX_JOURNAL_BYTES = 256 * 1024 * 1024;

async function run(settings: DemoSettings, log: Logger): Promise<Running<DemoSettings>> {
  const temporary = await temporaryDemoFolder();
  const stateDir = isDefaultStateDir(settings.stateDir) ? temporary : settings.stateDir;
  const folder = `${stateDir}/${DEMO_STATE}`;
  const cleanUp = () => Deno.remove(temporary, { recursive: true });
  let cloud: Cloud | undefined;
  let cable: DemoCable | undefined;
  try {
    const certificates = await makeCertificates(temporary);
    cloud = await startDemoCloud(settings, { folder, certificates, log });
    if (settings.outage) cable = new DemoCable(cloud.addresses.grpc);
    const target = cable ? here(cable.port) : cloud.addresses.grpc;
    const boat = await runBoat(boatSettings({ ...settings, stateDir }, { folder, target, certificates }), log);
    const urls = { boat: urlOf(boat.address, { tls: settings.tlsCert !== "" }), cloud: urlOf(cloud.addresses.http) };
    const stopping = new AbortController();
    const { signal } = stopping;
    void logAddresses(urls, { log, signal }).then(() => cable && showOutage(cable, { log, signal }));
    const stop = () => boat.stop().finally(cloud?.stop).finally(() => cable?.stop()).finally(cleanUp);
    return { ...boat, stop: () => (stopping.abort(), stop()) };
  } catch (error) {
    await cloud?.stop();
    cable?.stop();
    await cleanUp();
    throw error instanceof ListenError ? new ListenError(`${error.message}; -port and -cloud-port name others`) : error;
  }
}

/** Cuts the network once. */
async function showOutage(cable: DemoCable, { log, signal }: { log: Logger; signal: AbortSignal }): Promise<void> {
  try {
    await pause(OUTAGE_AFTER_MS, signal);
    cable.cut();
    log.info(`network between boat and cloud cut for ${OUTAGE_MS / 1000} s: watch the frames that are missing`);
    await pause(OUTAGE_MS, signal);
    cable.mend();
    log.info("network between boat and cloud works again: the boat sends what is missing");
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Logs the last line of the start, after boat and cloud are connected: their lines would scroll it away. */
async function logAddresses(
  { boat, cloud }: { boat: string; cloud: string },
  { log, signal }: { log: Logger; signal: AbortSignal },
): Promise<void> {
  const client = connectCloud(cloud, { signal });
  const endMs = systemClock.monoMs() + CONNECT_MS;
  try {
    while (systemClock.monoMs() < endMs) {
      const { connected } = await client.status(BOAT).catch(() => ({ connected: false }));
      // The first request starts the replica.
      if (connected) await client.boat(BOAT).devices();
      if (connected) break;
      await pause(POLL_MS, signal);
    }
    log.info(`open ${boat}/ in a browser; the cloud of this boat is ${cloud}/`);
  } catch (error) {
    if (!signal.aborted) log.warn("demo cloud does not answer", { error: errorText(error) });
  }
}

function startDemoCloud(
  { cloudPort }: Pick<DemoSettings, "cloudPort">,
  { folder, certificates, log }: { folder: string; certificates: Certificates; log: Logger },
): Promise<Cloud> {
  const retention = {
    maxBytes: MAX_JOURNAL_BYTES,
    softPercent: 80,
    overflow: "delete-unarchived",
    archive: "off",
  } as const;
  const trust = { clientCaPath: certificates.caPath };
  return startCloud({
    dataDirectory: `${folder}/cloud`,
    ports: { kind: "dual", grpc: here(0), http: here(cloudPort), tls: certificates.cloud, trust },
    journal: { retention },
    log,
  });
}

function here(port: number): ListenAddress {
  return { hostname: HERE, port };
}

/** The boat's settings: it records, and replicates to the demo's cloud. */
function boatSettings(
  settings: DemoSettings,
  { folder, target, certificates }: { folder: string; target: ListenAddress; certificates: Certificates },
): BoatSettings {
  const { boat: { certPath, keyPath }, caPath } = certificates;
  return {
    ...settings,
    demo: true,
    listen: settings.listen ?? here(settings.port),
    journalDir: settings.journalDir || `${folder}/journal`,
    retentionMaxBytes: settings.retentionMaxBytes || MAX_JOURNAL_BYTES,
    replicationTarget: formatAddress(target),
    ...(settings.outage && { replicationMaxReconnectMs: OUTAGE_RECONNECT_MS }),
    replicationInstanceId: BOAT,
    replicationTlsCert: certPath,
    replicationTlsKey: keyPath,
    replicationTlsCa: caPath,
  };
}

interface Certificates {
  cloud: { certPath: string; keyPath: string };
  boat: { certPath: string; keyPath: string };
  caPath: string;
}

/** Creates an authority and its certificates at each start; nobody else trusts them. */
async function makeCertificates(folder: string): Promise<Certificates> {
  const clock = systemClock;
  const issued = { days: DAYS, isForced: false };
  await initAuthority(folder, { name: "Demo", days: DAYS, clock });
  using authority = await Authority.open(folder, { clock });
  const cloud = await authority.issueServer({ hosts: ["localhost"], ips: [HERE] }, issued);
  const boat = await authority.issueBoat(BOAT, issued);
  return { cloud, boat, caPath: cloud.caPath };
}

if (import.meta.main) Deno.exit(await serve(demoProgram, (settings, { log }) => run(settings, log)));
