import { signedField, unsignedField } from "./bits.ts";

/**
 * The kinds of number that NMEA 2000 payloads are made of, named after what they count and its unit. Widths and
 * resolutions are those of the canboat definitions.
 */
export const field = {
  U2: unsignedField(2),
  U3: unsignedField(3),
  U4: unsignedField(4),
  U5: unsignedField(5),
  U6: unsignedField(6),
  U8: unsignedField(8),
  U11: unsignedField(11),
  U12: unsignedField(12),
  U16: unsignedField(16),
  U24: unsignedField(24),
  U32: unsignedField(32),
  S8: signedField(8),
  S16: signedField(16),
  S32: signedField(32),

  /** Direction, 0 up to a full turn. */
  ANGLE_RAD: unsignedField(16, 1e-4),
  SIGNED_ANGLE_RAD: signedField(16, 1e-4),
  TURN_RATE_RAD_PER_S: signedField(32, 1 / 32e6),
  SHIP_TURN_RATE_RAD_PER_S: signedField(16, 1 / 32e3),
  DEGREES: signedField(32, 1e-7),
  SPEED_MPS: unsignedField(16, 0.01),
  SIGNED_SPEED_MPS: signedField(16, 0.01),
  LENGTH_CM: unsignedField(32, 0.01),
  SIGNED_LENGTH_CM: signedField(32, 0.01),
  SHORT_LENGTH_CM: signedField(16, 0.01),
  SHORT_LENGTH_MM: signedField(16, 0.001),
  SHIP_LENGTH_DM: unsignedField(16, 0.1),
  DRAUGHT_CM: unsignedField(16, 0.01),
  RANGE_10_M: unsignedField(8, 10),
  DISTANCE_M: unsignedField(32),
  /** Days since 1970. */
  DATE_DAYS: unsignedField(16),
  /** Seconds since midnight. */
  TIME_S: unsignedField(32, 1e-4),
  DURATION_S: unsignedField(32),
  DURATION_MINUTES_S: unsignedField(16, 60),
  INTERVAL_MS: unsignedField(16),
  TEMPERATURE_K: unsignedField(16, 0.01),
  TEMPERATURE_COARSE_K: unsignedField(16, 0.1),
  TEMPERATURE_FINE_K: unsignedField(24, 0.001),
  PRESSURE_HPA_PA: unsignedField(16, 100),
  PRESSURE_KPA_PA: unsignedField(16, 1000),
  PRESSURE_FINE_PA: signedField(32, 0.1),
  HUMIDITY_PERCENT: signedField(16, 0.004),
  LEVEL_PERCENT: signedField(16, 0.004),
  CAPACITY_L: unsignedField(32, 0.1),
  VOLT: signedField(16, 0.01),
  AMPERE: signedField(16, 0.1),
  RIPPLE_VOLT: unsignedField(16, 0.001),
  ENGINE_RPM: unsignedField(16, 0.25),
  FUEL_RATE_LPH: signedField(16, 0.1),
  DILUTION: signedField(16, 0.01),
  SNR_DB: signedField(16, 0.01),
  RESIDUAL_M: signedField(32, 1e-5),
} as const;
