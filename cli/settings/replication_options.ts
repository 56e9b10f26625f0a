import {
  BOAT_DEFAULTS,
  type BoatLimits,
  FIRST_RECONNECT_MS,
  isInstanceId,
  isOwnMachine,
  type LinkTlsPaths,
  type ReplicationOptions,
} from "@vessel/gateway/boat";
import { parseAddress } from "@vessel/gateway/base";
import { X509Certificate } from "node:crypto";
import { OptionGroup, reloadable } from "./option_types.ts";
import { type Check, definedOnly, refuse, type ReloadableOf, type SettingsOf, warn } from "./options.ts";
import { authoritiesProblem, reasonOf, tlsPairProblem } from "./tls_pair.ts";

const replication = new OptionGroup("Replication", { section: "replication" });
/** Most buses that a replicated frame distinguishes. */
const MAX_REPLICATED_BUSES = 4;
const MAX_FRAMES = 2 ** 31 - 1;
const CERT = "replication-tls-cert";
const KEY = "replication-tls-key";
const DEFAULTS = BOAT_DEFAULTS.replicationLimits;

/** The target of replication, and the identity of the boat. */
const targetOptions = {
  replicationTarget: replication.text({
    name: "replication-target",
    placeholder: "HOST:PORT",
    help:
      "Cloud that receives every frame, such as cloud.example.com:9443. Empty: nothing is replicated. Without a journal, " +
      "frames of times without a connection are not replicated.",
    validate: (value) => value === "" ? undefined : targetProblem(value),
  }),
  replicationInstanceId: replication.text({
    name: "replication-instance-id",
    placeholder: "ID",
    help: "Instance id of this boat in the cloud (the common name of its certificate) and for the archive command. " +
      "1 to 64 letters, digits, '.', '_', '-', the first a letter or digit.",
    validate: (value) =>
      value === "" || isInstanceId(value)
        ? undefined
        : `Cannot use the instance id "${value}": expected 1 to 64 letters, digits, '.', '_' and '-', the first a ` +
          "letter or digit",
  }),
  replicationTlsCert: replication.text({
    name: CERT,
    key: "replication.tls.cert",
    placeholder: "FILE",
    help: "Certificate of the boat, PEM, as vbg-cloud ca issue creates it. Changed files are reloaded within 10 s.",
  }),
  replicationTlsKey: replication.text({
    name: KEY,
    key: "replication.tls.key",
    placeholder: "FILE",
    help: "Key of that certificate, PEM, not encrypted.",
  }),
  replicationTlsCa: replication.text({
    name: "replication-tls-ca",
    key: "replication.tls.ca",
    placeholder: "FILE",
    help: "Authorities that the cloud's certificate is verified by, PEM. Empty: the public ones.",
  }),
  replicationInsecure: replication.boolean({
    name: "replication-insecure",
    help: "Replicate without certificates and encryption. Only to a cloud on this machine.",
  }),
};

/** Options of replication. */
export const replicationOptions = {
  ...targetOptions,
  replicationMaxLiveLag: reloadable(replication.integer({
    name: "replication-max-live-lag",
    beyond: "The boat connects again and continues with the newest frame; the rest comes by backfill.",
    default: DEFAULTS.maxLiveLagFrames,
    max: MAX_FRAMES,
    help:
      "Most frames that live replication may be behind; beyond it the boat reconnects, continues with the newest, and " +
      "sends the rest from the journal. 0: no limit.",
  })),
  replicationLagCheckInterval: reloadable(replication.integer({
    name: "replication-lag-check-interval",
    default: DEFAULTS.lagCheckFrames,
    min: 1,
    max: MAX_FRAMES,
    help: "Frames sent from one check of that lag to the next.",
  })),
  replicationMinLagReconnectMs: reloadable(replication.duration({
    name: "replication-min-lag-reconnect-interval",
    default: DEFAULTS.minLagReconnectMs,
    help: "Least time between two reconnects for lag.",
  })),
  replicationMaxReconnectMs: reloadable(replication.duration({
    name: "replication-max-reconnect-delay",
    default: DEFAULTS.maxReconnectMs,
    minMs: FIRST_RECONNECT_MS,
    help: "Longest wait between attempts to connect. Waits start at 1 s and double.",
  })),
};

/** Settings of replication. */
export type ReplicationSettings = SettingsOf<typeof replicationOptions>;

