import type { FieldSeries } from "@vessel/gateway/client";
import { fieldsOfPayload } from "@vessel/gateway/pgn";
import { type DescribedFields, type FieldValue, oneFieldText, valueText } from "@vessel/gateway/units";
import { NOTHING } from "../../client/frame_text.ts";
import type { When } from "../../client/time_option.ts";
import { printable } from "../../program/terminal.ts";
import type { Answer } from "./answer.ts";
import { deviceText, identities, isDevice } from "./device.ts";
import { type Boat, utcOf } from "./tool.ts";

/** Maximum number of buckets of a series. */
export const MAX_BUCKETS = 20;

/** Arguments of `series_summary`. */
export interface SeriesInput {
  field: string;
  from: When;
  to?: When | undefined;
  device?: string | undefined;
}

/** Answer of `series_summary`. */
export async function seriesAnswer(input: SeriesInput, boat: Boat): Promise<Answer> {
  const { client, signal } = boat;
  const to = utcOf(input.to, boat);
  const query = { field: [input.field], from: utcOf(input.from, boat), points: MAX_BUCKETS };
  const [reply, identify] = await Promise.all([
    client.series({ ...query, ...(to !== undefined && { to }) }, { signal }),
    identities(boat),
  ]);
  const all = reply.series.map((series) => ({ series, identity: identify(series) }));
  const { device } = input;
  const wanted = all.filter(({ identity }) => device === undefined || isDevice(device, identity));
  const range = `from ${reply.from} to ${reply.to}`;
  const width = valueText(reply.bucket_ms / 1000, { name: "bucket", unit: "s" }, {
    system: "nautical",
    resolution: 0.1,
  });
  return {
    head: wanted.length === 0
      ? `No values of ${input.field} were recorded ${range}${all.length > 0 ? " from this device" : ""}`
      : `${input.field} ${range}; buckets of ${width}, of which each line has the start`,
    items: wanted.flatMap(({ series, identity }) => {
      const { instance } = series;
      const title = `${deviceText(identity)}${instance === undefined ? "" : `, ${instance}`}:`;
      return [title, ...bucketLines(series)];
    }),
    narrow: "narrow with device, or with a later from",
  };
}

/** A line for each bucket with values. */
function bucketLines(series: FieldSeries): string[] {
  const { field, unit, keys = {}, time, min, avg, max, last, count } = series;
  const [pgn = "", name = ""] = field.split(/\.(.*)/s);
  const fields: DescribedFields = fieldsOfPayload(Number(pgn), new Uint8Array(0)) ??
    new Map([[name, { name, type: "unknown", ...(unit !== undefined && { unit }) }]]);
  const text = (value: FieldValue | undefined) =>
    oneFieldText(name, { ...keys, [name]: value ?? null }, { fields, system: "nautical", clean: printable }) ?? NOTHING;
  return time.map((ms, index) => {
    const numbers = Object.entries({ min, avg, max }).flatMap(([word, column]) =>
      column ? [`${word} ${text(column[index])}`] : []
    );
    const values = [...numbers, `last ${text(last[index])}`].join(", ");
    return `${new Date(ms).toISOString()} ${values}, count ${count[index]}`;
  });
}
