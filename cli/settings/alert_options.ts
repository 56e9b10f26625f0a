import type { AlertSettings } from "@vessel/gateway/boat";
import { offAtZero, OptionGroup, reloadable } from "./option_types.ts";
import { type Check, definedOnly, refuse, type SettingsOf, warn } from "./options.ts";

const alerts = new OptionGroup("Alerts", { section: "alert" });
const MAX_RECEIVERS = 8;
const DAY_MS = 86_400_000;

/** Options of alerts. */
export const alertOptions = {
  alertWebhookUrls: alerts.list({
    name: "alert-webhook-url",
    placeholder: "URL",
    secret: true,
    help:
      "URL that receives a POST of JSON for each alert and for its end: a silent, bus-off or down bus, a missing device, a " +
      "failing part of the server. Repeat the flag for several. Alerts are always logged as well.",
    validate: checkUrl,
  }),
  alertWebhookSecret: alerts.text({
    name: "alert-webhook-secret",
    placeholder: "KEY",
    secret: true,
    help: "Key of the header X-Vbg-Signature: sha256= and the HMAC-SHA256 of the body in hex. Prefer " +
      "VBG_ALERT_WEBHOOK_SECRET: other users can see command lines.",
  }),
  alertDedupWindowMs: reloadable(alerts.duration({
    name: "alert-dedup-window",
    default: 5 * 60_000,
    help: "Least time from one alert to the next of the same subject; then its state is reported if it has changed.",
  })),
  alertTimeoutMs: alerts.duration({
    name: "alert-timeout",
    beyond: "The attempt fails; the alert is sent again later.",
    default: 10_000,
    minMs: 1,
    maxMs: 3_600_000,
    help: "Longest wait for the reply to an alert. A failed delivery is retried after 1 s, doubling to 5 minutes.",
  }),
  alertMaxAgeMs: alerts.duration({
    name: "alert-max-age",
    beyond: "The alert is discarded and counted; the next one reports how many were.",
    default: DAY_MS,
    minMs: 1,
    help: "An alert that cannot be delivered for this time is discarded. The next one reports how many were.",
  }),
  alertQueueSize: alerts.integer({
    name: "alert-queue-size",
    beyond: "The oldest alert of the same subject is discarded, else the oldest; the next one reports how many were.",
    default: 256,
    min: 2,
    max: 4096,
    help: "Most alerts that wait for one URL. Beyond it the oldest of the same subject is discarded, else the oldest.",
  }),
  busSilenceTimeoutMs: reloadable(offAtZero(alerts.duration({
    name: "bus-silence-timeout",
    default: 0,
    help: "A bus without frames for longer raises an alert. Not set or 0: off.",
  }))),
};

/** Settings of alerts. */
export type AlertOptionSettings = SettingsOf<typeof alertOptions>;

/** Checks of several settings of alerts. */
export const alertChecks: readonly Check<AlertOptionSettings>[] = [
  refuse(
    ["alertWebhookUrls"],
    ({ alertWebhookUrls: { length } }) =>
      length > MAX_RECEIVERS && `Cannot send alerts to ${length} URLs: expected at most ${MAX_RECEIVERS}`,
  ),
  warn(
    ["alertWebhookSecret", "alertWebhookUrls"],
    ({ alertWebhookSecret, alertWebhookUrls }) =>
      alertWebhookSecret !== "" && alertWebhookUrls.length === 0 && "Not used without -alert-webhook-url",
  ),
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
