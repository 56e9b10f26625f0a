import type { BoatStay, BoatVoyage, GeoPosition, VoyagesReply } from "@vessel/gateway/client";
import { valueText } from "@vessel/gateway/units";
import type { When } from "../../client/time_option.ts";
import type { Answer } from "./answer.ts";
import { type Boat, utcOf } from "./tool.ts";

const STAYS: Readonly<Record<BoatStay["state"], string>> = {
  at_anchor: "at anchor",
  in_port: "in port",
  unknown: "not known",
};

/** Answer of `voyages`. */
export async function voyagesAnswer(
  { from, to: end }: { from: When; to?: When | undefined },
  boat: Boat,
): Promise<Answer> {
  const to = utcOf(end, boat);
  const query = { from: utcOf(from, boat), ...(to !== undefined && { to }) };
  const reply = await boat.client.voyages(query, { signal: boat.signal });
  return {
    head: `Voyages from ${reply.from} to ${reply.to}: ${reply.voyages.length}, the latest first`,
    items: linesOf(reply),
    narrow: "narrow with an earlier to",
  };
}

/** Voyages and the times between them, the latest first. */
function linesOf({ voyages, stays }: VoyagesReply): string[] {
  return [
    ...voyages.map((voyage) => ({ start: voyage.start, line: voyageLine(voyage) })),
    ...stays.map((stay) => ({ start: stay.start, line: stayLine(stay) })),
  ].sort((a, b) => Date.parse(b.start) - Date.parse(a.start)).map(({ line }) => line);
}

function voyageLine(voyage: BoatVoyage): string {
  const { start, end, is_complete, duration_s, distance_m, engines, fuel_l, wind } = voyage;
  const speeds = [`average ${textOf(voyage.avg_speed, "m/s")}`];
  if (voyage.max_speed !== null) speeds.push(`maximum ${textOf(voyage.max_speed, "m/s")}`);
  const parts = [
    `${start} to ${end}: ${is_complete ? "under way" : "under way (not complete)"} ${textOf(duration_s, "s")}`,
    `${textOf(distance_m, "m")} over ground`,
    ...speeds,
    `from ${positionText(voyage.start_position)} to ${positionText(voyage.end_position)}`,
    ...engines.map(({ instance, running_s }) => `engine ${instance} ran ${textOf(running_s, "s")}`),
    ...fuel_l === null ? [] : [`fuel ${textOf(fuel_l, "L")}`],
    ...wind ? [`${wind.reference} wind average ${textOf(wind.avg, "m/s")}, maximum ${textOf(wind.max, "m/s")}`] : [],
  ];
  return parts.join(", ");
}

function stayLine({ state, start, end, position }: BoatStay): string {
  return `${start} to ${end}: ${STAYS[state]}${position ? ` at ${positionText(position)}` : ""}`;
}

function textOf(value: number, unit: "L" | "m" | "m/s" | "s"): string {
  const name = unit === "m" ? "distance" : "";
  return valueText(value, { name, unit }, { system: "nautical" });
}

function positionText(position: GeoPosition): string {
  const text = (name: keyof GeoPosition) => valueText(position[name], { name, unit: "deg" }, { system: "nautical" });
  return `${text("latitude")} ${text("longitude")}`;
}
