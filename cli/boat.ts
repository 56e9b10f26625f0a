/**
 * `vbg-boat`, the boat server: reads the buses of a vessel and serves them over HTTP.
 *
 * @module
 */
import {
  type Boat,
  type BoatLimits,
  type BoatOptions,
  createBus,
  instanceNameOf,
  type RecordingOptions,
  type ServerOptions,
  startBoat,
} from "@vessel/gateway/boat";
import type { Logger } from "@vessel/gateway/base";
import { PERMISSIONS } from "./program/permissions.ts";
import { type Running, serve, type ServerProgram } from "./program/program.ts";
import { startAdvised, urlOf } from "./program/server_start.ts";
import { alertsOf } from "./settings/alert_options.ts";
import { changedTokens, readTokens } from "./settings/auth_file.ts";
import {
  BOAT_CONFIG_NAME,
  boatChecks,
  boatOptions,
  type BoatSettings,
  listenAddress,
} from "./settings/boat_options.ts";
import { gatewayServerOf } from "./settings/gateway_server_options.ts";
import { journalOf, type SharedRecordingOptions } from "./settings/journal_options.ts";
import { mqttOf } from "./settings/mqtt_options.ts";
import { nmea0183Of } from "./settings/nmea0183_options.ts";
import { definedOnly, limitsInForce, pick, type ReloadableOf } from "./settings/options.ts";
import { preferredSourcesOf } from "./settings/source_options.ts";
import { replicationLimitsOf, replicationOf } from "./settings/replication_options.ts";
import { serverLimits, serverOptionsOf } from "./settings/session_options.ts";
import { DEMO_STATE, isDefaultStateDir, openStateDir, temporaryDemoFolder } from "./settings/state_dir.ts";
import { signalkOf } from "./settings/signalk_options.ts";
import { virtualDeviceOf } from "./settings/virtual_device_options.ts";

/** Name, help and settings of the boat server. */
export const boatProgram: ServerProgram<BoatSettings> = {
  name: "vbg-boat",
  permissions: PERMISSIONS.boat,
  summary: "reads the NMEA 2000 buses of a boat and serves them over HTTP",
  options: boatOptions,
  checks: boatChecks,
  configName: BOAT_CONFIG_NAME,
};

/** A running boat server. */
export interface RunningBoat extends Running<BoatSettings>, Pick<Boat, "address"> {}

