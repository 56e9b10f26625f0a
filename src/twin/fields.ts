/**
 * The kinds of number that NMEA 2000 payloads are made of. Widths and resolutions are those of the canboat definitions.
 *
 * @module
 */
import { signedField, unsignedField } from "./bits.ts";

export const U2 = unsignedField(2);
export const U3 = unsignedField(3);
export const U4 = unsignedField(4);
export const U5 = unsignedField(5);
export const U6 = unsignedField(6);
export const U8 = unsignedField(8);
export const U11 = unsignedField(11);
export const U12 = unsignedField(12);
export const U16 = unsignedField(16);
export const U24 = unsignedField(24);
export const U32 = unsignedField(32);
export const FLAG = unsignedField(1);
export const S8 = signedField(8);
export const S16 = signedField(16);
export const S32 = signedField(32);

/** Direction, 0 up to a full turn. */
export const ANGLE_RAD = unsignedField(16, 1e-4);
export const SIGNED_ANGLE_RAD = signedField(16, 1e-4);
export const TURN_RATE_RAD_PER_S = signedField(32, 1 / 32e6);
export const SHIP_TURN_RATE_RAD_PER_S = signedField(16, 1 / 32e3);
export const DEGREES = signedField(32, 1e-7);
export const SPEED_MPS = unsignedField(16, 0.01);
export const SIGNED_SPEED_MPS = signedField(16, 0.01);
export const LENGTH_CM = unsignedField(32, 0.01);
export const SIGNED_LENGTH_CM = signedField(32, 0.01);
export const SHORT_LENGTH_CM = signedField(16, 0.01);
export const SHORT_LENGTH_MM = signedField(16, 0.001);
export const SHIP_LENGTH_DM = unsignedField(16, 0.1);
export const DRAUGHT_CM = unsignedField(16, 0.01);
export const RANGE_10_M = unsignedField(8, 10);
export const DISTANCE_M = unsignedField(32);
/** Days since 1970. */
export const DATE_DAYS = unsignedField(16);
/** Seconds since midnight. */
export const TIME_S = unsignedField(32, 1e-4);
export const DURATION_S = unsignedField(32);
export const DURATION_MINUTES_S = unsignedField(16, 60);
export const INTERVAL_MS = unsignedField(16);
export const TEMPERATURE_K = unsignedField(16, 0.01);
export const TEMPERATURE_COARSE_K = unsignedField(16, 0.1);
export const TEMPERATURE_FINE_K = unsignedField(24, 0.001);
export const PRESSURE_HPA_PA = unsignedField(16, 100);
export const PRESSURE_KPA_PA = unsignedField(16, 1000);
export const PRESSURE_FINE_PA = signedField(32, 0.1);
export const HUMIDITY_PERCENT = signedField(16, 0.004);
export const LEVEL_PERCENT = signedField(16, 0.004);
export const CAPACITY_L = unsignedField(32, 0.1);
export const VOLT = signedField(16, 0.01);
export const AMPERE = signedField(16, 0.1);
export const RIPPLE_VOLT = unsignedField(16, 0.001);
export const ENGINE_RPM = unsignedField(16, 0.25);
export const FUEL_RATE_LPH = signedField(16, 0.1);
export const DILUTION = signedField(16, 0.01);
export const SNR_DB = signedField(16, 0.01);
export const RESIDUAL_M = signedField(32, 1e-5);
