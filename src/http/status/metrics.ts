import type { Broker } from "../../broker/mod.ts";
import type { Journal } from "../../journal/mod.ts";
import type { BusCounters } from "../../can/mod.ts";
import type { DeviceRequests, SendCounters, TransmitStatus } from "../../transmit/mod.ts";
import type { BoatLink, ReplicationStatus } from "../../replication/mod.ts";
import type { SeriesRollup } from "../../series/mod.ts";
import type { SignalK } from "../signalk/signalk.ts";
import type { Sessions, StreamHub } from "../../stream/mod.ts";
import type { MonitoredBus } from "./health.ts";
import { byLabel, counter, type Figure, figureTexts, gauge, type Reading } from "./figure.ts";
import { readerFigures, type ReaderSources, serverFigures, type ServerSources } from "./server_figures.ts";

/** The part of a journal that has metrics. */
type JournalFigures = Pick<Journal, "durableSeq" | "unsyncedMs" | "lost" | "written" | "state" | "files">;

/** Sources of the boat's metrics, read at each scrape. */
export interface MetricSources extends ServerSources {
  broker: Broker;
  lines: readonly MonitoredBus[];
  hub: StreamHub;
  /** Undefined: the server has no sessions. */
  sessions?: Pick<Sessions, "size" | "streaming" | "largestLag" | "figures"> | undefined;
  /** Undefined: nothing is recorded. */
  journal?: JournalFigures | undefined;
  /** Undefined: the journal has no sidecars. */
  rollup?: Pick<SeriesRollup, "failures"> | undefined;
  /** Undefined: the server cannot send. */
  transmit?: TransmitFigures | undefined;
  /** Undefined: no integrations. */
  integrations?: IntegrationFigures | undefined;
  /** Undefined: Signal K is off. */
  signalk?: Pick<SignalK, "running"> | undefined;
  /** Undefined: the buses are not checked for faults. */
  doctor?: { findings(): readonly { severity: string }[]; readonly untracked: number } | undefined;
  /** Undefined: nothing is replicated. */
  replication?: Pick<BoatLink, "status" | "lostFrames" | "lastAckUs"> | undefined;
  /** Identity requests since the start; undefined: discovery is off. */
  identity: { counters: { sent: number; failed: number }; pending: number } | undefined;
}

/** Sources of the metrics of transmission. */
export interface TransmitFigures {
  gate: { counters: Readonly<SendCounters> };
  queries: { open: number };
  transmitter: { status: readonly TransmitStatus[] };
  requests?: Pick<DeviceRequests, "counters" | "pending"> | undefined;
}

/** Sources of the metrics of MQTT, NMEA 0183, the gateway server and alerts. */
export interface IntegrationFigures {
  mqtt?: { counters: { published: number; dropped: number; connects: number }; waiting: number } | undefined;
  nmea0183?:
    | { counters: { sent: number; dropped: number; refused: number; ignored: number }; clients: number }
    | undefined;
  gateway?: { counters: GatewayFigures; clients: number } | undefined;
  alerts: { figures: { sent: number; failed: number; dropped: number; waiting: number } };
}

/** Totals of the gateway server. */
interface GatewayFigures {
  sent: number;
  dropped: number;
  refused: number;
  unsplit: number;
  written: Record<"accepted" | "refused" | "answered" | "unanswered" | "unreadable", number>;
}

const BUS_STATES = ["error-active", "error-warning", "error-passive", "bus-off", "down", "missing", "closed"];

/** All metrics of the boat server, in Prometheus' text format. */
export class Metrics {
  readonly #figures: Figure[];

