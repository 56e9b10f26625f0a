import { className, inOrder } from "../../client/devices_table.ts";
import type { When } from "../../client/time_option.ts";
import type { Answer } from "./answer.ts";
import { deviceText, isDevice } from "./device.ts";
import { type Boat, utcOf } from "./tool.ts";

/** Answer of `devices`. */
export async function devicesAnswer(
  { device: wanted, at }: { device?: string | undefined; at?: When | undefined },
  boat: Boat,
): Promise<Answer> {
  const time = utcOf(at, boat);
  const source = time === undefined ? boat.client : boat.client.at(time);
  const all = inOrder(await source.devices({ signal: boat.signal }));
  const devices = wanted === undefined ? all : all.filter((each) => isDevice(wanted, each));
  const count = wanted === undefined ? `${all.length} devices` : `${devices.length} of ${all.length} devices`;
  return {
    head: `${count} ${time === undefined ? "now" : `at ${time}`}, by bus and address`,
    items: devices.map((each) =>
      [
        deviceText(each),
        className(each),
        ...each.device_instance === undefined ? [] : [`instance ${each.device_instance}`],
        ...each.name === undefined ? [] : [`NAME ${each.name}`],
        `last message ${each.last_seen}`,
      ].filter((part) => part !== "").join(", ")
    ),
    narrow: "narrow with device, an address or a part of manufacturer and model",
  };
}
