/**
 * `vbg-boat`, the boat server: reads the buses of a vessel and serves them over HTTP.
 *
 * @module
 */
import {
  type Boat,
  createBus,
  instanceNameOf,
  type RecordingOptions,
  startBoat,
  startDemo,
  VERSION,
} from "@vessel/gateway";
import type { Logger } from "@vessel/gateway/base";
import { changedTokens, readTokens } from "./settings/auth_file.ts";
import { alertsOf } from "./settings/alert_options.ts";
import {
  BOAT_CONFIG_NAME,
  boatChecks,
  boatOptions,
  type BoatSettings,
  listenAddress,
} from "./settings/boat_options.ts";
import { retentionOf } from "./settings/journal_options.ts";
import { mqttOf } from "./settings/mqtt_options.ts";
import { replicationLimitsOf, replicationOf } from "./settings/replication_options.ts";
import { PERMISSIONS } from "./program/permissions.ts";
import { type Running, serve, type ServerProgram } from "./program/program.ts";
import { startAdvised } from "./program/start_advice.ts";
import { DEMO_STATE, isDefaultStateDir, openStateDir, temporaryDemoFolder } from "./settings/state_dir.ts";
import { urlOf } from "./program/url_of.ts";
import { virtualDeviceOf } from "./settings/virtual_device_options.ts";

/** The boat server's name, words and settings. */
export const boatProgram: ServerProgram<BoatSettings> = {
  name: "vbg-boat",
  version: VERSION,
  permissions: PERMISSIONS.boat,
  summary: "reads the NMEA 2000 buses of a boat and serves them over HTTP",
  options: boatOptions,
  checks: boatChecks,
  configName: BOAT_CONFIG_NAME,
};

/** A boat server that runs, and where it listens. */
export interface RunningBoat extends Running<BoatSettings>, Pick<Boat, "address"> {}

/** Starts the boat server with settings that are known to be right. */
export async function runBoat(settings: BoatSettings, log: Logger): Promise<RunningBoat> {
  const isThrownAway = settings.demo && isDefaultStateDir(settings.stateDir);
  const temporary = isThrownAway ? await temporaryDemoFolder() : undefined;
  const folder = temporary ?? settings.stateDir;
  const stateDir = await openStateDir(settings.demo ? `${folder}/${DEMO_STATE}` : folder);
  const close = async () => {
    stateDir[Symbol.dispose]();
    if (temporary !== undefined) await Deno.remove(temporary, { recursive: true });
  };
  try {
    const boat = await start(settings, { log, stateDirectory: stateDir.path });
    log.info("listening", { url: urlOf(boat.address, { tls: settings.tlsCert !== "" }) });
    let current = settings;
    let tokens = readTokens(settings);
    return {
      address: boat.address,
      heartbeats: boat.heartbeats,
      reload: (changed) => {
        current = { ...current, ...changed };
        const before = tokens;
        tokens = readTokens(current);
        boat.reload({ ...changed, tokens, replicationLimits: replicationLimitsOf(current) });
        return changedTokens(before, tokens);
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

/** The boat's instance id where it has one: for the archive command, alerts and mDNS. */
function instanceOf({ replicationInstanceId: instanceId }: BoatSettings): { instanceId?: string } {
  return instanceId === "" ? {} : { instanceId };
}

/** How the boat records; nothing without a directory. */
function recording(settings: BoatSettings, stateDirectory: string): RecordingOptions | undefined {
  const { journalDir, journalCompression } = settings;
  if (journalDir === "" || journalCompression === "zstd-dict") return undefined;
  return {
    directory: journalDir,
    stateDirectory,
    prefix: settings.journalPrefix,
    blockBytes: settings.journalBlockBytes,
    compression: journalCompression,
    rotateDurationMs: settings.journalRotateDurationMs,
    rotateBytes: settings.journalRotateBytes,
    syncIntervalMs: settings.journalSyncIntervalMs,
    maxBacklogBytes: settings.journalBacklogBytes,
    slowBlockMs: settings.journalPackAfterMs,
    retention: retentionOf(settings),
    ...(settings.archiveCommand !== "" && { archiveCommand: settings.archiveCommand }),
    ...instanceOf(settings),
  };
}

async function start(
  settings: BoatSettings,
  { log, stateDirectory }: { log: Logger; stateDirectory: string },
): Promise<Boat> {
  const { interfaces, demo, canDriver, loopback } = settings;
  const journal = recording(settings, stateDirectory);
  const { sendQueueMessages: queueMessages, sendFramesPerSecond: framesPerSecond } = settings;
  const { tlsCert: certPath, tlsKey: keyPath } = settings;
  const device = virtualDeviceOf(settings);
  const mqtt = mqttOf(settings);
  const replication = replicationOf(settings);
  const { virtualDevice: _, mdnsName: _name, ...rest } = settings;
  const options = {
    ...rest,
    stateDirectory,
    listen: listenAddress(settings),
    tokens: readTokens(settings),
    transmit: { queueMessages, framesPerSecond },
    ...(device && { virtualDevice: device }),
    ...(mqtt && { mqtt }),
    ...(settings.mdns && !settings.demo && { mdnsName: settings.mdnsName || instanceNameOf(Deno.hostname()) }),
    alerts: { ...alertsOf(settings), ...instanceOf(settings) },
    ...(certPath !== "" && { tls: { certPath, keyPath } }),
    ...(journal && { journal }),
    ...(replication && { replication }),
    replicationLimits: replicationLimitsOf(settings),
    log,
  };
  if (demo) return await startDemo(options);
  const driver = loopback ? "loopback" : canDriver;
  const buses = await Promise.all(interfaces.map((name) => createBus(name, { driver })));
  return await startBoat({ ...options, buses });
}

/** Runs the boat server until it is stopped. Answers the exit code; what keeps it from starting is told with advice. */
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
