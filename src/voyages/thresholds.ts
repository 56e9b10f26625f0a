// What tells a boat under way from one that stays. Lengths in metres, speeds in metres per second, times in milliseconds.

/** Width of a slot, milliseconds: that of the buckets in the sidecars of series, so that months are read from them. */
export const SLOT_MS = 30_000;

/**
 * A boat stays while its positions are this close together. At anchor it swings on a circle of up to 100 m in radius, and a
 * receiver errs by up to 15 m: twice both, and some metres for the length of the boat.
 */
export const STAY_EXTENT_M = 260;

/**
 * A stop is a stay from this duration on. A voyage goes on over a shorter stop, such as in a lock or at a bridge: one of 20
 * minutes, because the boat is within {@linkcode STAY_EXTENT_M} for some minutes before and after it, too.
 */
export const STAY_MS = 25 * 60_000;

/** Positions of a stay that a new one is compared with: a slow drift, such as of an anchor that drags, is no voyage. */
export const STAY_MEMORY_MS = 60 * 60_000;

/** A boat whose engine runs and that is faster on average than this, 1.5 kn, is under way, however small its circles are. */
export const CIRCLING_MPS = 0.77;

/** A voyage leads at least so far away from where it began: less may be a change of the berth, or an anchor that drags. */
export const MIN_VOYAGE_M = 250;
/** Shorter movements are none of a boat. */
export const MIN_VOYAGE_MS = 3 * 60_000;
/** Slower movements, 1.6 kn, are drift, unless they lead twice as far as {@linkcode STAY_EXTENT_M}. */
export const MIN_VOYAGE_MPS = 0.82;

/**
 * The last part of a stay that does not tell how the boat lay: it may already have been leaving. A boat that leaves with 1 kn
 * needs 8 minutes for {@linkcode STAY_EXTENT_M}.
 */
export const LEAVING_MS = 10 * 60_000;
/** A boat is at its place within this distance beyond the circle in which it lay: errors of the receiver. */
export const PLACE_MARGIN_M = 12;
/** A receiver does not err by more: positions of a boat that lies still are this close to their centre. */
export const MAX_ERROR_M = 35;
/**
 * A boat that is at its place rests below this speed: 0.6 kn is what a receiver shows for a boat that lies still, 1.2 kn has
 * one that falls back from its anchor, 1.6 kn one at anchor in a gust. Between them counts how the boat lay.
 */
export const REST_MPS = { inPort: 0.3, atAnchor: 0.62, max: 0.82 } as const;
/** Added to the speed that the boat had while it lay. */
export const REST_MARGIN_MPS = 0.1;

/** No boat is faster: 50 kn. A position that it could not have reached is an error of the receiver. */
export const MAX_SPEED_MPS = 25.7;
/** Distance that a receiver may jump at once without an error. */
export const MAX_JUMP_M = 150;
/** Successive slots whose positions cannot be reached, after which they are believed: the boat was carried, or the clock set. */
export const MAX_UNREACHABLE_SLOTS = 10;

/** Without positions for this long, where the boat was is not known: the track has a gap. */
export const TRACK_GAP_MS = 2 * 60_000;
/** After a longer time without positions the positions before and after it decide whether the voyage goes on. */
export const LONG_GAP_MS = STAY_MS;
/** It goes on if the boat was at least this fast from one to the other, 1 kn. */
export const GAP_MPS = 0.5;

/** In port a boat moves less than this: standard deviation of the positions, each averaged over ten minutes. */
export const PORT_SPREAD_M = 12;
/** In port a boat keeps its heading up to this standard deviation, 6°; at anchor it yaws. */
export const PORT_HEADING_RAD = 0.105;
/** Slots of an averaged position. */
export const SPREAD_SLOTS = 20;

/** An engine runs from this speed on, revolutions per minute: below it is noise of the sensor. */
export const RUNNING_RPM = 300;

/** The highest speed of a slot counts if it is at most this much above its average, 8 kn: more is a jump of the receiver. */
export const MAX_SURGE_MPS = 4;
/** A distance is added once the boat is this far away from where it was counted: errors of the receiver add up to nothing. */
export const DISTANCE_STEP_M = 25;
