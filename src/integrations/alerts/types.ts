/** `critical`: something does not work; `warning`: something needs attention; `info`: a problem has ended. */
export type AlertSeverity = "critical" | "warning" | "info";

/** Content of an alert. */
export interface AlertWords {
  /** What happened, for programs: `bus_silence`, `device_removed`, `journal_unhealthy`. */
  type: string;
  /** Severity of the event. */
  severity: AlertSeverity;
  /** One sentence for people. */
  summary: string;
  /** Additional data by name; seconds where the name says so. */
  details: Readonly<Record<string, string | number>>;
}

/** An alert with its subject: `bus:can0:silence`, `device:can0:0x00a1b2c3d4e5f607`, `component:journal`. */
export interface AlertDraft extends AlertWords {
  /** What the alert is about; the alerts for the beginning and the end of a problem have the same subject. */
  subject: string;
}

/** An alert as it is sent to receivers. */
export interface Alert extends AlertDraft {
  /** Unique id of the alert; the same in every attempt to deliver it. */
  id: string;
  /** Time of detection, RFC 3339. */
  timestamp: string;
  /** Name of the boat. */
  instance_id?: string;
}

/** Current state of a bus. */
export interface WatchedBus {
  /** State of the bus; a closed bus causes no alert. */
  readonly state:
    | { readonly type: "closed" }
    | { readonly type: "up"; readonly controller: string }
    | { readonly type: "down" | "missing"; readonly message: string };
  /** Monotonic (milliseconds) and wall time (microseconds) of the newest frame; `-Infinity` and 0 before the first. */
  readonly lastFrame: { readonly monoMs: number; readonly timeUs: number } | undefined;
}

/** Health of components by name. A component left out is ok. */
export type WatchedComponents = Readonly<
  Record<string, { readonly status: "ok" | "degraded" | "unhealthy"; readonly message?: string | undefined }>
>;

/** Rules of alerts. */
export interface AlertRules {
  /** Minimum interval of alerts about the same subject, milliseconds. */
  dedupWindowMs: number;
  /** A bus without frames for longer is silent, milliseconds; undefined: no alerts about silence. */
  busSilenceMs: number | undefined;
}
