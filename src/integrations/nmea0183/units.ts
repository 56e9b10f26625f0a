/** One metre per second in knots. */
export const KNOTS = 3600 / 1852;
/** One metre per second in kilometres per hour. */
export const KMH = 3.6;
/** One metre in feet. */
export const FEET = 1 / 0.3048;
/** One metre in fathoms. */
export const FATHOMS = 1 / 1.8288;
/** One metre in nautical miles. */
export const MILES = 1 / 1852;
/** One pascal in bar. */
export const BAR = 1e-5;
/** One pascal in inches of mercury at 0 °C. */
export const INCHES_OF_MERCURY = 1 / 3386.389;
/** One radian in degrees. */
export const DEGREES = 180 / Math.PI;
/** Kelvin to degrees Celsius. */
export const CELSIUS = { offset: -273.15 } as const;
