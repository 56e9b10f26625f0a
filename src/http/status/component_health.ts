/** How a part of the server does. */
export type HealthStatus = "ok" | "degraded" | "unhealthy";

/** One part of the server. */
export interface ComponentHealth {
  status: HealthStatus;
  /** What is wrong, for a person. */
  message?: string;
}
