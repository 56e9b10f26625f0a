import type { Broker } from "../../broker/mod.ts";
import type { Journal } from "../../journal/mod.ts";
import type { BusCounters } from "../../can/mod.ts";
import type { DeviceRequests, SendCounters, TransmitStatus } from "../../transmit/mod.ts";
import type { BoatLink, ReplicationStatus } from "../../replication/mod.ts";
import type { Sessions, StreamHub } from "../../stream/mod.ts";
import type { MonitoredBus } from "./health.ts";
import { counter, type Figure, figureTexts, gauge, type Labels, type Reading } from "./figure.ts";
import { serverFigures, type ServerSources } from "./server_figures.ts";
import { sessionCounters } from "../sessions/figures.ts";

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
  /** Undefined: the server cannot send. */
  voice?: TransmitFigures | undefined;
  /** Undefined: no integrations. */
  outlets?: IntegrationFigures | undefined;
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

/** Sources of the metrics of MQTT and alerts. */
export interface IntegrationFigures {
  mqtt?: { counters: { published: number; dropped: number; connects: number }; waiting: number } | undefined;
  alerts: { figures: { sent: number; failed: number; dropped: number; waiting: number } };
}

const BUS_STATES = ["error-active", "error-warning", "error-passive", "bus-off", "down", "missing", "closed"];

/** All metrics of the boat server, in Prometheus' text format. */
export class Metrics {
  readonly #figures: Figure[];

  constructor(sources: MetricSources) {
    this.#figures = serverFigures(sources);
    this.#buses(sources);
    this.#broker(sources);
    this.#server(sources);
    if (sources.journal) this.#journal(sources.journal);
    if (sources.voice) this.#transmit(sources.voice);
    if (sources.outlets) this.#integrations(sources.outlets);
    if (sources.replication) this.#replication(sources.replication);
  }

