/**
 * `vbg-cloud` without a command: the cloud server.
 *
 * @module
 */
import {
  type AcmeSettings,
  type BoatTrust,
  type CloudLimits,
  type CloudNodeOptions,
  type CloudOptions,
  type CloudPorts,
  type CloudStoreOptions,
  startCloud,
} from "@vessel/gateway/cloud-server";
import type { ServerOptions } from "@vessel/gateway/boat";
import type { CommandFile } from "../../program/dispatch.ts";
import { PERMISSIONS } from "../../program/permissions.ts";
import { type Running, serve, type ServerProgram, type Starting } from "../../program/program.ts";
import { urlOf } from "../../program/server_start.ts";
import { changedTokens, readTokens } from "../../settings/auth_file.ts";
import {
  ACME_HTTP_LISTEN,
  GRPC_LISTEN,
  HTTP_LISTEN,
  INSECURE_GRPC_LISTEN,
  SINGLE_LISTEN,
} from "../../settings/cloud_listen_options.ts";
import {
  CLOUD_CONFIG_NAME,
  cloudAsyncChecks,
  cloudChecks,
  cloudOptions,
  type CloudSettings,
} from "../../settings/cloud_options.ts";
import { journalOf } from "../../settings/journal_options.ts";
import { definedOnly, pick, type ReloadableOf } from "../../settings/options.ts";
import { serverLimits, serverOptionsOf } from "../../settings/session_options.ts";

const serverProgram: ServerProgram<CloudSettings> = {
  name: "vbg-cloud",
  permissions: PERMISSIONS.cloud,
  summary: "receives the frames of boats and serves them over HTTP",
  options: cloudOptions,
  checks: cloudChecks,
  asyncChecks: cloudAsyncChecks,
  configName: CLOUD_CONFIG_NAME,
};

/** `vbg-cloud`. */
export const serverCommand: CommandFile = {
  program: serverProgram,
  run: (context) => serve(serverProgram, run, context),
};

/** Starts the cloud server with valid settings. */
async function run(settings: CloudSettings, { log, stopping }: Starting): Promise<Running<CloudSettings>> {
  let limits = cloudLimits(settings);
  const cloud = await startCloud({ ...limits, ...fixedOptions(settings), log, signal: stopping });
  const { grpc, http } = cloud.addresses;
  const { drainTimeMs: timeMs } = settings;
  log.info("listening", { url: urlOf(http, { tls: settings.httpListen === undefined && isSingle(settings) }) });
  log.info("listening for boats", { hostname: grpc.hostname, port: grpc.port });
  return {
    heartbeats: cloud.heartbeats,
    reload: (changed) => {
      const before = limits;
      limits = cloudLimits(changed);
      cloud.reload(limits);
      return changedTokens(before.tokens, limits.tokens);
    },
    drain: timeMs === 0 ? undefined : (signal) => cloud.drain({ timeMs, signal }),
    stop: cloud.stop,
  };
}

function isSingle({ listen, acmeDomain }: CloudSettings): boolean {
  return listen !== undefined || acmeDomain !== "";
}

/** The limits that a reload changes. */
export function cloudLimits(settings: ReloadableOf<typeof cloudOptions>): CloudLimits {
  return {
    ...serverLimits(settings),
    tokens: readTokens(settings),
    ...pick(settings, [
      ...(["rateLimit", "rateBurst", "collectMs", "maxLiveLagFrames", "copyRefuseMs", "maxInstances"] as const),
      ...(["brokerIdleTimeoutMs", "maxIdleBrokers", "scrubBytesPerSecond"] as const),
    ]),
  };
}

type FixedOptions = Omit<CloudOptions, keyof CloudLimits | "log" | "clock" | "signal">;

/** The options that need a restart. */
export function fixedOptions(settings: CloudSettings): FixedOptions {
  return {
    ...serverOptionsOf(settings),
    ...definedOnly<Omit<FixedOptions, Exclude<keyof ServerOptions, "seriesPgns">>>({
      dataDirectory: settings.dataDir,
      ports: portsOf(settings),
      spoolDirectory: settings.spoolDir || undefined,
      store: storeOf(settings),
      node: nodeOf(settings),
      ringFrames: settings.ringFrames,
      maxValues: settings.maxValues,
      seriesPgns: settings.seriesPgns.map(Number),
      journal: { ...journalOf(settings), archiveStartTimeoutMs: settings.archiveStartTimeoutMs },
    }),
  };
}

function storeOf(settings: CloudSettings): CloudOptions["store"] {
  const { store: url, storeEndpoint, storeIntervalMs: intervalMs, storeCacheBytes: maxSidecarBytes } = settings;
  return url === ""
    ? undefined
    : definedOnly<CloudStoreOptions>({ url, intervalMs, maxSidecarBytes, endpoint: storeEndpoint || undefined });
}

function nodeOf(settings: CloudSettings): CloudOptions["node"] {
  const { nodeUrl: url, nodeListen: listen, nodeCert: certPath, nodeKey: keyPath } = settings;
  return url === "" ? undefined : definedOnly<CloudNodeOptions>({ url, listen, certPath, keyPath });
}

function portsOf(settings: CloudSettings): CloudPorts {
  const { grpcListen, httpListen: http = HTTP_LISTEN, listen } = settings;
  if (settings.insecure) return { kind: "insecure", grpc: grpcListen ?? INSECURE_GRPC_LISTEN, http };
  const { tlsCert: certPath, tlsKey: keyPath, tlsClientCa: clientCaPath, tlsRevoked: revokedPath } = settings;
  const trust = definedOnly<BoatTrust>({ clientCaPath, revokedPath: revokedPath || undefined });
  if (settings.acmeDomain !== "") {
    return { kind: "single", address: listen ?? SINGLE_LISTEN, tls: acmeOf(settings), trust };
  }
  const tls = { certPath, keyPath };
  if (listen) return { kind: "single", address: listen, tls, trust };
  return { kind: "dual", grpc: grpcListen ?? GRPC_LISTEN, http, tls, trust };
}

function acmeOf(settings: CloudSettings): AcmeSettings {
  const { acmeDomain: domain, acmeEmail: email, acmeDirectory, acmeCa, acmeChallenge: challenge } = settings;
  return definedOnly<AcmeSettings>({
    domain,
    email,
    httpListen: settings.acmeHttpListen ?? ACME_HTTP_LISTEN,
    challenge: challenge === "auto" ? undefined : challenge,
    directoryUrl: acmeDirectory || undefined,
    caPath: acmeCa || undefined,
  });
}
