/** Health of the server or a component. */
export type HealthStatus = "ok" | "degraded" | "unhealthy";

/** Health of one component. */
export interface ComponentHealth {
  status: HealthStatus;
  /** What is wrong, for a person. */
  message?: string;
}
