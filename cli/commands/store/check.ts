/**
 * `vbg-cloud store check`: verifies the frames of boats in an object store.
 *
 * @module
 */
import { systemClock } from "@vessel/gateway/base";
import {
  boatsInStore,
  type CheckedBoat,
  type CheckedEpoch,
  checkStoredBoat,
  openStore,
  StoreError,
} from "@vessel/gateway/cloud";
import { outputOptions, wantsJson } from "../../client/client_options.ts";
import {
  errorsOf,
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  SettingsError,
} from "../../program/program.ts";
import { stopSignalOf } from "../../program/program.ts";
import { Progress } from "../../program/progress.ts";
import { paint, printable } from "../../program/terminal.ts";
import type { CommandFile } from "../../program/dispatch.ts";
import { programOptions } from "../../settings/common_options.ts";
import { OptionGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { count, rangeText } from "../inspect/file.ts";
import { requireStoreUrl } from "./stored_boat.ts";

const boats = new OptionGroup("Boats");

const options = {
  storeEndpoint: storeEndpointOption,
  boat: boats.text({ name: "boat", placeholder: "ID", help: "Check this boat only. Default: all." }),
  ...outputOptions,
  ...programOptions,
};

const program: Program<SettingsOf<typeof options>> = {
  name: "vbg-cloud store check",
  summary:
    "reads every object of boats in a store, s3://BUCKET/PREFIX or file:///FOLDER, and checks hashes, blocks and numbers. " +
    "Changes nothing; the cloud may run. Exit code 1: an object is damaged, or objects contradict each other",
  options,
  positionals: "URL",
};

/** `vbg-cloud store check`. */
export const checkCommand: CommandFile = {
  program,
  run: (context) =>
    runOnce(program, {
      context,
      interrupted: EXIT.interrupted,
      run: (settings, words) => check(settings, { words, context }),
    }),
};

async function check(
  settings: SettingsOf<typeof options>,
  { words, context }: { words: readonly string[]; context: ProgramContext },
): Promise<number> {
  const [url, ...others] = words;
  if (url === undefined || others.length > 0) {
    throw new SettingsError(`Cannot check: expected the URL of one store, found ${words.length}`);
  }
  requireStoreUrl(url);
  const signal = stopSignalOf(context, { hangUp: false });
  const [output, isJson] = [outputOf(context), wantsJson(settings, outputOf(context))];
  const progress = new Progress({ output: errorsOf(context), unit: "bytes", clock: systemClock });
  const onBytes = (bytes: number) => {
    signal.throwIfAborted();
    progress.add(bytes);
  };
  const checked: CheckedBoat[] = [];
  try {
    using store = await openStore({ url, isReadOnly: true, endpoint: settings.storeEndpoint || undefined });
    const ids = await boatsInStore(store);
    if (settings.boat !== "" && !ids.includes(settings.boat)) {
      throw new SettingsError(`Cannot check "${settings.boat}": ${url} has no such boat`);
    }
    if (ids.length === 0) throw new SettingsError(`Cannot check ${url}: it has no boat`);
    for (const id of settings.boat === "" ? ids : [settings.boat]) {
      const boat = await checkStoredBoat(store, id, { onBytes, signal });
      checked.push(boat);
      if (isJson) continue;
      progress.done();
      await output.write(`${describe(boat, output)}\n`);
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    context.printError(`${program.name}: ${printable(error.message)}`);
    return EXIT.failure;
  } finally {
    progress.done();
  }
  const faults = checked.reduce((sum, boat) => sum + boat.faults.length, 0);
  if (isJson) await output.write(`${JSON.stringify({ ok: faults === 0, errors: faults, boats: checked })}\n`);
  return faults === 0 ? EXIT.ok : EXIT.failure;
}

function describe({ id, objects, bytes, epochs, faults }: CheckedBoat, style: { hasColor: boolean }): string {
  const verdict = faults.length === 0
    ? paint(style, "green", "OK")
    : paint(style, "red", count(faults.length, "error"));
  return [
    `${id}: ${count(objects, "object")}, ${bytes} bytes: ${verdict}`,
    ...epochs.flatMap(describeEpoch),
    ...faults.map(({ key, what }) => `  ${paint(style, "red", "error")}: ${printable(`${key}: ${what}`)}`),
  ].join("\n");
}

function describeEpoch({ epoch, stored, pruned, holes, repeated }: CheckedEpoch): string[] {
  const [first, last] = [stored[0]?.start ?? 0, (stored.at(-1)?.end ?? 1) - 1];
  const text = ({ start, end }: { start: number; end: number }) => rangeText(start, end - 1);
  return [
    `  epoch ${epoch}: numbers ${rangeText(first, last)}${holes.length === 0 ? " without a hole" : ""}`,
    ...pruned.map((range) => `  note: ${text(range)} deleted by retention`),
    ...holes.map((range) => `  note: ${text(range)} not stored, the boat may still send them`),
    ...repeated > 0 ? [`  note: ${count(repeated, "number")} twice, with the same frames`] : [],
  ];
}
