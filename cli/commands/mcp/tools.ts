import { z } from "zod";
import { deviceInput } from "./device.ts";
import { devicesAnswer } from "./devices.ts";
import { gapsAnswer } from "./gaps.ts";
import { healthAnswer } from "./health.ts";
import { MAX_BUCKETS, seriesAnswer } from "./series.ts";
import { timeInput, type Tool, tool } from "./tool.ts";
import { valuesAnswer } from "./values.ts";
import { voyagesAnswer } from "./voyages.ts";

const MAX_PGN = 0x3ffff;
const at = timeInput("Show what the server showed at this time, from its recording").optional();
const from = timeInput("Beginning");
const to = timeInput("End; default now").optional();
const device = deviceInput.optional();

/** All tools. Each only reads. */
export const TOOLS: readonly Tool[] = [
  tool({
    name: "devices",
    description:
      "Lists the devices on the boat's NMEA 2000 buses: address, manufacturer, model, class, NAME, and the " +
      "time (UTC) of the last message of each.",
    input: { device, at },
    answer: devicesAnswer,
  }),
  tool({
    name: "values",
    description:
      "Shows the newest values with unit (kn, nm, m, degrees, °C, bar, V), time (UTC), age and device: what a " +
      "skipper reads, such as depth, speed and wind; with pgn or device, but no quantity, all fields of the newest messages.",
    input: {
      quantity: z.string().min(1).optional()
        .describe("Only quantities with this in their name, such as depth, wind or engine 0"),
      pgn: z.int().min(0).max(MAX_PGN).optional().describe("Only messages of this PGN, such as 128267"),
      device,
      at,
    },
    answer: valuesAnswer,
  }),
  tool({
    name: "series_summary",
    description:
      `Shows minimum, average, maximum and last value of a recorded field, with its unit, in at most ${MAX_BUCKETS} ` +
      "buckets between two times (UTC).",
    input: {
      field: z.string().min(1).describe("PGN and field, such as 128267.depth; the tool values names them"),
      ...{ from, to, device },
    },
    answer: seriesAnswer,
  }),
  tool({
    name: "voyages",
    description:
      "Lists when the boat was under way, at anchor and in port between two times (UTC), with duration (h), distance " +
      "(nm), speeds (kn), engine hours, fuel (L) and wind (kn) of each voyage.",
    input: { from, to },
    answer: voyagesAnswer,
  }),
  tool({
    name: "health",
    description:
      "Shows the health of the server and its parts (buses, recording, replication), the time (UTC) of the " +
      "newest frame, and how many frames were received, recorded and are missing.",
    input: {},
    answer: (_, boat) => healthAnswer(boat),
  }),
  tool({
    name: "gaps",
    description:
      "Lists frames that are missing from the recording or from the cloud: how many, which sequence numbers, " +
      "and why.",
    input: {},
    answer: (_, boat) => gapsAnswer(boat),
  }),
];
