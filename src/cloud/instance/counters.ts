/** Counters of a boat, all zero. */
export const zeroCounters = () => ({
  /** Frames received live, without those that introduce devices. */
  liveFrames: 0,
  /** Live frames that were received before. */
  duplicateFrames: 0,
  /** Live frames refused: they were out of order, or could not be recorded. */
  refusedFrames: 0,
  liveStreams: 0,
  /** Blocks stored. */
  backfillBlocks: 0,
  /** Their size on disk, bytes. */
  backfillBytes: 0,
  /** New frames in them. */
  backfillFrames: 0,
  /** Blocks refused because of their content. */
  verifyFailures: 0,
  /** Live streams closed because they exceeded the frame rate. */
  rateLimited: 0,
  /** Live streams closed because they lagged too far behind the boat. */
  lagClosed: 0,
  /** Frames received that could not be written: they are holes again. */
  lostFrames: 0,
  /** Frames that have disappeared from the disk: they are holes again. */
  vanishedFrames: 0,
  /** Damaged blocks found by checking files, counted in every pass. */
  damagedBlocks: 0,
  /** Frames of former epochs that were never received and that the boat cannot send any more. */
  leftFrames: 0,
});

/** Counters of a boat since the start of the cloud. */
export type InstanceCounters = ReturnType<typeof zeroCounters>;
