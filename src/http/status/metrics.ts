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

/** What of a journal is counted. */
type JournalFigures = Pick<Journal, "durableSeq" | "unsyncedMs" | "lost" | "written" | "state" | "files">;

/** Where the figures come from; read when somebody asks. */
export interface MetricSources extends ServerSources {
  broker: Broker;
  lines: readonly MonitoredBus[];
  hub: StreamHub;
  /** Undefined where none are kept. */
  sessions?: Pick<Sessions, "size" | "streaming" | "largestLag" | "figures"> | undefined;
  /** Undefined where nothing is recorded. */
  journal?: JournalFigures | undefined;
  /** Undefined where nothing is sent. */
  voice?: VoiceFigures | undefined;
  /** Undefined where nobody is told of anything. */
  outlets?: IntegrationFigures | undefined;
  /** Undefined where nothing is replicated. */
  replication?: Pick<BoatLink, "status" | "lostFrames" | "lastAckUs"> | undefined;
  /** Identity requests so far; undefined when discovery is off. */
  identity: { counters: { sent: number; failed: number }; pending: number } | undefined;
}

/** What is said on the buses. */
export interface VoiceFigures {
  gate: { counters: Readonly<SendCounters> };
  queries: { open: number };
  transmitter: { status: readonly TransmitStatus[] };
  requests?: Pick<DeviceRequests, "counters" | "pending"> | undefined;
}

