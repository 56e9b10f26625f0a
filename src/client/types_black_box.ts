/** The file that a mark belongs to. */
export interface Marked {
  /** Name of the file. */
  name: string;
  /** False: there was a mark less than ten minutes before, and this is its file. */
  is_new: boolean;
}

/** A file of a boat's black box: the frames from a minute before an event to a minute after it. */
export interface BlackBoxEntry {
  /** Name of the file. */
  name: string;
  /** What happened, for programs: `mark`, `mob`, or the type of an alert or finding. */
  kind: string;
  /** What it is about. */
  subject: string;
  /** One sentence for people. */
  text: string;
  /** Time of the event, RFC 3339. */
  time: string;
  /** False: the frames are written a minute after the event; the following members are missing. */
  complete: boolean;
  /** Size, bytes; 0 until it is complete. */
  bytes: number;
  /** Time of its first frame. */
  from?: string;
  /** Time of its last frame. */
  to?: string;
  /** Number of frames. */
  frames?: number;
  /** Frames that were numbered in this time and are not in the file. */
  missing?: number;
  /** The server was not running all the time. */
  interrupted?: boolean;
}
