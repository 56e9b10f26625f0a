import { AtomicFile, type Clock, type Logger } from "../base/mod.ts";
import type { BoatFeed, StoreOptions } from "../feed/mod.ts";
import type { Broker, DeviceRecord } from "../broker/mod.ts";
import { BROADCAST_ADDRESS, buildCanId, NAME_BYTES, packBus } from "../frame/mod.ts";
import { encode, EncodeError, PGN, type ProductInformation } from "../pgn/mod.ts";
import { BoatLink, type LinkLimits, type LinkTlsPaths, type LiveFrame, StoredProgress } from "../replication/mod.ts";

/** Options of the replication to a cloud. */
export interface ReplicationOptions {
  /** `host:port` of the cloud. */
  target: string;
  /** Id of the boat; must be the common name of its certificate. */
  instanceId: string;
  /** Certificate, key and authority; required unless `insecure`. */
  tls?: LinkTlsPaths;
  /** Connects without certificates and encryption, to a cloud on this machine; default false. */
  insecure?: boolean;
}

/** File in the state directory with the progress of replication. */
const PROGRESS_FILE = "replication.json";

/** Opens what is known of the frames that the cloud has stored. The journal needs it before there is a link. */
export async function openStored(
  { stateDirectory, journal }: StoreOptions,
  { clock, log }: { clock: Clock; log: Logger },
): Promise<StoredProgress> {
  const directory = stateDirectory ?? journal?.stateDirectory;
  const file = directory === undefined ? undefined : new AtomicFile(directory, { name: PROGRESS_FILE });
  return await StoredProgress.open({ file, isKept: journal?.keepUnacknowledged, clock, log });
}

/** Creates the link of a boat to its cloud, not started yet. */
export function linkOf(
  { target, instanceId, tls, insecure = false }: ReplicationOptions,
  { feed: boatFeed, stored, limits, clock, log }: {
    feed: BoatFeed;
    stored: StoredProgress | undefined;
    limits: () => LinkLimits;
    clock: Clock;
    log: Logger;
  },
): BoatLink {
  const { journal, feed: { broker, source } } = boatFeed;
  if (!tls && !insecure) throw new RangeError(`Cannot replicate to "${target}" without a certificate`);
  const link = new BoatLink({
    target,
    instanceId,
    tls,
    source,
    numbers: boatFeed,
    stored,
    archive: journal,
    devices: () => introductions(broker, clock.wallUs()),
    journalBytes: () => journal?.index.bytes ?? 0,
    busNames: broker.buses,
    limits,
    clock,
    log,
  });
  boatFeed.onNewEpoch((_, formerHead) => link.newEpoch(formerHead));
  return link;
}

/** Frames that introduce the known devices to a cloud: their address claims and product information. */
export function introductions(broker: Broker, timeUs: number): LiveFrame[] {
  return Array.from(broker.registry).flatMap((device) => {
    const { name, product } = device;
    if (name === undefined) return [];
    const frames = [frameOf(device, { pgn: PGN.addressClaim, data: nameBytes(name), timeUs })];
    const data = product && productBytes(product);
    if (data) frames.push(frameOf(device, { pgn: PGN.productInformation, data, timeUs }));
    return frames;
  });
}

/** Priority of address claims and product information. */
const PRIO = 6;

function frameOf(
  { src, bus }: DeviceRecord,
  { pgn, data, timeUs }: { pgn: number; data: Uint8Array; timeUs: number },
): LiveFrame {
  const id = buildCanId({ prio: PRIO, pgn, src, dst: BROADCAST_ADDRESS });
  return { seq: 0, timestampUs: timeUs, canId: packBus(id, bus), data };
}

function nameBytes(name: bigint): Uint8Array {
  const bytes = new Uint8Array(NAME_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, name, true);
  return bytes;
}

/** Payload of the product information; undefined if it does not fit into the message. */
function productBytes(product: ProductInformation): Uint8Array | undefined {
  try {
    return encode(PGN.productInformation, {
      nmea_version: null,
      product_code: product.productCode,
      model_id: product.modelId,
      software_version: product.softwareVersion,
      model_version: product.modelVersion,
      model_serial: product.modelSerial,
      cert_level: null,
      load_equiv: null,
    });
  } catch (error) {
    if (error instanceof EncodeError) return undefined;
    throw error;
  }
}
