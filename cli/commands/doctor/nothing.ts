import type { NetworkReport } from "@vessel/gateway/client";

/** What no findings mean: little on buses without traffic. */
export function nothingText(buses: NetworkReport["buses"]): string {
  const isMeasured = buses.some(({ peak_at }) => peak_at !== undefined);
  return isMeasured ? "Nothing is wrong on the buses" : "No traffic was measured yet: nothing could be checked";
}