/** Checks of several settings of replication. */
export const replicationChecks: readonly Check<
  ReplicationSettings & { interfaces: readonly string[]; archiveCommand: string }
>[] = [
  refuse(
    ["replicationTarget", "replicationInstanceId", "archiveCommand"],
    ({ replicationTarget: target, replicationInstanceId: id, archiveCommand }) => {
      if (target !== "" && id === "") return "Cannot replicate without -replication-instance-id";
      // Without a cloud, the id distinguishes the archived files of this boat from those of others.
      return target === "" && id !== "" && archiveCommand === ""
        ? "Cannot replicate without -replication-target"
        : undefined;
    },
  ),
  refuse(
    ["replicationTlsCert", "replicationTlsKey"],
    ({ replicationTlsCert: cert, replicationTlsKey: key }) => tlsPairProblem({ cert, key }, { cert: CERT, key: KEY }),
  ),
  refuse(["replicationTlsCa"], ({ replicationTlsCa: ca }) => authoritiesProblem(ca)),
  refuse(
    ["replicationTlsCert", "replicationInstanceId", "replicationTlsKey"],
    ({ replicationTlsCert: cert, replicationInstanceId: id }) => {
      const name = cert === "" || id === "" ? undefined : commonNameOf(cert);
      return name === undefined || name === id
        ? undefined
        : `The certificate "${cert}" is for "${name}", and -replication-instance-id is "${id}"`;
    },
  ),
  refuse(
    ["replicationTarget", "replicationTlsCert", "replicationInsecure"],
    ({ replicationTarget: target, replicationTlsCert: cert, replicationInsecure }) => {
      if (target === "" || cert !== "") return undefined;
      if (!replicationInsecure) return `Cannot replicate to "${target}" without -${CERT} and -${KEY}`;
      return isOwnMachine(target)
        ? undefined
        : `Cannot replicate to "${target}" with -replication-insecure: it is another machine`;
    },
  ),
  warn(
    ["replicationInsecure", "replicationTlsCert"],
    ({ replicationInsecure, replicationTlsCert: cert }) =>
      replicationInsecure && cert !== "" && `Not used with -${CERT}`,
  ),
  refuse(
    ["interfaces", "replicationTarget"],
    ({ interfaces, replicationTarget: target }) =>
      target !== "" && interfaces.length > MAX_REPLICATED_BUSES &&
      `Cannot replicate ${interfaces.length} interfaces: a replicated frame distinguishes ${MAX_REPLICATED_BUSES}`,
  ),
];

/** The library's options of replication; undefined without a target. */
export function replicationOf(settings: ReplicationSettings): ReplicationOptions | undefined {
  const { replicationTarget: target, replicationInstanceId: instanceId, replicationInsecure: insecure } = settings;
  const { replicationTlsCert: certPath, replicationTlsKey: keyPath, replicationTlsCa: caPath } = settings;
  if (target === "") return undefined;
  if (certPath === "") return { target, instanceId, insecure };
  const tls = definedOnly<LinkTlsPaths>({ certPath, keyPath, caPath: caPath || undefined });
  return { target, instanceId, tls };
}

/** Limits that may change while the server runs. */
export function replicationLimitsOf(
  settings: ReloadableOf<typeof replicationOptions>,
): BoatLimits["replicationLimits"] {
  return {
    maxLiveLagFrames: settings.replicationMaxLiveLag,
    lagCheckFrames: settings.replicationLagCheckInterval,
    minLagReconnectMs: settings.replicationMinLagReconnectMs,
    maxReconnectMs: settings.replicationMaxReconnectMs,
  };
}

function targetProblem(target: string): string | undefined {
  const isAddress = reasonOf(() => parseAddress(target)) === undefined;
  const { hostname, port } = isAddress ? parseAddress(target) : { hostname: "", port: 0 };
  return port !== 0 && !target.startsWith(":") && hostname !== "0.0.0.0"
    ? undefined
    : `Cannot replicate to "${target}": expected host:port such as cloud.example.com:9443`;
}

/** Undefined also for a file that cannot be read, which the check of the pair reports. */
function commonNameOf(cert: string): string | undefined {
  let subject = "";
  void reasonOf(() => subject = new X509Certificate(Deno.readTextFileSync(cert)).subject);
  return /^CN=(.*)$/m.exec(subject)?.[1];
}
