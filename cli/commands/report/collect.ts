import type {
  BlackBoxEntry,
  BoatAlert,
  BoatHealth,
  Client,
  Device,
  Metric,
  NetworkReport,
} from "@vessel/gateway/client";
import { ifThere } from "../../client/if_there.ts";

/** Counters of a bus since the start of the server. */
export interface BusFigures {
  bus: string;
  state: string;
  frames: number;
  dropped: number;
  errors: number;
  incomplete: number;
  load_percent?: number;
  peak_percent?: number;
}

/** Everything that a report tells, but for the frames. */
export interface ReportContent {
  boat: string;
  version: string;
  /** RFC 3339. */
  takenAt: string;
  /** Undefined: the server has no doctor. */
  doctor: NetworkReport | undefined;
  /** Undefined: the server is a cloud. */
  health: BoatHealth | undefined;
  buses: BusFigures[];
  devices: Device[];
  alerts: BoatAlert[];
  events: BlackBoxEntry[];
}

/** Asks a server for what a report tells. What it does not have is left out. */
export async function collect(
  client: Client,
  { label, takenAt, signal }: { label: string; takenAt: string; signal: AbortSignal },
): Promise<ReportContent> {
  const options = { signal };
  const doctor = await ifThere(client.doctor(options));
  const { kind, name, version } = await client.server(options);
  return {
    boat: kind === "boat" ? name : label,
    version,
    takenAt,
    doctor,
    health: await ifThere(client.health(options)),
    buses: busesOf(await client.metrics(options), doctor),
    devices: await client.devices(options),
    alerts: await ifThere(client.alerts(options)) ?? [],
    events: (await ifThere(client.blackBox(options)) ?? []).filter(({ complete }) => complete),
  };
}

function busesOf(metrics: readonly Metric[], doctor: NetworkReport | undefined): BusFigures[] {
  const sum = (bus: string, ...names: string[]) =>
    metrics.reduce((sum, { name, labels, value }) => labels.bus === bus && names.includes(name) ? sum + value : sum, 0);
  const states = metrics.filter(({ name, value }) => name === "vbg_bus_state" && value === 1);
  return states.map(({ labels: { bus = "", state = "" } }) => {
    const { load_percent, peak_percent } = doctor?.buses.find((each) => each.bus === bus) ?? {};
    return {
      bus,
      state,
      frames: sum(bus, "vbg_bus_frames_total"),
      dropped: sum(bus, "vbg_bus_kernel_dropped_frames_total", "vbg_bus_interface_dropped_frames_total"),
      errors: sum(bus, "vbg_bus_error_frames_total"),
      incomplete: sum(bus, "vbg_assembler_dropped_total"),
      ...(load_percent !== undefined && { load_percent }),
      ...(peak_percent !== undefined && { peak_percent }),
    };
  });
}
