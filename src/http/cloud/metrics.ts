import type { Instance, InstanceSummary } from "../../cloud/mod.ts";
import type { ReplicaReaders } from "./replica_readers.ts";
import { type Figure, figureTexts, headOf } from "../status/figure.ts";
import { serverFigures, type ServerSources } from "../status/server_figures.ts";
import type { Reading } from "../status/figure.ts";
import { sessionCounters } from "../sessions/figures.ts";

/** Sources of a cloud's metrics, read at each scrape. */
export interface CloudMetricSources extends ServerSources {
  readers: Pick<ReplicaReaders, "count" | "streamingSessions" | "sessionFigures" | "dropped" | "memory">;
  /** Failed archive attempts of a boat since the start; left out: nothing is archived. */
  archiveFailures?: (id: string) => number;
}

/** A metric with one value per instance and set of further labels. */
interface InstanceFigure extends Omit<Figure, "read"> {
  read: (summary: InstanceSummary, sources: Pick<CloudMetricSources, "archiveFailures">) => number;
  /** Further labels in text form. */
  labels?: string;
}

const PREFIX = "vbg_cloud_instance_";
const gauge = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { kind: "gauge", name: PREFIX + name, help, read };
};
const counter = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { kind: "counter", name: `${PREFIX}${name}_total`, help, read };
};
const CLOSED = "Live streams that the cloud closed, by reason: frame rate too high, lag too large";

const ROWS_PER_CHUNK = 100;

/** Rows of the same name follow each other. */
const INSTANCE_FIGURES: readonly InstanceFigure[] = [
  gauge("connected", "1 while the boat is connected", (s) => s.connected ? 1 : 0),
  gauge("lag_seqs", "Frames that the cursor is behind the boat", (s) => s.lagSeqs),
  gauge("cursor", "Cursor: every frame up to and including this number is stored, or is lost", (s) => s.cursor),
  gauge("holes", "Ranges of frames that are still missing", (s) => s.holes.length),
  gauge("ack_lag_seqs", "Frames received and not synced to disk yet", (s) => Math.max(0, s.cursor - s.ackSeq)),
  gauge("boat_head_seq", "Newest sequence number that the boat has reported", (s) => s.boatHeadSeq),
  gauge("last_seen_seconds", "Time of the last message from the boat, seconds since 1970; 0: never", (s) => {
    return (s.lastSeenMs ?? 0) / 1000;
  }),
  gauge("recording_failing", "1 while frames of the boat cannot be recorded", (s) => {
    return s.recording.kind === "failing" ? 1 : 0;
  }),
  counter("live_frames", "Frames received live", (s) => s.counters.liveFrames),
  counter("duplicate_frames", "Frames received live that were stored already", (s) => s.counters.duplicateFrames),
  counter("refused_frames", "Frames received live and refused", (s) => s.counters.refusedFrames),
  counter("lost_frames", "Frames received that could not be recorded", (s) => s.counters.lostFrames),
  counter("vanished_frames", "Frames that have disappeared from the disk", (s) => s.counters.vanishedFrames),
  counter(
    "damaged_blocks",
    "Damaged blocks found by checking files, counted in every pass",
    (s) => s.counters.damagedBlocks,
  ),
  counter(
    "left_frames",
    "Frames of earlier epochs that were never received and stay on the boat",
    (s) => s.counters.leftFrames,
  ),
  counter("live_streams", "Live streams started", (s) => s.counters.liveStreams),
  { ...counter("live_closed", CLOSED, (s) => s.counters.rateLimited), labels: `,reason="rate"` },
  { ...counter("live_closed", CLOSED, (s) => s.counters.lagClosed), labels: `,reason="lag"` },
  counter("backfill_blocks", "Backfill blocks accepted", (s) => s.counters.backfillBlocks),
  counter(
    "backfill_bytes",
    "Bytes of the backfill blocks accepted, in their size on disk",
    (s) => s.counters.backfillBytes,
  ),
  counter("backfill_frames", "New frames received in backfill blocks", (s) => s.counters.backfillFrames),
  counter("verify_failures", "Backfill blocks refused because of their content", (s) => s.counters.verifyFailures),
  counter("archive_failures", "Failed attempts to archive a journal file", (s, { archiveFailures }) => {
    return archiveFailures?.(s.id) ?? 0;
  }),
];

/** All metrics of a cloud in Prometheus text format. Written by hand: 10 000 boats have hundreds of thousands of lines. */
export class CloudMetrics {
  readonly #server: readonly Figure[];
  readonly #sources: CloudMetricSources;

  constructor(sources: CloudMetricSources) {
    this.#sources = sources;
    this.#server = [...serverFigures(sources), ...readerFigures(sources)];
  }

  /**
   * The text in small chunks, so that no chunk holds the event loop. Chunks are empty while values are collected.
   *
   * @param options.instances instances to report
   * @param options.server include the metrics of the server itself
   */
  *texts({ instances, server }: { instances: Iterable<Instance>; server: boolean }): Generator<string, void> {
    const rows: Row[] = [];
    let connected = 0;
    for (const instance of instances) {
      const summary = instance.summary();
      if (summary.connected) connected++;
      const values = INSTANCE_FIGURES.map(({ read }) => read(summary, this.#sources));
      rows.push({ label: `{instance="${summary.id}"`, values });
      yield "";
    }
    yield* figureTexts(totals({ total: rows.length, connected }));
    if (server) yield* figureTexts(this.#server);
    let previousName = "";
    for (const [column, figure] of INSTANCE_FIGURES.entries()) {
      if (figure.name !== previousName) yield headOf(figure);
      previousName = figure.name;
      const { name, labels = "" } = figure;
      for (let at = 0; at < rows.length; at += ROWS_PER_CHUNK) {
        let chunk = "";
        for (const { label, values } of rows.slice(at, at + ROWS_PER_CHUNK)) {
          chunk += `${name}${label}${labels}} ${values[column]}\n`;
        }
        yield chunk;
      }
    }
  }
}

interface Row {
  /** The opening brace and the first label. */
  label: string;
  /** In the order of {@linkcode INSTANCE_FIGURES}. */
  values: number[];
}

function totals({ total, connected }: { total: number; connected: number }): Figure[] {
  return [
    { kind: "gauge", name: "vbg_cloud_instances_total", help: "Known boats", read: () => [[total, {}]] },
    { kind: "gauge", name: "vbg_cloud_instances_connected", help: "Connected boats", read: () => [[connected, {}]] },
  ];
}

function readerFigures({ readers }: CloudMetricSources): Figure[] {
  const streams = (): Reading[] => [
    [readers.count("sse"), { kind: "sse" }],
    [readers.count("websocket"), { kind: "websocket" }],
    [readers.streamingSessions, { kind: "session" }],
  ];
  return [
    { kind: "gauge", name: "vbg_streams", help: "Open client streams", read: streams },
    ...sessionCounters(() => readers.sessionFigures),
    {
      kind: "gauge",
      name: "vbg_stream_memory_bytes",
      help: "Memory queued for slow clients: see -stream-memory",
      read: () => [[readers.memory.usedBytes, {}]],
    },
    {
      kind: "counter",
      name: "vbg_dropped_deliveries_total",
      help: "Frames not delivered to a stream client",
      read: () => [[readers.dropped, { reason: "client_slow" }]],
    },
  ];
}