  constructor(sources: MetricSources) {
    const { journal, rollup, transmit, integrations, replication } = sources;
    this.#figures = [
      ...serverFigures(sources),
      ...busFigures(sources),
      ...brokerFigures(sources),
      ...sourceFigures(sources),
      ...clientFigures(sources),
      ...(journal ? journalFigures(journal) : []),
      ...(rollup ? seriesFigures(rollup) : []),
      ...(transmit ? transmitFigures(transmit) : []),
      ...(integrations ? integrationFigures(integrations) : []),
      ...(sources.signalk ? signalkFigures(sources.signalk) : []),
      ...(sources.doctor ? doctorFigures(sources.doctor) : []),
      ...(replication ? replicationFigures(replication) : []),
    ];
  }

  /** The current metrics. */
  text(): string {
    return [...figureTexts(this.#figures)].join("");
  }
}

function doctorFigures(doctor: NonNullable<MetricSources["doctor"]>): Figure[] {
  return [
    gauge("vbg_doctor_findings", "Findings of the network doctor, by severity", () => {
      const counts = { critical: 0, warning: 0, info: 0 };
      for (const { severity } of doctor.findings()) if (severity in counts) counts[severity as keyof typeof counts]++;
      return byLabel("severity", counts);
    }),
    counter(
      "vbg_doctor_untracked_messages_total",
      "Messages that the network doctor has not checked, because there are too many pairs of device and PGN",
      () => doctor.untracked,
    ),
  ];
}

function seriesFigures(rollup: Pick<SeriesRollup, "failures">): Figure[] {
  return [
    counter(
      "vbg_series_sidecar_failures_total",
      "Failed attempts to build, write or read a sidecar of the journal, from which /series answers",
      () => rollup.failures,
    ),
  ];
}

function journalFigures(journal: JournalFigures): Figure[] {
  return [
    gauge(
      "vbg_journal_recording",
      "1 while frames are recorded, 0 while the disk is full or fails",
      () => journal.state.kind === "recording" && !journal.files?.isPaused ? 1 : 0,
    ),
    gauge("vbg_journal_durable_seq", "Newest sequence number that is synced to disk", () => journal.durableSeq),
    gauge(
      "vbg_journal_unsynced_age_seconds",
      "Age of the oldest unsynced frame; 0: all frames are synced",
      () => journal.unsyncedMs / 1000,
    ),
    counter("vbg_journal_blocks_total", "Blocks written", () => journal.written.blocks),
    counter("vbg_journal_written_bytes_total", "Bytes of blocks written", () => journal.written.bytes),
    gauge(
      "vbg_journal_last_block_write_seconds",
      "Time to write and sync the newest block; 0: none written yet",
      () => journal.written.lastBlockMs / 1000,
    ),
    counter("vbg_journal_lost_frames_total", "Frames that could not be recorded", () => journal.lost),
    gauge(
      "vbg_journal_kept_files",
      "Files kept past their age until the cloud has stored them",
      () => journal.files?.kept ?? 0,
    ),
    counter(
      "vbg_journal_deleted_unstored_frames_total",
      "Frames deleted by retention before the cloud stored them",
      () => journal.files?.deletedUnstored ?? 0,
    ),
    counter(
      "vbg_journal_archive_failures_total",
      "Failed attempts to archive a journal file",
      () => journal.files?.archiveFailures ?? 0,
    ),
  ];
}

function busFigures({ lines, broker }: MetricSources): Figure[] {
  const perBus = (read: (line: MonitoredBus) => number) => () =>
    lines.map((line): Reading => [read(line), { bus: line.bus.name }]);
  const total = (name: string, help: string, read: (counters: Readonly<BusCounters>) => number) =>
    counter(`vbg_bus_${name}_total`, help, perBus(({ bus }) => read(bus.counters)));
  return [
    total("frames", "CAN frames received", (c) => c.received),
    total("kernel_dropped_frames", "CAN frames the kernel dropped because the socket was full", (c) => c.kernelDropped),
    total("interface_dropped_frames", "CAN frames lost by controller or driver", (c) => c.interfaceDropped),
    total("ignored_frames", "Frames that are not NMEA 2000: 11-bit identifiers or remote frames", (c) => c.ignored),
    total("error_frames", "CAN error frames", (c) => c.errorFrames),
    total("sent_frames", "CAN frames sent", (c) => c.sent),
    total("send_failed_frames", "CAN frames that could not be sent", (c) => c.sendFailed),
    counter(
      "vbg_bus_faulty_frames_total",
      "Frames lost because of a fault of the server",
      perBus(({ fault }) => fault.count),
    ),
    counter(
      "vbg_messages_total",
      "Complete messages published",
      perBus(({ index }) => broker.lastFrame(index)?.frames ?? 0),
    ),
    gauge(
      "vbg_last_message_timestamp_seconds",
      "Time of the newest message, seconds since 1970; 0: none yet",
      perBus(({ index }) => (broker.lastFrame(index)?.timeUs ?? 0) / 1e6),
    ),
    gauge(
      "vbg_bus_state",
      "1 for the current state of a bus, 0 for the others",
      () =>
        lines.flatMap(({ bus }) => {
          const now = bus.state.type === "up" ? bus.state.controller : bus.state.type;
          return BUS_STATES.map((state): Reading => [state === now ? 1 : 0, { bus: bus.name, state }]);
        }),
    ),
    counter(
      "vbg_assembler_dropped_total",
      "Multi-frame messages or fragments dropped",
      () => lines.flatMap(({ bus, assembler }) => byLabel("reason", assembler.drops, { bus: bus.name })),
    ),
    gauge("vbg_assembler_pending", "Incomplete multi-frame messages", perBus(({ assembler }) => assembler.pending)),
  ];
}

function brokerFigures({ broker }: MetricSources): Figure[] {
  const { registry, values, ring, decoder } = broker;
  return [
    gauge("vbg_head_seq", "Newest sequence number", () => broker.head),
    gauge("vbg_ring_frames", "Frames in the ring", () => ring.size),
    gauge("vbg_ring_capacity_frames", "Frames the ring can hold", () => ring.capacity),
    gauge("vbg_ring_fill_ratio", "Share of the ring that holds frames, 0 to 1", () => ring.size / ring.capacity),
    gauge("vbg_devices", "Entries of the device table", () => registry.size),
    counter("vbg_devices_added_total", "Devices added", () => registry.counters.added),
    counter("vbg_devices_removed_total", "Devices removed", () => registry.counters.removed),
    counter(
      "vbg_invalid_identity_messages_total",
      "Invalid address claims and product information messages",
      () => [
        [registry.counters.invalidClaims, { kind: "claim" }],
        [registry.counters.invalidProducts, { kind: "product" }],
      ],
    ),
    counter(
      "vbg_decode_faults_total",
      "Payloads not decoded because of a fault of the server",
      () => decoder.fault.count,
    ),
    gauge("vbg_values", "Stored last values", () => values.size),
    counter("vbg_values_refused_total", "Values not stored because the store is full", () => values.refused),
  ];
}

/** Values of quantities; see `src/quantities`. */
function sourceFigures({ hub }: MetricSources): Figure[] {
  const help = "Values whose age and source are not followed because there are too many";
  return [counter("vbg_source_values_refused_total", help, () => hub.sources.refused)];
}

function clientFigures({ broker, hub, sessions, identity }: MetricSources): Figure[] {
  const readers: ReaderSources = {
    count: (kind) => hub.count(kind),
    memory: hub.memory,
    get streamingSessions() {
      return sessions?.streaming ?? 0;
    },
    get sessionFigures() {
      return sessions?.figures ?? { replaced: 0, refused: { owner: 0, total: 0 } };
    },
    get dropped() {
      return { client_slow: hub.dropped, queue_full: broker.dropped };
    },
  };
  return [
    ...readerFigures(readers),
    gauge("vbg_subscriptions", "Subscriptions to the broker", () => broker.subscribers),
    gauge("vbg_sessions", "Sessions, including slots", () => sessions?.size ?? 0),
    gauge("vbg_largest_lag_frames", "Frames that the slowest reader has not received yet", () => [
      [sessions?.largestLag ?? 0, { kind: "session" }],
      [broker.mostWaiting, { kind: "subscription" }],
    ]),
    ...(identity
      ? [
        counter("vbg_identity_requests_total", "ISO requests sent to identify devices", () => [
          [identity.counters.sent, { result: "sent" }],
          [identity.counters.failed, { result: "failed" }],
        ]),
        gauge("vbg_unidentified_devices", "Addresses whose device is not identified yet", () => identity.pending),
      ]
      : []),
  ];
}

function transmitFigures({ gate, queries, transmitter, requests }: TransmitFigures): Figure[] {
  const perBus = (read: (status: TransmitStatus) => number) => () =>
    transmitter.status.map((status): Reading => [read(status), { bus: status.bus }]);
  return [
    counter("vbg_send_accepted_total", "Client messages queued", () => gate.counters.accepted),
    counter("vbg_send_refused_total", "Client messages refused", () => byLabel("reason", gate.counters.refused)),
    counter("vbg_send_failed_total", "Client messages queued and not sent", () => gate.counters.failed),
    gauge("vbg_queries", "Queries in progress", () => queries.open),
    counter(
      "vbg_transmit_messages_total",
      "Messages sent, including those of the server itself",
      perBus((s) => s.counters.sent),
    ),
    counter(
      "vbg_transmit_failed_total",
      "Messages not sent or only partly sent",
      () => transmitter.status.flatMap(({ bus, counters }) => byLabel("reason", counters.failed, { bus })),
    ),
    gauge("vbg_transmit_waiting", "Messages queued for transmission", perBus((status) => status.waiting)),
    gauge("vbg_transmit_transfers", "Transport protocol sessions, active or waiting", perBus((s) => s.transfers)),
    ...(requests
      ? [
        counter("vbg_device_requests_total", "Device requests made by rules", () =>
          byLabel("reason", { ...requests.counters })),
        gauge("vbg_device_requests_pending", "Device requests without an answer yet", () =>
          requests.pending),
      ]
      : []),
  ];
}

function integrationFigures({ mqtt, nmea0183, gateway, alerts }: IntegrationFigures): Figure[] {
  return [
    counter("vbg_alerts_total", "Alert deliveries", () => {
      const { sent, failed, dropped } = alerts.figures;
      return byLabel("result", { sent, failed, dropped });
    }),
    gauge("vbg_alerts_waiting", "Alerts waiting for delivery", () => alerts.figures.waiting),
    ...(mqtt
      ? [
        counter("vbg_mqtt_published_total", "Frames that the MQTT broker has accepted", () => mqtt.counters.published),
        counter("vbg_mqtt_dropped_total", "Frames not delivered to the MQTT broker", () => mqtt.counters.dropped),
        counter("vbg_mqtt_connects_total", "Connections to the MQTT broker", () => mqtt.counters.connects),
        gauge("vbg_mqtt_waiting", "Frames waiting for the MQTT broker", () => mqtt.waiting),
      ]
      : []),
    ...(nmea0183
      ? [
        gauge("vbg_nmea0183_clients", "Connected clients of NMEA 0183", () => nmea0183.clients),
        counter("vbg_nmea0183_sent_total", "Sentences sent, one for each receiver", () => nmea0183.counters.sent),
        counter("vbg_nmea0183_dropped_total", "Sentences that a slow receiver did not get", () =>
          nmea0183.counters.dropped),
        counter("vbg_nmea0183_refused_total", "Connections refused at the limit", () =>
          nmea0183.counters.refused),
        counter("vbg_nmea0183_ignored_total", "Pieces of data received and ignored", () =>
          nmea0183.counters.ignored),
      ]
      : []),
    ...(gateway ? gatewayFigures(gateway) : []),
  ];
}

function gatewayFigures(gateway: NonNullable<IntegrationFigures["gateway"]>): Figure[] {
  const total = (name: string, help: string, read: (counters: GatewayFigures) => number) =>
    counter(`vbg_gateway_${name}_total`, help, () => read(gateway.counters));
  return [
    gauge("vbg_gateway_clients", "Connected clients of the gateway server", () => gateway.clients),
    total("sent", "Frames and messages sent, one for each receiver", ({ sent }) => sent),
    total("dropped", "Frames and messages that a slow receiver did not get", ({ dropped }) => dropped),
    total("refused", "Connections refused at the limit", ({ refused }) => refused),
    total("unsplit", "Messages left out of formats of frames: no fast packet carries them", ({ unsplit }) => unsplit),
    counter("vbg_gateway_written_total", "What clients wrote", () => byLabel("result", gateway.counters.written)),
  ];
}

function signalkFigures(signalk: Pick<SignalK, "running">): Figure[] {
  const total = (read: (server: NonNullable<SignalK["running"]>) => number) => () =>
    signalk.running ? read(signalk.running) : 0;
  return [
    gauge("vbg_signalk_clients", "Connected clients of Signal K streams", total(({ clients }) => clients.all)),
    counter("vbg_signalk_sent_total", "Values sent, one for each client", total(({ counters }) => counters.sent)),
    counter(
      "vbg_signalk_dropped_total",
      "Values that slow clients did not get: they get the newest ones when they read again",
      total(({ counters }) => counters.dropped),
    ),
    counter("vbg_signalk_refused_total", "Values not kept: too many", total(({ refusedValues }) => refusedValues)),
  ];
}

function replicationFigures(link: NonNullable<MetricSources["replication"]>): Figure[] {
  const total = (name: string, help: string, read: (status: ReplicationStatus) => number) =>
    counter(`vbg_replication_${name}_total`, help, () => read(link.status()));
  return [
    gauge(
      "vbg_replication_connected",
      "1 while there is a connection to the cloud",
      () => Number(link.status().connected),
    ),
    gauge("vbg_replication_live_lag_frames", "Frames not yet sent live", () => link.status().live_lag),
    gauge(
      "vbg_replication_backfill_remaining_frames",
      "Frames still to be sent as blocks",
      () => link.status().backfill_remaining_seqs,
    ),
    gauge(
      "vbg_replication_last_ack_timestamp_seconds",
      "Time of the cloud's last acknowledgement, seconds since 1970; 0: never",
      () => (link.lastAckUs ?? 0) / 1e6,
    ),
    gauge(
      "vbg_replication_stored_seq",
      "Every frame up to and including this number is in the cloud's store; without a store, on its disk; 0: not reported",
      () => link.status().cloud_stored_seq ?? 0,
    ),
    gauge("vbg_replication_lost_frames", "Frames that the cloud will never receive", () => link.lostFrames),
    total("live_frames_sent", "Frames sent live", (s) => s.live_frames_sent),
    total("backfill_blocks_sent", "Blocks sent", (s) => s.backfill_blocks_sent),
    total("backfill_bytes_sent", "Bytes of blocks sent", (s) => s.backfill_bytes_sent),
    total("reconnects", "Connections after the first", (s) => s.reconnects),
    total("lag_reconnects", "Reconnects because the live stream was too far behind", (s) => s.lag_reconnects),
  ];
}
