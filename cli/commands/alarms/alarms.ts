/**
 * `vbg alarms`: what was wrong, and for how long, by recordings.
 *
 * @module
 */
import { VERSION } from "@vessel/gateway/version";
import { formatTimeUs, newStoredFrame } from "@vessel/gateway/frame";
import type { BlockFile } from "@vessel/gateway/journal";
import { errorText, Ranges, systemClock } from "@vessel/gateway/base";
import { type AlarmInterval, AlarmIntervals } from "./intervals.ts";
import { ALARM_PGNS, alarmWord } from "./sources.ts";
import { type OutputChoice, outputOptions, wantsJson } from "../../client/client_options.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { blocksOf, bytesOf, count, type ExaminedBlock, findFiles, type FoundFile, spanOf } from "../inspect/file.ts";
import { duration } from "../../settings/option_types.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stoppedBy,
} from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { type Column, formatTable } from "../../program/table.ts";
import type { Output } from "../../program/terminal.ts";

interface AlarmsSettings extends ProgramSettings, OutputChoice {
  gapMs: number;
}

const DEFAULT_GAP_MS = 120_000;

/** The command's name, words and settings. */
export const program: Program<AlarmsSettings> = {
  name: "vbg alarms",
  version: VERSION,
  summary:
    "lists what was wrong on a boat, by journal files (.lpj) and directories with their write-ahead logs: RV-C diagnostics " +
    "(PGN 130762), errors of Victron's chargers (61184) and alerts (126983), put together to episodes",
  options: {
    gapMs: duration({
      name: "gap",
      key: [],
      environment: false,
      default: DEFAULT_GAP_MS,
      minMs: 1,
      help: "An alarm that was silent for longer begins a new episode.",
      group: "Alarm intervals",
    }),
    ...outputOptions(),
    ...programOptions(),
  },
  checks: [],
  positionals: "FILE|DIR ...",
};

const COLUMNS: readonly Column[] = [
  { title: "FIRST" },
  { title: "LASTED", align: "right" },
  { title: "BUS" },
  { title: "SRC", align: "right" },
  { title: "SEVERITY" },
  { title: "SOURCE" },
  { title: "CODE" },
  { title: "COUNT", align: "right" },
  { title: "ENDED" },
  { title: "DETAIL" },
];

/** Runs the command. Answers the exit code: 1 where something cannot be read. */
export async function run(around: ProgramContext): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted: EXIT.interrupted,
    run: async (settings, names) => await alarms(settings, { names, around }),
  });
}

async function alarms(
  settings: AlarmsSettings,
  { names, around }: { names: readonly string[]; around: ProgramContext },
): Promise<number> {
  const [output, stopping] = [outputOf(around), stoppedBy(around)];
  const found = await findFiles(names);
  const total = bytesOf(found);
  const progress = new Progress({ output: errorsOf(around), total, unit: "bytes", clock: systemClock });
  const episodes = new AlarmIntervals(settings);
  const reader = new AlarmReader(episodes);
  let failures = 0;
  const fail = (what: string) => {
    failures++;
    around.complain(`${program.name}: ${what}`);
  };
  try {
    for (const file of await inOrder(found, fail)) {
      const { path, bytes, index } = file;
      if (index.state === "torn") {
        around.complain(`${program.name}: ${path}: torn, ${bytes - index.end} bytes cannot be read`);
      }
      for await (const found of blocksOf(file)) {
        stopping.throwIfAborted();
        progress.add(found.place.header.dataBytes);
        const problem = reader.read(found, file);
        if (problem !== undefined) fail(`${path}: byte ${found.place.offset}: ${problem}`);
      }
    }
  } finally {
    progress.done();
  }
  await output.write(wantsJson(settings, output) ? formatJson(episodes.all) : formatText(episodes.all, output));
  await output.flush();
  return failures === 0 ? EXIT.ok : EXIT.failure;
}

/** The files that can be read, by the time of their first block. */
async function inOrder(found: readonly FoundFile[], fail: (what: string) => void): Promise<BlockFile[]> {
  const files: BlockFile[] = [];
  for (const { path, open } of found) {
    const file = await open().catch((error) => fail(`${path}: ${errorText(error)}`));
    if (file) files.push(file);
  }
  const timeOf = ({ index }: BlockFile) => index.blocks[0]?.header.baseTimeUs ?? 0;
  return files.sort((a, b) => timeOf(a) - timeOf(b));
}

/** Reads the messages that speak of alarms. What is in several blocks counts once. */
class AlarmReader {
  readonly #episodes: AlarmIntervals;
  readonly #seen = new Map<number, Ranges>();
  readonly #frame = newStoredFrame();

  constructor(episodes: AlarmIntervals) {
    this.#episodes = episodes;
  }

  /** Answers what cannot be read. */
  read(found: ExaminedBlock, { index: { header: { epochWord } } }: BlockFile): string | undefined {
    if (found.kind === "damaged") return found.why;
    const { block } = found.stored;
    const { frames, damage } = spanOf(block);
    const seen = epochWord === 0 ? new Ranges() : this.#seenOf(epochWord);
    const frame = this.#frame;
    for (const cursor = block.frames(); cursor.index < frames && cursor.next(frame);) {
      if (!ALARM_PGNS.has(frame.pgn) || (block.baseSeq !== undefined && seen.has(frame.seq))) continue;
      const word = alarmWord(frame.pgn, frame.data.subarray(frame.offset, frame.offset + frame.length));
      const bus = block.notes.buses?.[frame.bus] ?? `bus ${frame.bus}`;
      if (word) this.#episodes.add(word, { bus, src: frame.id & 0xff, timeUs: frame.timeUs });
    }
    if (block.baseSeq !== undefined) seen.add(block.baseSeq, block.baseSeq + frames);
    return damage;
  }

  #seenOf(epochWord: number): Ranges {
    const seen = this.#seen.get(epochWord) ?? new Ranges();
    this.#seen.set(epochWord, seen);
    return seen;
  }
}

function formatText(episodes: readonly AlarmInterval[], { columns, hasColor }: Output): string {
  const rows = episodes.map(({ firstUs, lastUs, clearedUs, bus, src, severity, source, code, count, detail }) => [
    formatTimeUs(firstUs),
    lastingText(lastUs - firstUs),
    ...[bus, `${src}`, severity, source, code, `${count}`],
    clearedUs === undefined ? "silent" : "cleared",
    detail,
  ]);
  if (rows.length === 0) return "no alarms\n";
  const table = formatTable(rows, { columns: COLUMNS, width: columns, color: hasColor });
  return `${table}\n${count(rows.length, "episode")}\n`;
}

function formatJson(episodes: readonly AlarmInterval[]): string {
  return JSON.stringify(episodes.map(({ firstUs, lastUs, clearedUs, ...rest }) => ({
    first: formatTimeUs(firstUs),
    last: formatTimeUs(lastUs),
    cleared: clearedUs === undefined ? null : formatTimeUs(clearedUs),
    ...rest,
  }))) + "\n";
}

/** Hours, minutes and seconds, each with its unit: `1 h 2 min 5 s`. */
function lastingText(us: number): string {
  const seconds = Math.round(us / 1e6);
  const parts = [[Math.floor(seconds / 3600), "h"], [Math.floor(seconds / 60) % 60, "min"], [
    seconds % 60,
    "s",
  ]] as const;
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 s";
}
