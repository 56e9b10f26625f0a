import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Batch, StreamKind } from "./batch.ts";

/** One client's end of a stream. */
export interface StreamClient {
  readonly kind: StreamKind;
  /** Bytes that wait because the client has not taken them yet. */
  readonly waitingBytes: number;
  /** Those among them that wait in the client's own queue, and can still be dropped. */
  readonly queuedBytes: number;
  /** Memory that its transport holds, bytes, as far as known; 0 while the client reads. */
  readonly transportBytes: number;
  /** Whether something waits that nobody but `drain` sends. */
  readonly needsDrain: boolean;
  /** Sends a batch, or counts it as dropped when the client is too slow. Returns the number of frames dropped. */
  deliver(batch: Batch): number;
  /** Takes note of frames that were lost before they reached the client, or are not here. */
  lost(dropped: SkippedFrames): void;
  /** Tells of a device, when the client wants to know. */
  device(event: DeviceEvent): void;
  /** Sends what waits, as far as the client takes it. Returns whether that was anything. */
  drain(): boolean;
  /** Drops the queue and reports that to the client. Returns the number of frames dropped. */
  shed(): number;
  /** Called now and then: tells of drops, breaks long silence. */
  housekeeping(nowMs: number): void;
  /** Ends the stream because the server stops. */
  end(): void;
}
