import type { Clock, Logger } from "../base/mod.ts";
import type { MissingFrames } from "./cursor.ts";
import type { CompileFilter } from "./filters.ts";
import type { FrameSource } from "./frame_source.ts";
import type { StreamEnd } from "./session_stream.ts";
import type { SessionLimits, Slot } from "./session_types.ts";

/** How sessions are kept. */
export interface SessionsOptions {
  source: FrameSource;
  compile: CompileFilter;
  clock: Clock;
  log: Logger;
  limits: () => SessionLimits;
  slots?: readonly Slot[] | undefined;
  /** Number that slots begin with; default the next one. */
  slotsFrom?: number | undefined;
  /** Names the run of sequence numbers. */
  epoch?: string | undefined;
  /** Directory where they survive a restart; none: they do not. */
  directory?: string | undefined;
  /** Acknowledgements wait for it: its frames up to a number have to be safe from a power cut. */
  journal?: { sync(through: number): Promise<void> } | undefined;
}

/** How a stream is opened. */
export interface SessionStreamOptions {
  /** Called once when the stream has ended. */
  ended: (how: StreamEnd) => void;
  /** Told of frames that were lost on their way into the journal, or may have been with an unclean stop. */
  missing?: (frames: MissingFrames) => void;
  /** Name of the token that reads. */
  reader?: string | undefined;
}