/** Starts the boat server with valid settings. */
export async function runBoat(settings: BoatSettings, log: Logger): Promise<RunningBoat> {
  const isTemporary = settings.demo && isDefaultStateDir(settings.stateDir);
  const temporary = isTemporary ? await temporaryDemoFolder() : undefined;
  const folder = temporary ?? settings.stateDir;
  const stateDir = await openStateDir(settings.demo ? `${folder}/${DEMO_STATE}` : folder);
  const close = async () => {
    stateDir[Symbol.dispose]();
    if (temporary !== undefined) await Deno.remove(temporary, { recursive: true });
  };
  try {
    let limits = boatLimits(settings);
    let current = settings;
    const boat = await start(settings, {
      ...limits,
      ...fixedOptions(settings, { log, stateDirectory: stateDir.path }),
      limitsInForce: () => limitsInForce(boatOptions, current),
    });
    log.info("listening", { url: urlOf(boat.address, { tls: settings.tlsCert !== "" }) });
    return {
      address: boat.address,
      heartbeats: boat.heartbeats,
      reload: (changed) => {
        const before = limits;
        limits = boatLimits(changed);
        current = { ...current, ...changed };
        boat.reload(limits);
        return changedTokens(before.tokens, limits.tokens);
      },
      stop: async () => {
        await boat.stop();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The limits that a reload changes. */
export function boatLimits(settings: ReloadableOf<typeof boatOptions>): BoatLimits {
  return {
    ...serverLimits(settings),
    ...pick(settings, [
      ...(["sendEnabled", "readOnly", "sendRules", "sendRateLimit", "sendRateBurst", "queryMaxTimeoutMs"] as const),
      ...(["maxQueries", "alertDedupWindowMs", "busSilenceTimeoutMs", "busSilenceThresholdMs"] as const),
    ]),
    tokens: readTokens(settings),
    preferredSources: preferredSourcesOf(settings.preferredSources),
    replicationLimits: replicationLimitsOf(settings),
  };
}

type FixedOptions = Omit<BoatOptions, "buses" | keyof BoatLimits>;

/** The options that need a restart. */
export function fixedOptions(
  settings: BoatSettings,
  { log, stateDirectory }: { log: Logger; stateDirectory: string },
): FixedOptions {
  // For the archive command, alerts and mDNS.
  const instanceId = settings.replicationInstanceId || undefined;
  const { tlsCert: certPath, tlsKey: keyPath } = settings;
  const mdnsName = settings.mdnsName || instanceNameOf(Deno.hostname());
  return {
    ...serverOptionsOf(settings),
    ...definedOnly<Omit<FixedOptions, Exclude<keyof ServerOptions, "seriesPgns">>>({
      stateDirectory,
      listen: listenAddress(settings),
      maxAssemblies: settings.maxAssemblies,
      discovery: settings.discovery,
      doctor: settings.doctor,
      doctorMaxStreams: settings.doctorMaxStreams,
      ringFrames: settings.ringFrames,
      maxValues: settings.maxValues,
      seriesPgns: settings.seriesPgns.map(Number),
      slots: settings.slots,
      transmit: { queueMessages: settings.sendQueueMessages, framesPerSecond: settings.sendFramesPerSecond },
      virtualDevice: virtualDeviceOf(settings),
      requests: settings.requests,
      requestsGlobalMinIntervalMs: settings.requestsGlobalMinIntervalMs,
      mqtt: mqttOf(settings),
      signalk: signalkOf(settings),
      webApps: settings.signalk ? settings.webApps || undefined : undefined,
      nmea0183: nmea0183Of(settings),
      gateway: gatewayServerOf(settings),
      mdnsName: settings.mdns && !settings.demo ? mdnsName : undefined,
      mdnsLplex: settings.mdnsLplex,
      alerts: alertsOf(settings, instanceId),
      blackBoxBytes: settings.blackBoxBytes,
      sourceHistoryBytes: settings.sourceHistoryBytes,
      tls: certPath === "" ? undefined : { certPath, keyPath },
      journal: settings.journalDir === "" ? undefined : recordingOf(settings, { stateDirectory, instanceId }),
      replication: replicationOf(settings),
    }),
    log,
  };
}

function recordingOf(
  settings: BoatSettings,
  { stateDirectory, instanceId }: { stateDirectory: string; instanceId: string | undefined },
): RecordingOptions {
  const own = definedOnly<Omit<RecordingOptions, keyof SharedRecordingOptions>>({
    directory: settings.journalDir,
    stateDirectory,
    prefix: settings.journalPrefix,
    slowBlockMs: settings.journalPackAfterMs,
    keepUnacknowledged: settings.keepUnacknowledged,
    evidence: settings.journalEvidence ? { keyFile: settings.journalEvidenceKey || undefined } : undefined,
    instanceId,
  });
  return { ...own, ...journalOf(settings) };
}

async function start(
  { demo, loopback, canDriver, interfaces }: BoatSettings,
  options: Omit<BoatOptions, "buses">,
): Promise<Boat> {
  if (demo) return await (await import("@vessel/gateway/simulation")).startDemo(options);
  const driver = loopback ? "loopback" : canDriver;
  const buses = await Promise.all(interfaces.map((name) => createBus(name, { driver })));
  return await startBoat({ ...options, buses });
}

/** Runs the boat server until it is stopped and returns the exit code. Adds advice to errors of the start. */
export async function serveBoat(): Promise<number> {
  return await serve(boatProgram, async (settings, { log }) => {
    try {
      return await runBoat(settings, log);
    } catch (error) {
      throw startAdvised(error);
    }
  });
}

if (import.meta.main) Deno.exit(await serveBoat());
