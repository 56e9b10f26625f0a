/**
 * `vbg-cloud` without a command: the cloud server.
 *
 * @module
 */
import { type AcmeSettings, type CloudOptions, type CloudPorts, startCloud, VERSION } from "@vessel/gateway";
import type { Logger } from "@vessel/gateway/base";
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
import type { CommandFile } from "../../program/dispatch.ts";
import { retentionOf } from "../../settings/journal_options.ts";
import { PERMISSIONS } from "../../program/permissions.ts";
import { type Running, serve, type ServerProgram, type Starting } from "../../program/program.ts";
import { urlOf } from "../../program/url_of.ts";

const serverProgram: ServerProgram<CloudSettings> = {
  name: "vbg-cloud",
  version: VERSION,
  permissions: PERMISSIONS.cloud,
  summary: "serves boats that replicate to it, and everybody who asks for what they have sent",
  options: cloudOptions,
  checks: cloudChecks,
  asyncChecks: cloudAsyncChecks,
  configName: CLOUD_CONFIG_NAME,
};

/** `vbg-cloud`. */
export const serverCommand: CommandFile = {
  program: serverProgram,
  run: (around) => serve(serverProgram, run, around),
};

/** Starts the cloud server with settings that are known to be right. */
async function run(settings: CloudSettings, { log, stopping }: Starting): Promise<Running<CloudSettings>> {
  const cloud = await startCloud({ ...optionsOf(settings, log), signal: stopping });
  const { grpc, http } = cloud.addresses;
  log.info("listening", { url: urlOf(http, { tls: settings.httpListen === undefined && isSingle(settings) }) });
  log.info("boats may come", { hostname: grpc.hostname, port: grpc.port });
  let current = settings;
  let tokens = readTokens(settings);
  return {
    heartbeats: cloud.heartbeats,
    reload: (changed) => {
      current = { ...current, ...changed };
      const before = tokens;
      tokens = readTokens(current);
      cloud.reload({ ...changed, tokens });
      return changedTokens(before, tokens);
    },
    stop: cloud.stop,
  };
}

function isSingle({ listen, acmeDomain }: CloudSettings): boolean {
  return listen !== undefined || acmeDomain !== "";
}

function optionsOf(settings: CloudSettings, log: Logger): CloudOptions {
  const { dataDir, archiveCommand, journalCompression } = settings;
  return {
    ...settings,
    dataDirectory: dataDir,
    ports: portsOf(settings),
    tokens: readTokens(settings),
    journal: {
      blockBytes: settings.journalBlockBytes,
      compression: journalCompression === "none" ? "none" : "zstd",
      rotateDurationMs: settings.journalRotateDurationMs,
      rotateBytes: settings.journalRotateBytes,
      syncIntervalMs: settings.journalSyncIntervalMs,
      maxBacklogBytes: settings.journalBacklogBytes,
      retention: retentionOf(settings),
      ...(archiveCommand !== "" && { archiveCommand }),
      archiveStartTimeoutMs: settings.archiveStartTimeoutMs,
    },
    log,
  };
}

function portsOf(settings: CloudSettings): CloudPorts {
  const { grpcListen, httpListen: http = HTTP_LISTEN, listen } = settings;
  if (settings.insecure) return { kind: "insecure", grpc: grpcListen ?? INSECURE_GRPC_LISTEN, http };
  const { tlsCert: certPath, tlsKey: keyPath, tlsClientCa: clientCaPath, tlsRevoked: revokedPath } = settings;
  const trust = { clientCaPath, ...(revokedPath !== "" && { revokedPath }) };
  if (settings.acmeDomain !== "") {
    return { kind: "single", address: listen ?? SINGLE_LISTEN, tls: acmeOf(settings), trust };
  }
  const tls = { certPath, keyPath };
  if (listen) return { kind: "single", address: listen, tls, trust };
  return { kind: "dual", grpc: grpcListen ?? GRPC_LISTEN, http, tls, trust };
}

function acmeOf(settings: CloudSettings): AcmeSettings {
  const { acmeDomain: domain, acmeEmail: email, acmeDirectory, acmeCa, acmeChallenge: challenge } = settings;
  return {
    domain,
    email,
    httpListen: settings.acmeHttpListen ?? ACME_HTTP_LISTEN,
    ...(challenge !== "auto" && { challenge }),
    ...(acmeDirectory !== "" && { directoryUrl: acmeDirectory }),
    ...(acmeCa !== "" && { caPath: acmeCa }),
  };
}