/** What others are told by the server itself. */
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
    if (sources.voice) this.#voice(sources.voice);
    if (sources.outlets) this.#outlets(sources.outlets);
    if (sources.replication) this.#replication(sources.replication);
  }

  /** The text, read now. */
  text(): string {
    return [...figureTexts(this.#figures)].join("");
  }

  #journal(journal: JournalFigures): void {
    this.#gauge(
      "vbg_journal_recording",
      "1 while frames are recorded, 0 while there is no room or the disk fails",
      () => {
        return [[journal.state.kind === "recording" && !journal.files?.isPaused ? 1 : 0, {}]];
      },
    );
    this.#gauge("vbg_journal_durable_seq", "Newest frame that a power cut leaves", () => [[journal.durableSeq, {}]]);
    this.#gauge(
      "vbg_journal_unsynced_age_seconds",
      "How long the oldest frame has been in memory alone; 0: all frames are synced",
      () => [[journal.unsyncedMs / 1000, {}]],
    );
    this.#counter("vbg_journal_blocks_total", "Blocks written", () => [[journal.written.blocks, {}]]);
    this.#counter("vbg_journal_written_bytes_total", "Bytes of blocks written", () => [[journal.written.bytes, {}]]);
    this.#gauge(
      "vbg_journal_last_block_write_seconds",
      "How long writing and syncing the newest block took; 0: none was written yet",
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
    total("ignored_frames", "Frames that are no NMEA 2000: 11-bit or remote", (c) => c.ignored);
    total("error_frames", "CAN error frames", (c) => c.errorFrames);
    total("sent_frames", "CAN frames sent", (c) => c.sent);
    total("send_failed_frames", "CAN frames given up", (c) => c.sendFailed);
    this.#counter(
      "vbg_bus_faulty_frames_total",
      "Frames lost by a fault of the server",
      perBus(({ fault }) => fault.count),
    );
    this.#counter(
      "vbg_messages_total",
      "Whole messages published",
      perBus(({ index }) => broker.lastFrame(index)?.frames ?? 0),
    );
    this.#gauge(
      "vbg_last_message_timestamp_seconds",
      "When the newest message was received, seconds since 1970; 0: none yet",
      perBus(({ index }) => (broker.lastFrame(index)?.timeUs ?? 0) / 1e6),
    );
    this.#gauge("vbg_bus_state", "1 for the state a bus is in", () =>
      lines.flatMap(({ bus }) => {
        const now = bus.state.type === "up" ? bus.state.controller : bus.state.type;
        return BUS_STATES.map((state): Reading => [state === now ? 1 : 0, { bus: bus.name, state }]);
      }));
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
      "Multi-frame messages begun and not whole yet",
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
      "Claims and product information that could not be used",
      () => [
        [registry.counters.invalidClaims, { kind: "claim" }],
        [registry.counters.invalidProducts, { kind: "product" }],
      ],
    );
    this.#counter(
      "vbg_decode_faults_total",
      "Payloads not decoded by a fault of the server",
      () => [[decoder.fault.count, {}]],
    );
    this.#gauge("vbg_values", "Last values kept", () => [[values.size, {}]]);
    this.#counter(
      "vbg_values_refused_total",
      "Values not kept because the store is full",
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
      "Memory that waits for clients that read slowly: see -stream-memory",
      () => [[hub.memory.usedBytes, {}]],
    );
    this.#gauge("vbg_sessions", "Sessions kept, slots included", () => [[sessions?.size ?? 0, {}]]);
    this.#gauge("vbg_largest_lag_frames", "Frames that the reader furthest behind has not got yet", () => [
      [sessions?.largestLag ?? 0, { kind: "session" }],
      [broker.mostWaiting, { kind: "subscription" }],
    ]);
    for (const { name, help, read } of sessionCounters(() => sessions?.figures)) this.#counter(name, help, read);
    this.#counter("vbg_dropped_deliveries_total", "Frames not delivered to a stream client", () => [
      [hub.dropped, { reason: "client_slow" }],
      [broker.dropped, { reason: "queue_full" }],
    ]);
    if (!identity) return;
    this.#counter("vbg_identity_requests_total", "ISO requests sent to find out who is there", () => [
      [identity.counters.sent, { result: "sent" }],
      [identity.counters.failed, { result: "failed" }],
    ]);
    this.#gauge(
      "vbg_unidentified_devices",
      "Addresses that have not said who they are",
      () => [[identity.pending, {}]],
    );
  }

  #voice({ gate, queries, transmitter, requests }: VoiceFigures): void {
    const byReason = (counts: Readonly<Record<string, number>>, labels: Labels = {}) =>
      Object.entries(counts).map(([reason, count]): Reading => [count, { ...labels, reason }]);
    this.#counter("vbg_send_accepted_total", "Messages of clients queued", () => [[gate.counters.accepted, {}]]);
    this.#counter("vbg_send_refused_total", "Messages of clients refused", () => byReason(gate.counters.refused));
    this.#counter(
      "vbg_send_failed_total",
      "Messages of clients queued and not sent",
      () => [[gate.counters.failed, {}]],
    );
    this.#gauge("vbg_queries", "Queries under way", () => [[queries.open, {}]]);
    const perBus = (read: (status: TransmitStatus) => number) => () =>
      transmitter.status.map((status): Reading => [read(status), { bus: status.bus }]);
    this.#counter("vbg_transmit_messages_total", "Messages sent, our own included", perBus((s) => s.counters.sent));
    this.#counter(
      "vbg_transmit_failed_total",
      "Messages not sent, or not wholly",
      () => transmitter.status.flatMap(({ bus, counters }) => byReason(counters.failed, { bus })),
    );
    this.#gauge("vbg_transmit_waiting", "Messages that wait for their bus", perBus((status) => status.waiting));
    this.#gauge("vbg_transmit_transfers", "Transport sessions under way or waiting", perBus((s) => s.transfers));
    if (!requests) return;
    this.#counter("vbg_device_requests_total", "Requests by rules", () => byReason({ ...requests.counters }));
    this.#gauge("vbg_device_requests_pending", "Data wanted that have not come", () => [[requests.pending, {}]]);
  }

  #outlets({ mqtt, alerts }: IntegrationFigures): void {
    this.#counter("vbg_alerts_total", "Deliveries of alerts", () => {
      const { sent, failed, dropped } = alerts.figures;
      return Object.entries({ sent, failed, dropped }).map(([result, count]): Reading => [count, { result }]);
    });
    this.#gauge("vbg_alerts_waiting", "Alerts that wait to be delivered", () => [[alerts.figures.waiting, {}]]);
    if (!mqtt) return;
    this.#counter("vbg_mqtt_published_total", "Frames that the MQTT broker has", () => [[mqtt.counters.published, {}]]);
    this.#counter("vbg_mqtt_dropped_total", "Frames that it has not", () => [[mqtt.counters.dropped, {}]]);
    this.#counter("vbg_mqtt_connects_total", "Connections to it", () => [[mqtt.counters.connects, {}]]);
    this.#gauge("vbg_mqtt_waiting", "Frames that wait for it", () => [[mqtt.waiting, {}]]);
  }

  #replication(link: NonNullable<MetricSources["replication"]>): void {
    const gauge = (name: string, help: string, read: () => number) =>
      this.#gauge(`vbg_replication_${name}`, help, () => [[read(), {}]]);
    const counter = (name: string, help: string, read: (status: ReplicationStatus) => number) =>
      this.#counter(`vbg_replication_${name}_total`, help, () => [[read(link.status()), {}]]);
    gauge("connected", "1 while there is a connection to the cloud", () => Number(link.status().connected));
    gauge("live_lag_frames", "Frames not sent live yet", () => link.status().live_lag);
    gauge("backfill_remaining_frames", "Frames to be sent as blocks", () => link.status().backfill_remaining_seqs);
    gauge(
      "last_ack_timestamp_seconds",
      "When the cloud acknowledged last, seconds since 1970; 0: never",
      () => (link.lastAckUs ?? 0) / 1e6,
    );
    gauge("lost_frames", "Frames that the cloud will never get", () => link.lostFrames);
    counter("live_frames_sent", "Frames sent live", (status) => status.live_frames_sent);
    counter("backfill_blocks_sent", "Blocks sent", (status) => status.backfill_blocks_sent);
    counter("backfill_bytes_sent", "Bytes of blocks sent", (status) => status.backfill_bytes_sent);
    counter("reconnects", "Connections after the first", (status) => status.reconnects);
    counter("lag_reconnects", "Reconnects because live was too far behind", (status) => status.lag_reconnects);
  }

  #counter(name: string, help: string, read: () => Reading[]): void {
    this.#figures.push(counter(name, help, read));
  }

  #gauge(name: string, help: string, read: () => Reading[]): void {
    this.#figures.push(gauge(name, help, read));
  }
}
