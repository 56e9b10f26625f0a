import type { Message, StoredFrame } from "../../src/frame/mod.ts";
import { encode } from "../../src/pgn/mod.ts";
import { message } from "../support/messages.ts";
import type { Sample } from "./passage.ts";

/** How samples become messages. */
export interface MessagesOptions {
  /** One of so many samples is sent; default 15. */
  everyNth?: number;
  /** PGN of the positions; default 129025. */
  positionPgn?: 129025 | 129029;
}

/** The messages of samples, as the devices of a boat send them. */
export function messagesOfSamples(
  samples: readonly Sample[],
  { everyNth = 15, positionPgn = 129025 }: MessagesOptions = {},
): Message[] {
  return samples.filter((_, i) => i % everyNth === 0).flatMap((sample) => {
    const { latitude, longitude, sogMps, headingRad, rpm, fuelLph, trueWindMps, apparentWindMps } = sample;
    const say = (pgn: number, src: number, fields: Parameters<typeof encode>[1]) =>
      message({ pgn, src, data: encode(pgn, fields), timeUs: sample.timeMs * 1000 });
    const wind = (speed: number, reference: string) =>
      say(130306, 5, { sid: 0, wind_speed: speed, wind_angle: 1, wind_reference: reference });
    return [
      ...latitude === undefined || longitude === undefined ? [] : [say(positionPgn, 3, { latitude, longitude })],
      ...sogMps === undefined ? [] : [say(129026, 3, { sid: 0, cog_reference: "true", cog: 1, sog: sogMps })],
      ...headingRad === undefined ? [] : [say(127250, 4, { sid: 0, heading: headingRad, heading_reference: "true" })],
      ...rpm === undefined ? [] : [say(127488, 6, { engine_instance: 0, engine_speed: rpm })],
      ...fuelLph === undefined ? [] : [say(127489, 6, { engine_instance: 0, fuel_rate: fuelLph })],
      ...trueWindMps === undefined ? [] : [wind(trueWindMps, "true_north")],
      ...apparentWindMps === undefined ? [] : [wind(apparentWindMps, "apparent")],
    ];
  });
}

/** The frame of a message, as a reader of recordings gives it. */
export function storedFrameOf({ timeUs, id, pgn, bus, data, offset, length }: Message, seq = 1): StoredFrame {
  return { seq, timeUs, id, pgn, bus, data, offset, length };
}