  /** The current metrics. */
  text(): string {
    return [...figureTexts(this.#figures)].join("");
  }

  #journal(journal: JournalFigures): void {
    this.#gauge(
      "vbg_journal_recording",
      "1 while frames are recorded, 0 while the disk is full or fails",
      () => {
        return [[journal.state.kind === "recording" && !journal.files?.isPaused ? 1 : 0, {}]];
      },
    );
    this.#gauge(
      "vbg_journal_durable_seq",
      "Newest sequence number that is synced to disk",
      () => [[journal.durableSeq, {}]],
    );
    this.#gauge(
      "vbg_journal_unsynced_age_seconds",
      "Age of the oldest unsynced frame; 0: all frames are synced",
      () => [[journal.unsyncedMs / 1000, {}]],
    );
    this.#counter("vbg_journal_blocks_total", "Blocks written", () => [[journal.written.blocks, {}]]);
    this.#counter("vbg_journal_written_bytes_total", "Bytes of blocks written", () => [[journal.written.bytes, {}]]);
    this.#gauge(
      "vbg_journal_last_block_write_seconds",
      "Time to write and sync the newest block; 0: none written yet",
      () => [[journal.written.lastBlockMs / 1000, {}]],
    );
    this.#counter("vbg_journal_lost_frames_total", "Frames that could not be recorded", () => [[journal.lost, {}]]);
    this.#counter(
      "vbg_journal_archive_failures_total",
      "Failed attempts to archive a journal file",
      () => [[journal.files?.archiveFailures ?? 0, {}]],
    );
  }

  #buses({ lines, broker }: MetricSources): void {
    const perBus = (read: (line: MonitoredBus) => number) => () =>
      lines.map((line): Reading => [read(line), { bus: line.bus.name }]);
    const total = (name: string, help: string, read: (counters: Readonly<BusCounters>) => number) =>
      this.#counter(`vbg_bus_${name}_total`, help, perBus(({ bus }) => read(bus.counters)));
    total("frames", "CAN frames received", (c) => c.received);
    total("kernel_dropped_frames", "CAN frames the kernel dropped because the socket was full", (c) => c.kernelDropped);
    total("interface_dropped_frames", "CAN frames lost by controller or driver", (c) => c.interfaceDropped);
    total("ignored_frames", "Frames that are not NMEA 2000: 11-bit identifiers or remote frames", (c) => c.ignored);
    total("error_frames", "CAN error frames", (c) => c.errorFrames);
    total("sent_frames", "CAN frames sent", (c) => c.sent);
    total("send_failed_frames", "CAN frames that could not be sent", (c) => c.sendFailed);
    this.#counter(
      "vbg_bus_faulty_frames_total",
      "Frames lost because of a fault of the server",
      perBus(({ fault }) => fault.count),
    );
    this.#counter(
      "vbg_messages_total",
      "Complete messages published",
      perBus(({ index }) => broker.lastFrame(index)?.frames ?? 0),
    );
    this.#gauge(
      "vbg_last_message_timestamp_seconds",
      "Time of the newest message, seconds since 1970; 0: none yet",
      perBus(({ index }) => (broker.lastFrame(index)?.timeUs ?? 0) / 1e6),
    );
    this.#gauge(
      "vbg_bus_state",
      "1 for the current state of a bus, 0 for the others",
      () =>
        lines.flatMap(({ bus }) => {
          const now = bus.state.type === "up" ? bus.state.controller : bus.state.type;
          return BUS_STATES.map((state): Reading => [state === now ? 1 : 0, { bus: bus.name, state }]);
        }),
    );
    this.#counter(
      "vbg_assembler_dropped_total",
      "Multi-frame messages or fragments dropped",
      () =>
        lines.flatMap(({ bus, assembler }) =>
          Object.entries(assembler.drops).map(([reason, count]): Reading => [count, { bus: bus.name, reason }])
        ),
    );
    this.#gauge(
      "vbg_assembler_pending",
      "Incomplete multi-frame messages",
      perBus(({ assembler }) => assembler.pending),
    );
  }

  #broker({ broker }: MetricSources): void {
    const { registry, values, ring, decoder } = broker;
    this.#gauge("vbg_head_seq", "Newest sequence number", () => [[broker.head, {}]]);
    this.#gauge("vbg_ring_frames", "Frames in the ring", () => [[ring.size, {}]]);
    this.#gauge("vbg_ring_capacity_frames", "Frames the ring can hold", () => [[ring.capacity, {}]]);
    this.#gauge("vbg_ring_fill_ratio", "Share of the ring that holds frames, 0 to 1", () => [
      [ring.size / ring.capacity, {}],
    ]);
    this.#gauge("vbg_devices", "Entries of the device table", () => [[registry.size, {}]]);
    this.#counter("vbg_devices_added_total", "Devices added", () => [[registry.counters.added, {}]]);
    this.#counter("vbg_devices_removed_total", "Devices removed", () => [[registry.counters.removed, {}]]);
    this.#counter(
      "vbg_invalid_identity_messages_total",
      "Invalid address claims and product information messages",
      () => [
        [registry.counters.invalidClaims, { kind: "claim" }],
        [registry.counters.invalidProducts, { kind: "product" }],
      ],
    );
    this.#counter(
      "vbg_decode_faults_total",
      "Payloads not decoded because of a fault of the server",
      () => [[decoder.fault.count, {}]],
    );
    this.#gauge("vbg_values", "Stored last values", () => [[values.size, {}]]);
    this.#counter(
      "vbg_values_refused_total",
      "Values not stored because the store is full",
      () => [[values.refused, {}]],
    );
  }

  #server({ broker, hub, sessions, identity }: MetricSources): void {
    this.#gauge("vbg_subscriptions", "Subscriptions to the broker", () => [[broker.subscribers, {}]]);
    this.#gauge("vbg_streams", "Open client streams", () => [
      [hub.count("sse"), { kind: "sse" }],
      [hub.count("websocket"), { kind: "websocket" }],
      [sessions?.streaming ?? 0, { kind: "session" }],
    ]);
    this.#gauge(
      "vbg_stream_memory_bytes",
      "Memory queued for slow clients: see -stream-memory",
      () => [[hub.memory.usedBytes, {}]],
    );
    this.#gauge("vbg_sessions", "Sessions, including slots", () => [[sessions?.size ?? 0, {}]]);
    this.#gauge("vbg_largest_lag_frames", "Frames that the slowest reader has not received yet", () => [
      [sessions?.largestLag ?? 0, { kind: "session" }],
      [broker.mostWaiting, { kind: "subscription" }],
    ]);
    for (const { name, help, read } of sessionCounters(() => sessions?.figures)) this.#counter(name, help, read);
    this.#counter("vbg_dropped_deliveries_total", "Frames not delivered to a stream client", () => [
      [hub.dropped, { reason: "client_slow" }],
      [broker.dropped, { reason: "queue_full" }],
    ]);
    if (!identity) return;
    this.#counter("vbg_identity_requests_total", "ISO requests sent to identify devices", () => [
      [identity.counters.sent, { result: "sent" }],
      [identity.counters.failed, { result: "failed" }],
    ]);
    this.#gauge(
      "vbg_unidentified_devices",
      "Addresses whose device is not identified yet",
      () => [[identity.pending, {}]],
    );
  }

  #transmit({ gate, queries, transmitter, requests }: TransmitFigures): void {
    const byReason = (counts: Readonly<Record<string, number>>, labels: Labels = {}) =>
      Object.entries(counts).map(([reason, count]): Reading => [count, { ...labels, reason }]);
    this.#counter("vbg_send_accepted_total", "Client messages queued", () => [[gate.counters.accepted, {}]]);
    this.#counter("vbg_send_refused_total", "Client messages refused", () => byReason(gate.counters.refused));
    this.#counter(
      "vbg_send_failed_total",
      "Client messages queued and not sent",
      () => [[gate.counters.failed, {}]],
    );
    this.#gauge("vbg_queries", "Queries in progress", () => [[queries.open, {}]]);
    const perBus = (read: (status: TransmitStatus) => number) => () =>
      transmitter.status.map((status): Reading => [read(status), { bus: status.bus }]);
    this.#counter(
      "vbg_transmit_messages_total",
      "Messages sent, including those of the server itself",
      perBus((s) => s.counters.sent),
    );
    this.#counter(
      "vbg_transmit_failed_total",
      "Messages not sent or only partly sent",
      () => transmitter.status.flatMap(({ bus, counters }) => byReason(counters.failed, { bus })),
    );
    this.#gauge("vbg_transmit_waiting", "Messages queued for transmission", perBus((status) => status.waiting));
    this.#gauge("vbg_transmit_transfers", "Transport protocol sessions, active or waiting", perBus((s) => s.transfers));
    if (!requests) return;
    this.#counter(
      "vbg_device_requests_total",
      "Device requests made by rules",
      () => byReason({ ...requests.counters }),
    );
    this.#gauge("vbg_device_requests_pending", "Device requests without an answer yet", () => [[requests.pending, {}]]);
  }

  #integrations({ mqtt, alerts }: IntegrationFigures): void {
    this.#counter("vbg_alerts_total", "Alert deliveries", () => {
      const { sent, failed, dropped } = alerts.figures;
      return Object.entries({ sent, failed, dropped }).map(([result, count]): Reading => [count, { result }]);
    });
    this.#gauge("vbg_alerts_waiting", "Alerts waiting for delivery", () => [[alerts.figures.waiting, {}]]);
    if (!mqtt) return;
    this.#counter(
      "vbg_mqtt_published_total",
      "Frames that the MQTT broker has accepted",
      () => [[mqtt.counters.published, {}]],
    );
    this.#counter(
      "vbg_mqtt_dropped_total",
      "Frames not delivered to the MQTT broker",
      () => [[mqtt.counters.dropped, {}]],
    );
    this.#counter("vbg_mqtt_connects_total", "Connections to the MQTT broker", () => [[mqtt.counters.connects, {}]]);
    this.#gauge("vbg_mqtt_waiting", "Frames waiting for the MQTT broker", () => [[mqtt.waiting, {}]]);
  }

  #replication(link: NonNullable<MetricSources["replication"]>): void {
    const gauge = (name: string, help: string, read: () => number) =>
      this.#gauge(`vbg_replication_${name}`, help, () => [[read(), {}]]);
    const counter = (name: string, help: string, read: (status: ReplicationStatus) => number) =>
      this.#counter(`vbg_replication_${name}_total`, help, () => [[read(link.status()), {}]]);
    gauge("connected", "1 while there is a connection to the cloud", () => Number(link.status().connected));
    gauge("live_lag_frames", "Frames not yet sent live", () => link.status().live_lag);
    gauge(
      "backfill_remaining_frames",
      "Frames still to be sent as blocks",
      () => link.status().backfill_remaining_seqs,
    );
    gauge(
      "last_ack_timestamp_seconds",
      "Time of the cloud's last acknowledgement, seconds since 1970; 0: never",
      () => (link.lastAckUs ?? 0) / 1e6,
    );
    gauge("lost_frames", "Frames that the cloud will never receive", () => link.lostFrames);
    counter("live_frames_sent", "Frames sent live", (status) => status.live_frames_sent);
    counter("backfill_blocks_sent", "Blocks sent", (status) => status.backfill_blocks_sent);
    counter("backfill_bytes_sent", "Bytes of blocks sent", (status) => status.backfill_bytes_sent);
    counter("reconnects", "Connections after the first", (status) => status.reconnects);
    counter(
      "lag_reconnects",
      "Reconnects because the live stream was too far behind",
      (status) => status.lag_reconnects,
    );
  }

  #counter(name: string, help: string, read: () => Reading[]): void {
    this.#figures.push(counter(name, help, read));
  }

  #gauge(name: string, help: string, read: () => Reading[]): void {
    this.#figures.push(gauge(name, help, read));
  }
}
