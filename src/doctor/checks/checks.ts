import type { LoadMeter } from "../load.ts";
import type { Memory } from "../memory.ts";
import type { Check, Context } from "../model.ts";
import { AddressCheck } from "./addresses.ts";
import { BusCheck } from "./bus.ts";
import { ClaimCheck } from "./claims.ts";
import { ClockCheck } from "./clocks.ts";
import { DeviceCheck } from "./devices.ts";
import { DisagreementCheck } from "./disagreements.ts";
import { IncompleteCheck } from "./incomplete.ts";
import { InstanceCheck } from "./instances.ts";
import { RateCheck } from "./rates.ts";
import { RequestCheck } from "./requests.ts";
import { ResetCheck } from "./resets.ts";
import { ValueCheck } from "./values.ts";

/** All checks. `incomplete` is called for each message that could not be completed. */
export function checksOf(
  context: Context,
  { memory, load }: { memory: Memory; load: LoadMeter },
): { checks: Check[]; incomplete: (bus: number, src: number, pgn: number) => void } {
  const incomplete = new IncompleteCheck(context);
  const requests = new RequestCheck(context);
  const checks: Check[] = [
    new BusCheck(context, load),
    incomplete,
    requests,
    new ClaimCheck(context, requests),
    new AddressCheck(context),
    new InstanceCheck(context),
    new DeviceCheck(context, memory),
    new ResetCheck(context, requests),
    new RateCheck(context, memory),
    new ValueCheck(context),
    new DisagreementCheck(context),
    new ClockCheck(context),
  ];
  return { checks, incomplete: (bus, src, pgn) => incomplete.count(bus, src, pgn) };
}
