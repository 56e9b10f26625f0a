import type { AlertSettings } from "@vessel/gateway";
import { duration, integer, list, offAtZero, reloadable, text } from "./option_types.ts";
import { type Check, definedOnly, type SettingsOf } from "./options.ts";

const ALERTS = "Alerts";
const MAX_RECEIVERS = 8;
const DAY_MS = 86_400_000;

/** Options of alerts. */
export const alertOptions = {
  alertWebhookUrls: list({
    name: "alert-webhook-url",
    key: "alert.webhook-url",
    placeholder: "URL",
    default: [],
    secret: true,
    help:
      "Address that gets a POST of JSON for each alert: a bus that is silent, bus-off or down, a device that is gone, a " +
      "part of the server that fails, and the end of each. Several by repeating. Alerts are lines of the log in any case.",
    group: ALERTS,
    validate: checkUrl,
  }),
  alertWebhookSecret: text({
    name: "alert-webhook-secret",
    key: "alert.webhook-secret",
    placeholder: "KEY",
    default: "",
    secret: true,
    help: "Key of the header X-Vbg-Signature: sha256= and the HMAC-SHA256 of the body in hex. Better given by " +
      "VBG_ALERT_WEBHOOK_SECRET: others can see command lines.",
    group: ALERTS,
  }),
  alertDedupWindowMs: reloadable(duration({
    name: "alert-dedup-window",
    key: "alert.dedup-window",
    default: 5 * 60_000,
    help:
      "After an alert, its subject has no other for so long; then how it is by now is told, if it is not as told last.",
    group: ALERTS,
  })),
  alertTimeoutMs: duration({
    name: "alert-timeout",
    beyond: "The attempt has failed; the alert is sent again later.",
    key: "alert.timeout",
    default: 10_000,
    minMs: 1,
    maxMs: 3_600_000,
    help:
      "Longest wait for the answer to an alert. Without success it is tried again after 1 s, doubling to 5 minutes.",
    group: ALERTS,
  }),
  alertMaxAgeMs: duration({
    name: "alert-max-age",
    beyond: "The alert is given up and counted; the next one says how many were.",
    key: "alert.max-age",
    default: DAY_MS,
    minMs: 1,
    help: "An alert that cannot be delivered for so long is given up. The next one says how many were.",
    group: ALERTS,
  }),
  alertQueueSize: integer({
    name: "alert-queue-size",
    beyond: "The oldest alert of the same subject is given up, else the oldest; the next one says how many were.",
    key: "alert.queue-size",
    default: 256,
    min: 2,
    max: 4096,
    help:
      "Most alerts that wait for one address. Beyond that the oldest of the same subject is given up, else the oldest.",
    group: ALERTS,
  }),
  busSilenceTimeoutMs: reloadable(offAtZero(duration({
    name: "bus-silence-timeout",
    default: 0,
    help: "A bus without frames for longer gives an alert. Not set or 0: silence is nothing to tell.",
    group: ALERTS,
  }))),
};

/** Settings of alerts. */
export type AlertOptionSettings = SettingsOf<typeof alertOptions>;

/** What settings of alerts must satisfy together. */
export const alertChecks: readonly Check<AlertOptionSettings>[] = [
  {
    settings: ["alertWebhookUrls"],
    severity: "error",
    test: ({ alertWebhookUrls: { length } }) =>
      length > MAX_RECEIVERS
        ? `Cannot send alerts to ${length} addresses: expected at most ${MAX_RECEIVERS}`
        : undefined,
  },
  {
    settings: ["alertWebhookSecret", "alertWebhookUrls"],
    severity: "warning",
    test: ({ alertWebhookSecret, alertWebhookUrls }) =>
      alertWebhookSecret !== "" && alertWebhookUrls.length === 0
        ? "Not used: there is no -alert-webhook-url"
        : undefined,
  },
];

/** The address itself is not told: it may be a secret. */
function checkUrl(url: string): string | undefined {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return undefined;
  return "Cannot use the address of alerts: expected http://… or https://…";
}

/** The library's options of alerts. */
export function alertsOf(
  settings: Omit<AlertOptionSettings, "alertDedupWindowMs" | "busSilenceTimeoutMs">,
  instanceId: string | undefined,
): AlertSettings {
  return definedOnly<AlertSettings>({
    urls: settings.alertWebhookUrls,
    secret: settings.alertWebhookSecret,
    timeoutMs: settings.alertTimeoutMs,
    maxAgeMs: settings.alertMaxAgeMs,
    maxAlerts: settings.alertQueueSize,
    instanceId,
  });
}
