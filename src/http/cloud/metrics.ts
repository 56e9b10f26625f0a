import type { Instance, InstanceSummary } from "../../cloud/mod.ts";
import type { ReplicaReaders } from "./replica_readers.ts";
import { type Figure, figureTexts, headOf } from "../status/figure.ts";
import { serverFigures, type ServerSources } from "../status/server_figures.ts";
import type { Reading } from "../status/figure.ts";
import { sessionCounters } from "../sessions/figures.ts";

/** Where a cloud's figures come from; read when somebody asks. */
export interface CloudMetricSources extends ServerSources {
  readers: Pick<ReplicaReaders, "count" | "streamingSessions" | "sessionFigures" | "dropped" | "memory">;
  /** Failed attempts to archive a file of a boat since the start; left out: nothing is archived. */
  archiveFailures?: (id: string) => number;
}

/** One metric that every instance has: a value of each, or several by what else is in the labels. */
interface InstanceFigure extends Omit<Figure, "read"> {
  read: (summary: InstanceSummary, sources: Pick<CloudMetricSources, "archiveFailures">) => number;
  /** Further labels, as they are written. */
  labels?: string;
}

const PREFIX = "vbg_cloud_instance_";
const gauge = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { kind: "gauge", name: PREFIX + name, help, read };
};
const counter = (name: string, help: string, read: InstanceFigure["read"]): InstanceFigure => {
  return { kind: "counter", name: `${PREFIX}${name}_total`, help, read };
};
const CLOSED = "Live streams that the cloud ended: too many frames a second, too far behind the boat";

/** Lines that are made before the time is looked at. */
const ROWS_A_PIECE = 100;

/** Rows of the same name follow each other. */
const INSTANCE_FIGURES: readonly InstanceFigure[] = [
  gauge("connected", "1 while the boat is connected", (s) => s.connected ? 1 : 0),
  gauge("lag_seqs", "Frames that the cursor is behind the boat", (s) => s.lagSeqs),
  gauge("cursor", "Every number up to and with this one is here, or cannot be had", (s) => s.cursor),
  gauge("holes", "Ranges of numbers that are still to come", (s) => s.holes.length),
  gauge("ack_lag_seqs", "Numbers that are here and not yet safe on disk", (s) => Math.max(0, s.cursor - s.ackSeq)),
  gauge("boat_head_seq", "Newest number of the boat, as far as it has told", (s) => s.boatHeadSeq),
  gauge("last_seen_seconds", "When anything last came from the boat, seconds since 1970; 0: never", (s) => {
    return (s.lastSeenMs ?? 0) / 1000;
  }),
  gauge("recording_failing", "1 while frames of the boat cannot be recorded", (s) => {
    return s.recording.kind === "failing" ? 1 : 0;
  }),
  counter("live_frames", "Frames that came live", (s) => s.counters.liveFrames),
  counter("duplicate_frames", "Frames that came live and were here", (s) => s.counters.duplicateFrames),
  counter("refused_frames", "Frames that came live and could not be taken", (s) => s.counters.refusedFrames),
  counter("lost_frames", "Frames that were received and could not be recorded", (s) => s.counters.lostFrames),
  counter("vanished_frames", "Frames that were on disk and are gone from there", (s) => s.counters.vanishedFrames),
  counter("damaged_blocks", "Damaged blocks found by checking files, in each pass", (s) => s.counters.damagedBlocks),
  counter(
    "left_frames",
    "Frames of earlier epochs that never came, and stay on the boat",
    (s) => s.counters.leftFrames,
  ),
  counter("live_streams", "Live streams begun", (s) => s.counters.liveStreams),
  { ...counter("live_closed", CLOSED, (s) => s.counters.rateLimited), labels: `,reason="rate"` },
  { ...counter("live_closed", CLOSED, (s) => s.counters.lagClosed), labels: `,reason="lag"` },
  counter("backfill_blocks", "Blocks taken", (s) => s.counters.backfillBlocks),
  counter("backfill_bytes", "Bytes of the blocks taken, as they lie on disk", (s) => s.counters.backfillBytes),
  counter("backfill_frames", "Frames that blocks brought and that were not here", (s) => s.counters.backfillFrames),
  counter("verify_failures", "Blocks refused for what is in them", (s) => s.counters.verifyFailures),
  counter("archive_failures", "Failed attempts to archive a journal file", (s, { archiveFailures }) => {
    return archiveFailures?.(s.id) ?? 0;
  }),
];

/** All metrics of a cloud in Prometheus' text format, written by hand: ten thousand boats are lines by the 100 000. */
export class CloudMetrics {
  readonly #server: readonly Figure[];
  readonly #sources: CloudMetricSources;

  constructor(sources: CloudMetricSources) {
    this.#sources = sources;
    this.#server = [...serverFigures(sources), ...readerFigures(sources)];
  }

  /**
   * The text, in pieces that are quickly made; an empty one comes while figures are collected.
   *
   * @param options.instances those that are told of
   * @param options.server whether the server tells of itself
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
    let nameBefore = "";
    for (const [column, figure] of INSTANCE_FIGURES.entries()) {
      if (figure.name !== nameBefore) yield headOf(figure);
      nameBefore = figure.name;
      const { name, labels = "" } = figure;
      for (let at = 0; at < rows.length; at += ROWS_A_PIECE) {
        let piece = "";
        for (const { label, values } of rows.slice(at, at + ROWS_A_PIECE)) {
          piece += `${name}${label}${labels}} ${values[column]}\n`;
        }
        yield piece;
      }
    }
  }
}

interface Row {
  /** Begin of the labels. */
  label: string;
  /** By {@linkcode INSTANCE_FIGURES}. */
  values: number[];
}

function totals({ total, connected }: { total: number; connected: number }): Figure[] {
  return [
    { kind: "gauge", name: "vbg_cloud_instances_total", help: "Boats known", read: () => [[total, {}]] },
    { kind: "gauge", name: "vbg_cloud_instances_connected", help: "Boats connected", read: () => [[connected, {}]] },
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
      help: "Memory that waits for clients that read slowly: see -stream-memory",
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
