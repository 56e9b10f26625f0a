import type { Instance, InstanceSummary, Nodes } from "../../cloud/mod.ts";
import { type Figure, figureTexts, gauge, headOf } from "../status/figure.ts";
import { readerFigures, type ReaderSources, serverFigures, type ServerSources } from "../status/server_figures.ts";

/** Sources of a cloud's metrics, read at each scrape. */
export interface CloudMetricSources extends ServerSources {
  readers: ReaderSources;
  /** Failed archive attempts of a boat since the start; left out: nothing is archived. */
  archiveFailures?: (id: string) => number;
  /** Since when the object store has not answered, milliseconds since 1970; undefined: it answers, or there is none. */
  storeFailingSinceMs?: () => number | undefined;
  /** Other nodes with the same object store; left out: there are none. */
  nodes?: Pick<Nodes, "others" | "away"> | undefined;
}

/** A metric with one value per instance and set of further labels. */
interface InstanceFigure extends Omit<Figure, "read"> {
  read: (summary: InstanceSummary, sources: Pick<CloudMetricSources, "archiveFailures">) => number;
  /** Further labels in text form. */
  labels?: string;
}

const instanceGauge = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { kind: "gauge", name: `vbg_cloud_instance_${name}`, help, read };
};
const instanceCounter = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { ...instanceGauge(`${name}_total`, help, read), kind: "counter" };
};
const CLOSED = "Live streams that the cloud closed, by reason: frame rate too high, lag too large";

const ROWS_PER_CHUNK = 100;

/** Rows of the same name follow each other. */
const INSTANCE_FIGURES: readonly InstanceFigure[] = [
  instanceGauge("connected", "1 while the boat is connected", (s) => s.connected ? 1 : 0),
  instanceGauge("lag_seqs", "Frames that the cursor is behind the boat", (s) => s.lagSeqs),
  instanceGauge("cursor", "Cursor: every frame up to and including this number is stored, or is lost", (s) => s.cursor),
  instanceGauge("holes", "Ranges of frames that are still missing", (s) => s.holes.length),
  instanceGauge("ack_lag_seqs", "Frames received and not synced to disk yet", (s) => Math.max(0, s.cursor - s.ackSeq)),
  instanceGauge(
    "stored_lag_seqs",
    "Frames synced to disk that are not in the object store yet; 0 without one",
    (s) => Math.max(0, s.ackSeq - (s.storedThrough ?? s.ackSeq)),
  ),
  instanceGauge("boat_head_seq", "Newest sequence number that the boat has reported", (s) => s.boatHeadSeq),
  instanceGauge(
    "last_seen_seconds",
    "Time of the last message from the boat, seconds since 1970; 0: never",
    (s) => (s.lastSeenMs ?? 0) / 1000,
  ),
  instanceGauge(
    "recording_failing",
    "1 while frames of the boat cannot be recorded",
    (s) => s.recording.kind === "failing" ? 1 : 0,
  ),
  instanceCounter("live_frames", "Frames received live", (s) => s.counters.liveFrames),
  instanceCounter(
    "duplicate_frames",
    "Frames received live that were stored already",
    (s) => s.counters.duplicateFrames,
  ),
  instanceCounter("refused_frames", "Frames received live and refused", (s) => s.counters.refusedFrames),
  instanceCounter("lost_frames", "Frames received that could not be recorded", (s) => s.counters.lostFrames),
  instanceCounter("vanished_frames", "Frames that have disappeared from the disk", (s) => s.counters.vanishedFrames),
  instanceCounter(
    "damaged_blocks",
    "Damaged blocks found by checking files, counted in every pass",
    (s) => s.counters.damagedBlocks,
  ),
  instanceCounter(
    "left_frames",
    "Frames of earlier epochs that were never received and stay on the boat",
    (s) => s.counters.leftFrames,
  ),
  instanceCounter("live_streams", "Live streams started", (s) => s.counters.liveStreams),
  { ...instanceCounter("live_closed", CLOSED, (s) => s.counters.rateLimited), labels: `,reason="rate"` },
  { ...instanceCounter("live_closed", CLOSED, (s) => s.counters.lagClosed), labels: `,reason="lag"` },
  instanceCounter("backfill_blocks", "Backfill blocks accepted", (s) => s.counters.backfillBlocks),
  instanceCounter(
    "backfill_bytes",
    "Bytes of the backfill blocks accepted, in their size on disk",
    (s) => s.counters.backfillBytes,
  ),
  instanceCounter("backfill_frames", "New frames received in backfill blocks", (s) => s.counters.backfillFrames),
  instanceCounter(
    "verify_failures",
    "Backfill blocks refused because of their content",
    (s) => s.counters.verifyFailures,
  ),
  instanceCounter(
    "archive_failures",
    "Failed attempts to archive a journal file",
    (s, { archiveFailures }) => archiveFailures?.(s.id) ?? 0,
  ),
];

/** All metrics of a cloud in Prometheus text format. Written by hand: 10 000 boats have hundreds of thousands of lines. */
export class CloudMetrics {
  readonly #server: readonly Figure[];
  readonly #sources: CloudMetricSources;

  constructor(sources: CloudMetricSources) {
    this.#sources = sources;
    this.#server = [...serverFigures(sources), ...readerFigures(sources.readers)];
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
    yield* figureTexts([
      gauge("vbg_cloud_instances_total", "Known boats", () => rows.length),
      gauge("vbg_cloud_instances_connected", "Connected boats", () => connected),
      gauge(
        "vbg_cloud_store_failing_since_seconds",
        "Since when the object store has not answered, seconds since 1970; 0: it answers, or there is none",
        () => (this.#sources.storeFailingSinceMs?.() ?? 0) / 1000,
      ),
      gauge(
        "vbg_cloud_nodes_answering",
        "Other nodes with the same object store that answer",
        () => this.#sources.nodes?.others.length ?? 0,
      ),
      gauge(
        "vbg_cloud_nodes_away",
        "Other nodes with the same object store that do not answer",
        () => this.#sources.nodes?.away ?? 0,
      ),
    ]);
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
