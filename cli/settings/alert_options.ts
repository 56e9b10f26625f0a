import type { AlertSettings } from "@vessel/gateway/boat";
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
      "URL that receives a POST of JSON for each alert and for its end: a silent, bus-off or down bus, a missing device, a " +
      "failing part of the server. Repeat the flag for several. Alerts are always logged as well.",
    group: ALERTS,
    validate: checkUrl,
  }),
  alertWebhookSecret: text({
    name: "alert-webhook-secret",
    key: "alert.webhook-secret",
    placeholder: "KEY",
    default: "",
    secret: true,
    help: "Key of the header X-Vbg-Signature: sha256= and the HMAC-SHA256 of the body in hex. Prefer " +
      "VBG_ALERT_WEBHOOK_SECRET: other users can see command lines.",
    group: ALERTS,
  }),
  alertDedupWindowMs: reloadable(duration({
    name: "alert-dedup-window",
    key: "alert.dedup-window",
    default: 5 * 60_000,
    help: "Least time from one alert to the next of the same subject; then its state is reported if it has changed.",
    group: ALERTS,
  })),
  alertTimeoutMs: duration({
    name: "alert-timeout",
    beyond: "The attempt fails; the alert is sent again later.",
    key: "alert.timeout",
    default: 10_000,
    minMs: 1,
    maxMs: 3_600_000,
    help: "Longest wait for the reply to an alert. A failed delivery is retried after 1 s, doubling to 5 minutes.",
    group: ALERTS,
  }),
  alertMaxAgeMs: duration({
    name: "alert-max-age",
    beyond: "The alert is discarded and counted; the next one reports how many were.",
    key: "alert.max-age",
    default: DAY_MS,
    minMs: 1,
    help: "An alert that cannot be delivered for this time is discarded. The next one reports how many were.",
    group: ALERTS,
  }),
  alertQueueSize: integer({
    name: "alert-queue-size",
    beyond: "The oldest alert of the same subject is discarded, else the oldest; the next one reports how many were.",
    key: "alert.queue-size",
    default: 256,
    min: 2,
    max: 4096,
    help: "Most alerts that wait for one URL. Beyond it the oldest of the same subject is discarded, else the oldest.",
    group: ALERTS,
  }),
  busSilenceTimeoutMs: reloadable(offAtZero(duration({
    name: "bus-silence-timeout",
    default: 0,
    help: "A bus without frames for longer raises an alert. Not set or 0: off.",
    group: ALERTS,
  }))),
};

/** Settings of alerts. */
export type AlertOptionSettings = SettingsOf<typeof alertOptions>;

/** Checks of several settings of alerts. */
export const alertChecks: readonly Check<AlertOptionSettings>[] = [
  {
    settings: ["alertWebhookUrls"],
    severity: "error",
    test: ({ alertWebhookUrls: { length } }) =>
      length > MAX_RECEIVERS ? `Cannot send alerts to ${length} URLs: expected at most ${MAX_RECEIVERS}` : undefined,
  },
  {
    settings: ["alertWebhookSecret", "alertWebhookUrls"],
    severity: "warning",
    test: ({ alertWebhookSecret, alertWebhookUrls }) =>
      alertWebhookSecret !== "" && alertWebhookUrls.length === 0 ? "Not used without -alert-webhook-url" : undefined,
  },
];

/** The message does not quote the URL: it may contain a secret. */
function checkUrl(url: string): string | undefined {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return undefined;
  return "Cannot use the alert URL: expected http://… or https://…";
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
