import { X509Certificate } from "node:crypto";
import {
  BOAT_DEFAULTS,
  type BoatLimits,
  FIRST_RECONNECT_MS,
  isInstanceId,
  isOwnMachine,
  type LinkTlsPaths,
  type ReplicationOptions,
} from "@vessel/gateway";
import { parseAddress } from "@vessel/gateway/base";
import { boolean, duration, integer, reloadable, text } from "./option_types.ts";
import { type Check, definedOnly, type ReloadableOf, type SettingsOf } from "./options.ts";
import { authoritiesProblem, reasonOf, tlsPairProblem } from "./tls_pair.ts";

const REPLICATION = "Replication";
/** Buses that a replicated frame tells apart. */
const MAX_REPLICATED_BUSES = 4;
const MAX_FRAMES = 2 ** 31 - 1;
const CERT = "replication-tls-cert";
const KEY = "replication-tls-key";
const DEFAULTS = BOAT_DEFAULTS.replicationLimits;

/** Where replication goes, and as who. */
const targetOptions = {
  replicationTarget: text({
    name: "replication-target",
    key: "replication.target",
    placeholder: "HOST:PORT",
    default: "",
    help:
      "Cloud that every frame goes to, such as cloud.example.com:9443. Empty: nothing is replicated. Without a journal " +
      "only what happens while there is a connection.",
    group: REPLICATION,
    validate: (value) => value === "" ? undefined : targetProblem(value),
  }),
  replicationInstanceId: text({
    name: "replication-instance-id",
    key: "replication.instance-id",
    placeholder: "ID",
    default: "",
    help:
      "Which boat this is: in the cloud, where it is the common name of its certificate, and for the archive command. " +
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
    help: "Certificate of the boat, PEM, as vbg-cloud ca issue makes it. Files that change are used within 10 s.",
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
    help: "Authorities that the cloud's certificate may come from, PEM. Empty: those that everybody knows.",
    group: REPLICATION,
  }),
  replicationInsecure: boolean({
    name: "replication-insecure",
    key: "replication.insecure",
    default: false,
    help: "Without certificates and encryption. Only to a cloud on this machine.",
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
      "Live frames that are further behind than so many are left to the journal: the boat connects again and goes on " +
      "with the newest. 0: never.",
    group: REPLICATION,
  })),
  replicationLagCheckInterval: reloadable(integer({
    name: "replication-lag-check-interval",
    key: "replication.lag-check-interval",
    default: DEFAULTS.lagCheckFrames,
    min: 1,
    max: MAX_FRAMES,
    help: "Frames sent from one look at that lag to the next.",
    group: REPLICATION,
  })),
  replicationMinLagReconnectMs: reloadable(duration({
    name: "replication-min-lag-reconnect-interval",
    key: "replication.min-lag-reconnect-interval",
    default: DEFAULTS.minLagReconnectMs,
    help: "Least time from one such reconnect to the next.",
    group: REPLICATION,
  })),
  replicationMaxReconnectMs: reloadable(duration({
    name: "replication-max-reconnect-delay",
    key: "replication.max-reconnect-delay",
    default: DEFAULTS.maxReconnectMs,
    minMs: FIRST_RECONNECT_MS,
    help: "Longest wait for the next try when the cloud is away. Waits begin at 1 s and double.",
    group: REPLICATION,
  })),
};

/** Settings of replication. */
export type ReplicationSettings = SettingsOf<typeof replicationOptions>;

/** What settings of replication must satisfy together. */
export const replicationChecks: readonly Check<
  ReplicationSettings & { interfaces: readonly string[]; archiveCommand: string }
>[] = [
  {
    settings: ["replicationTarget", "replicationInstanceId", "archiveCommand"],
    severity: "error",
    test: ({ replicationTarget: target, replicationInstanceId: id, archiveCommand }) => {
      if (target !== "" && id === "") return "Cannot replicate without -replication-instance-id";
      // A boat without a cloud needs the id to tell its archived files from those of other boats.
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
      replicationInsecure && cert !== "" ? `Not used: there is a -${CERT}` : undefined,
  },
  {
    settings: ["interfaces", "replicationTarget"],
    severity: "error",
    test: ({ interfaces, replicationTarget: target }) =>
      target !== "" && interfaces.length > MAX_REPLICATED_BUSES
        ? `Cannot replicate ${interfaces.length} interfaces: a replicated frame tells ${MAX_REPLICATED_BUSES} apart`
        : undefined,
  },
];

/** What the boat server is to be started with; nothing without a target. */
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

/** Nothing, too, for a file that cannot be read: the check of the pair tells that. */
function commonNameOf(cert: string): string | undefined {
  let subject = "";
  void reasonOf(() => subject = new X509Certificate(Deno.readTextFileSync(cert)).subject);
  return /^CN=(.*)$/m.exec(subject)?.[1];
}
