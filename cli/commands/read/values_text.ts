import type { DecodedLastValue, LastValues } from "@vessel/gateway/client";
import type { UnitSystem } from "@vessel/gateway/units";
import { inOrder } from "../../client/devices_table.ts";
import { listLines, nameOf, payloadTexts, timeOfDay } from "../../client/frame_text.ts";
import { padded } from "../../program/table.ts";
import { paint, printable } from "../../program/terminal.ts";

type Values = readonly LastValues<DecodedLastValue>[];

const INDENT = 2;
const PGN_COLUMNS = 6;
/** Of a description, at most. */
const MAX_DESCRIPTION = 28;
/** Narrower lines omit the descriptions to leave space for the values, characters. */
const NARROW = 70;
/** Of further lines of a value. */
const MORE_INDENT = 10;

/** Text of the values: a block for each device, with wrapped lines. */
export function valuesText(
  devices: Values,
  { width, color, units }: { width: number; color: boolean; units: UnitSystem },
): string {
  if (devices.length === 0) return "No values, or none that match";
  const names = devices.flatMap(({ values }) => values.map(descriptionOf));
  const longest = Math.min(MAX_DESCRIPTION, Math.max(0, ...names.map((name) => name.length)));
  const described = width >= NARROW ? longest : 0;
  return inOrder(devices).map((device) =>
    [
      paint({ hasColor: color }, "bold", titleOf(device)),
      ...device.values.map((value) => lineOf(value, { width, described, units })),
    ].join("\n")
  ).join("\n\n");
}

/** Values received since then; omits devices without new values. */
export function newValues(now: Values, before: Values): LastValues<DecodedLastValue>[] {
  const seqs = new Map(
    before.flatMap((device) => device.values.map((value): [string, number] => [keyOf(device, value), value.seq])),
  );
  return now.map((device) => ({
    ...device,
    values: device.values.filter((value) => seqs.get(keyOf(device, value)) !== value.seq),
  })).filter(({ values }) => values.length > 0);
}

function keyOf({ bus = "", src }: Values[number], { pgn }: DecodedLastValue): string {
  return `${bus} ${src} ${pgn}`;
}

function titleOf({ bus, src, name, manufacturer, model_id }: Values[number]): string {
  const about = [manufacturer, model_id, name].filter((each) => each !== undefined && each !== "");
  return printable([`${bus === undefined ? "" : `${bus} `}${src}`, ...about].join("  "));
}

function lineOf(
  value: DecodedLastValue,
  { width, described, units }: { width: number; described: number; units: UnitSystem },
): string {
  const { pgn, ts } = value;
  const name = described === 0 ? "" : `${padded(descriptionOf(value), { width: described })}  `;
  const start = `${" ".repeat(INDENT)}${String(pgn).padStart(PGN_COLUMNS)}  ${name}${timeOfDay(ts)}  `;
  const lines = listLines(payloadTexts(value, units), { first: width - start.length, width: width - MORE_INDENT });
  const [first = "", ...more] = lines;
  return [(start + first).trimEnd(), ...more.map((line) => " ".repeat(MORE_INDENT) + line)].join("\n");
}

function descriptionOf({ pgn, description }: DecodedLastValue): string {
  return printable(description ?? nameOf(pgn) ?? "");
}
