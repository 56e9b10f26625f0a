/**
 * `vbg alarms`: lists the alarms in recordings and how long each lasted.
 *
 * @module
 */
import { errorText, Ranges } from "@vessel/gateway/base";
import { formatTimeUs, newStoredFrame, sourceOfId } from "@vessel/gateway/frame";
import type { BlockFile } from "@vessel/gateway/journal";
import { outputOptions } from "../../client/client_options.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { formatItems, type ItemColumn } from "../../program/table.ts";
import type { Output } from "../../program/terminal.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { blocksOf, count, type ExaminedBlock, type FoundFile, spanOf } from "../inspect/file.ts";
import { runOnFiles } from "../inspect/run.ts";
import { type AlarmInterval, AlarmIntervals } from "./intervals.ts";
import { ALARM_PGNS, alarmWord } from "./sources.ts";

const flags = flagGroup("Alarm intervals");

const DEFAULT_GAP_MS = 120_000;

const options = {
  gapMs: flags.duration({
    name: "gap",
    default: DEFAULT_GAP_MS,
    minMs: 1,
    help: "Longest silence within one alarm interval. A later message starts a new interval.",
  }),
  ...outputOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg alarms`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg alarms",
  summary:
    "lists the alarms of a boat from journal files (.lpj) and directories with their write-ahead logs: RV-C diagnostics " +
    "(PGN 130762), errors of Victron chargers (61184) and alerts (126983), merged into alarm intervals",
  options,
  positionals: "FILE|DIR ...",
};

const COLUMNS: readonly ItemColumn<AlarmInterval>[] = [
  { title: "FIRST", text: ({ firstUs }) => formatTimeUs(firstUs) },
  { title: "LASTED", align: "right", text: ({ firstUs, lastUs }) => timeSpanText(lastUs - firstUs) },
  { title: "BUS", text: ({ bus }) => bus },
  { title: "SRC", align: "right", text: ({ src }) => `${src}` },
  { title: "SEVERITY", text: ({ severity }) => severity },
  { title: "SOURCE", text: ({ source }) => source },
  { title: "CODE", text: ({ code }) => code },
  { title: "COUNT", align: "right", text: ({ count }) => `${count}` },
  { title: "ENDED", text: ({ clearedUs }) => clearedUs === undefined ? "silent" : "cleared" },
  { title: "DETAIL", text: ({ detail }) => detail },
];

/** Runs `vbg alarms`. Returns the exit code: 1 if something cannot be read. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnFiles(program, {
    context,
    run: async (settings, { found, output, json, onBytes, fail }) => {
      const intervals = new AlarmIntervals(settings);
      const reader = new AlarmReader(intervals);
      for (const file of await openInOrder(found, fail)) {
        const { path, bytes, index } = file;
        if (index.state === "torn") {
          context.printError(`${program.name}: ${path}: torn, ${bytes - index.end} bytes cannot be read`);
        }
        for await (const found of blocksOf(file, onBytes)) {
          const problem = reader.read(found, file);
          if (problem !== undefined) fail(`${path}: byte ${found.place.offset}: ${problem}`);
        }
      }
      await output.write(json ? formatJson(intervals.all) : formatText(intervals.all, output));
    },
  });
}

/** The readable files, sorted by the time of their first block. */
async function openInOrder(found: readonly FoundFile[], fail: (what: string) => void): Promise<BlockFile[]> {
  const files: BlockFile[] = [];
  for (const { path, open } of found) {
    const file = await open().catch((error) => fail(`${path}: ${errorText(error)}`));
    if (file) files.push(file);
  }
  const timeOf = ({ index }: BlockFile) => index.blocks[0]?.header.baseTimeUs ?? 0;
  return files.sort((a, b) => timeOf(a) - timeOf(b));
}

/** Reads the messages that report alarms. A message that is in several blocks counts once. */
class AlarmReader {
  readonly #intervals: AlarmIntervals;
  readonly #seen = new Map<number, Ranges>();
  readonly #frame = newStoredFrame();

  constructor(intervals: AlarmIntervals) {
    this.#intervals = intervals;
  }

  /** Returns what cannot be read. */
  read(found: ExaminedBlock, { index: { header: { epochWord } } }: BlockFile): string | undefined {
    if (found.kind === "damaged") return found.why;
    const { block } = found.stored;
    const { frames, damage } = spanOf(block);
    const seen = epochWord === 0 ? new Ranges() : this.#seenOf(epochWord);
    const frame = this.#frame;
    for (const cursor = block.frames(); cursor.index < frames && cursor.next(frame);) {
      if (!ALARM_PGNS.has(frame.pgn) || (block.baseSeq !== undefined && seen.has(frame.seq))) continue;
      const word = alarmWord(frame.pgn, frame.data.subarray(frame.offset, frame.offset + frame.length));
      const bus = block.metadata.buses?.[frame.bus] ?? `bus ${frame.bus}`;
      if (word) this.#intervals.add(word, { bus, src: sourceOfId(frame.id), timeUs: frame.timeUs });
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

function formatText(intervals: readonly AlarmInterval[], { columns: width, hasColor: color }: Output): string {
  if (intervals.length === 0) return "no alarms\n";
  return `${formatItems(intervals, { columns: COLUMNS, width, color })}\n${count(intervals.length, "episode")}\n`;
}

function formatJson(intervals: readonly AlarmInterval[]): string {
  return JSON.stringify(intervals.map(({ firstUs, lastUs, clearedUs, ...rest }) => ({
    first: formatTimeUs(firstUs),
    last: formatTimeUs(lastUs),
    cleared: clearedUs === undefined ? null : formatTimeUs(clearedUs),
    ...rest,
  }))) + "\n";
}

/** Hours, minutes and seconds, each with its unit: `1 h 2 min 5 s`. */
function timeSpanText(us: number): string {
  const seconds = Math.round(us / 1e6);
  const parts = [[Math.floor(seconds / 3600), "h"], [Math.floor(seconds / 60) % 60, "min"], [
    seconds % 60,
    "s",
  ]] as const;
  return parts.filter(([count]) => count > 0).map(([count, unit]) => `${count} ${unit}`).join(" ") || "0 s";
}
