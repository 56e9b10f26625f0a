import { PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";
import type { ChargePhase } from "./machinery.ts";

/** PGN 127488, engine parameters, rapid update. */
export function packEngineRapid(
  engine: { instance: number; speedRpm: number; boostPa?: number; tiltPercent?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, engine.instance).put(field.ENGINE_RPM, engine.speedRpm)
    .put(field.PRESSURE_HPA_PA, engine.boostPa).put(field.S8, engine.tiltPercent).reserve(16).finish();
}

/** What PGN 127489 tells; no warning is ever set. */
export interface EngineDynamic {
  readonly instance: number;
  readonly oilPressurePa?: number;
  readonly oilK?: number;
  readonly coolantK?: number;
  readonly alternatorVolt?: number;
  readonly fuelRateLph?: number;
  readonly hoursS?: number;
  readonly coolantPressurePa?: number;
  readonly fuelPressurePa?: number;
  readonly loadPercent?: number;
  readonly torquePercent?: number;
}

/** PGN 127489, engine parameters, dynamic. */
export function packEngineDynamic(engine: EngineDynamic): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(26).put(field.U8, engine.instance).put(field.PRESSURE_HPA_PA, engine.oilPressurePa)
    .put(field.TEMPERATURE_COARSE_K, engine.oilK).put(field.TEMPERATURE_K, engine.coolantK)
    .put(field.VOLT, engine.alternatorVolt).put(field.FUEL_RATE_LPH, engine.fuelRateLph)
    .put(field.DURATION_S, engine.hoursS).put(field.PRESSURE_HPA_PA, engine.coolantPressurePa)
    .put(field.PRESSURE_KPA_PA, engine.fuelPressurePa).reserve(8).putBits(0, 16).putBits(0, 16)
    .put(field.S8, engine.loadPercent).put(field.S8, engine.torquePercent).finish();
}

/** PGN 127493, transmission parameters, dynamic. `gear` 0 is forward, 1 neutral, 2 reverse. */
export function packTransmission(
  gearbox: { instance: number; gear: number; oilPressurePa?: number; oilK?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, gearbox.instance).put(field.U2, gearbox.gear).reserve(6)
    .put(field.PRESSURE_HPA_PA, gearbox.oilPressurePa).put(field.TEMPERATURE_COARSE_K, gearbox.oilK)
    .put(field.U8, 0).reserve(8).finish();
}

/** PGN 127497, trip parameters, engine. */
export function packEngineTrip(
  trip: { instance: number; fuelUsedL: number; averageLph?: number; economyLph?: number; instantLph?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(9).put(field.U8, trip.instance).put(field.U16, trip.fuelUsedL)
    .put(field.FUEL_RATE_LPH, trip.averageLph).put(field.FUEL_RATE_LPH, trip.economyLph)
    .put(field.FUEL_RATE_LPH, trip.instantLph).finish();
}

/** Fluids of NMEA 2000. */
export const FLUID = { fuel: 0, freshWater: 1, greyWater: 2, liveWell: 3, oil: 4, blackWater: 5 } as const;

/** PGN 127505, fluid level. */
export function packFluidLevel(
  tank: { instance: number; fluid: keyof typeof FLUID; levelPercent?: number; capacityL: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U4, tank.instance).put(field.U4, FLUID[tank.fluid])
    .put(field.LEVEL_PERCENT, tank.levelPercent).put(field.CAPACITY_L, tank.capacityL).reserve(8).finish();
}

/** PGN 127508, battery status. */
export function packBattery(
  battery: { sid?: number; instance: number; volt: number; ampere?: number; temperatureK?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, battery.instance).put(field.VOLT, battery.volt)
    .put(field.AMPERE, battery.ampere).put(field.TEMPERATURE_K, battery.temperatureK).put(field.U8, battery.sid)
    .finish();
}

/** PGN 127506, detailed status of a battery. */
export function packDcDetails(
  battery: {
    sid?: number;
    instance: number;
    chargePercent: number;
    healthPercent: number;
    remainingS?: number;
    rippleVolt: number;
    remainingAh: number;
  },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(11).put(field.U8, battery.sid).put(field.U8, battery.instance).put(field.U8, 0)
    .put(field.U8, battery.chargePercent).put(field.U8, battery.healthPercent)
    .put(field.DURATION_MINUTES_S, battery.remainingS).put(field.RIPPLE_VOLT, battery.rippleVolt)
    .put(field.U16, battery.remainingAh).finish();
}

/** Operating states of PGN 127507. */
const CHARGER_STATE = { off: 0, bulk: 1, absorption: 2, float: 5 } as const;

/** PGN 127507, charger status; six bytes, and a fast packet all the same. */
export function packCharger(
  charger: { instance: number; batteryInstance: number; phase: ChargePhase },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(6).put(field.U8, charger.instance).put(field.U8, charger.batteryInstance)
    .put(field.U4, CHARGER_STATE[charger.phase.type]).put(field.U4, 0).put(field.U2, 1).put(field.U2, 0).reserve(4)
    .put(field.DURATION_MINUTES_S, undefined).finish();
}

/** Indicators that PGN 127501 has room for. */
const BANK_INDICATORS = 28;

/** PGN 127501, binary switch bank; indicators that are not given are not available. */
export function packSwitchBank(
  { instance, on }: { instance: number; on: readonly (boolean | undefined)[] },
): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(8).put(field.U8, instance);
  for (let i = 0; i < BANK_INDICATORS; i++) {
    const state = on[i];
    writer.put(field.U2, state === undefined ? undefined : state ? 1 : 0);
  }
  return writer.finish();
}
