import { X509Certificate } from "node:crypto";
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
import { boolean, duration, integer, reloadable, text } from "./option_types.ts";
import { type Check, definedOnly, type ReloadableOf, type SettingsOf } from "./options.ts";
import { authoritiesProblem, reasonOf, tlsPairProblem } from "./tls_pair.ts";

const REPLICATION = "Replication";
/** Most buses that a replicated frame distinguishes. */
const MAX_REPLICATED_BUSES = 4;
const MAX_FRAMES = 2 ** 31 - 1;
const CERT = "replication-tls-cert";
const KEY = "replication-tls-key";
const DEFAULTS = BOAT_DEFAULTS.replicationLimits;

/** The target of replication, and the identity of the boat. */
const targetOptions = {
  replicationTarget: text({
    name: "replication-target",
    key: "replication.target",
    placeholder: "HOST:PORT",
    default: "",
    help:
      "Cloud that receives every frame, such as cloud.example.com:9443. Empty: nothing is replicated. Without a journal, " +
      "frames of times without a connection are not replicated.",
    group: REPLICATION,
    validate: (value) => value === "" ? undefined : targetProblem(value),
  }),
  replicationInstanceId: text({
    name: "replication-instance-id",
    key: "replication.instance-id",
    placeholder: "ID",
    default: "",
    help: "Instance id of this boat in the cloud (the common name of its certificate) and for the archive command. " +
      "1 to 64 letters, digits, '.', '_', '-', the first a letter or digit.",
    group: REPLICATION,
    validate: (value) =>
      value === "" || isInstanceId(value)
        ? undefined
        : `Cannot use the instance id "${value}": expected 1 to 64 letters, digits, '.', '_' and '-', the first a ` +
          "letter or digit",
  }),
  replicationTlsCert: text({
    name: CERT,
    key: "replication.tls.cert",
    placeholder: "FILE",
    default: "",
    help: "Certificate of the boat, PEM, as vbg-cloud ca issue creates it. Changed files are reloaded within 10 s.",
    group: REPLICATION,
  }),
  replicationTlsKey: text({
    name: KEY,
    key: "replication.tls.key",
    placeholder: "FILE",
    default: "",
    help: "Key of that certificate, PEM, not encrypted.",
    group: REPLICATION,
  }),
  replicationTlsCa: text({
    name: "replication-tls-ca",
    key: "replication.tls.ca",
    placeholder: "FILE",
    default: "",
    help: "Authorities that the cloud's certificate is verified by, PEM. Empty: the public ones.",
    group: REPLICATION,
  }),
  replicationInsecure: boolean({
    name: "replication-insecure",
    key: "replication.insecure",
    default: false,
    help: "Replicate without certificates and encryption. Only to a cloud on this machine.",
    group: REPLICATION,
  }),
};

/** Options of replication. */
export const replicationOptions = {
  ...targetOptions,
  replicationMaxLiveLag: reloadable(integer({
    name: "replication-max-live-lag",
    beyond: "The boat connects again and continues with the newest frame; the rest comes by backfill.",
    key: "replication.max-live-lag",
    default: DEFAULTS.maxLiveLagFrames,
    max: MAX_FRAMES,
    help:
      "Most frames that live replication may be behind; beyond it the boat reconnects, continues with the newest, and " +
      "sends the rest from the journal. 0: no limit.",
    group: REPLICATION,
  })),
  replicationLagCheckInterval: reloadable(integer({
    name: "replication-lag-check-interval",
    key: "replication.lag-check-interval",
    default: DEFAULTS.lagCheckFrames,
    min: 1,
    max: MAX_FRAMES,
    help: "Frames sent from one check of that lag to the next.",
    group: REPLICATION,
  })),
  replicationMinLagReconnectMs: reloadable(duration({
    name: "replication-min-lag-reconnect-interval",
    key: "replication.min-lag-reconnect-interval",
    default: DEFAULTS.minLagReconnectMs,
    help: "Least time between two reconnects for lag.",
    group: REPLICATION,
  })),
  replicationMaxReconnectMs: reloadable(duration({
    name: "replication-max-reconnect-delay",
    key: "replication.max-reconnect-delay",
    default: DEFAULTS.maxReconnectMs,
    minMs: FIRST_RECONNECT_MS,
    help: "Longest wait between attempts to connect. Waits start at 1 s and double.",
    group: REPLICATION,
  })),
};

/** Settings of replication. */
export type ReplicationSettings = SettingsOf<typeof replicationOptions>;

/** Checks of several settings of replication. */
export const replicationChecks: readonly Check<
  ReplicationSettings & { interfaces: readonly string[]; archiveCommand: string }
>[] = [
  {
    settings: ["replicationTarget", "replicationInstanceId", "archiveCommand"],
    severity: "error",
    test: ({ replicationTarget: target, replicationInstanceId: id, archiveCommand }) => {
      if (target !== "" && id === "") return "Cannot replicate without -replication-instance-id";
      // Without a cloud, the id distinguishes the archived files of this boat from those of others.
      return target === "" && id !== "" && archiveCommand === ""
        ? "Cannot replicate without -replication-target"
        : undefined;
    },
  },
  {
    settings: ["replicationTlsCert", "replicationTlsKey"],
    severity: "error",
    test: ({ replicationTlsCert: cert, replicationTlsKey: key }) =>
      tlsPairProblem({ cert, key }, { cert: CERT, key: KEY }),
  },
  {
    settings: ["replicationTlsCa"],
    severity: "error",
    test: ({ replicationTlsCa: ca }) => ca === "" ? undefined : authoritiesProblem(ca),
  },
  {
    settings: ["replicationTlsCert", "replicationInstanceId", "replicationTlsKey"],
    severity: "error",
    test: ({ replicationTlsCert: cert, replicationInstanceId: id }) => {
      const name = cert === "" || id === "" ? undefined : commonNameOf(cert);
      return name === undefined || name === id
        ? undefined
        : `The certificate "${cert}" is for "${name}", and -replication-instance-id is "${id}"`;
    },
  },
  {
    settings: ["replicationTarget", "replicationTlsCert", "replicationInsecure"],
    severity: "error",
    test: ({ replicationTarget: target, replicationTlsCert: cert, replicationInsecure }) => {
      if (target === "" || cert !== "") return undefined;
      if (!replicationInsecure) return `Cannot replicate to "${target}" without -${CERT} and -${KEY}`;
      return isOwnMachine(target)
        ? undefined
        : `Cannot replicate to "${target}" with -replication-insecure: it is another machine`;
    },
  },
  {
    settings: ["replicationInsecure", "replicationTlsCert"],
    severity: "warning",
    test: ({ replicationInsecure, replicationTlsCert: cert }) =>
      replicationInsecure && cert !== "" ? `Not used with -${CERT}` : undefined,
  },
  {
    settings: ["interfaces", "replicationTarget"],
    severity: "error",
    test: ({ interfaces, replicationTarget: target }) =>
      target !== "" && interfaces.length > MAX_REPLICATED_BUSES
        ? `Cannot replicate ${interfaces.length} interfaces: a replicated frame distinguishes ${MAX_REPLICATED_BUSES}`
        : undefined,
  },
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
