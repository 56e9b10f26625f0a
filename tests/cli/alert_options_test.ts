import assert from "node:assert/strict";
import { alertChecks, alertOptions, type AlertOptionSettings } from "../../cli/settings/alert_options.ts";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { formatValue, parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import { ALERT_DEFAULTS } from "../../src/integrations/alerts/alerts.ts";
import { needs } from "../support/needs.ts";
import { mdnsChecks, mdnsOptions, type MdnsSettings } from "../../cli/settings/mdns_options.ts";

/** The file's parser asks for the home directory. */
const HOCON = needs({ permissions: ["env", "read", "sys"] });

function resolve(...args: string[]) {
  const { flags, error } = parseCommandLine(args, alertOptions);
  assert.equal(error, undefined);
  return resolveSettings<AlertOptionSettings>(alertOptions, { flags, checks: alertChecks });
}

function problems(...args: string[]): string[] {
  return resolve(...args).problems.map(({ severity, name, message }) => `${severity} ${name}: ${message}`);
}

Deno.test("without settings alerts are those of the library, go nowhere, and silence is nothing to tell", () => {
  const { dedupWindowMs, timeoutMs, maxAgeMs, maxAlerts } = ALERT_DEFAULTS;
  assert.deepEqual(resolve().settings, {
    alertWebhookUrls: [],
    alertWebhookSecret: "",
    alertDedupWindowMs: dedupWindowMs,
    alertTimeoutMs: timeoutMs,
    alertMaxAgeMs: maxAgeMs,
    alertQueueSize: maxAlerts,
    busSilenceTimeoutMs: undefined,
  });
});

Deno.test("alerts go to several addresses, which are printed nowhere", () => {
  const urls = ["https://example.com/a,b?key=sesame", "http://10.0.0.1:1880/alerts"];
  const { settings } = resolve(...urls.flatMap((url) => ["-alert-webhook-url", url]), "-bus-silence-timeout", "PT30S");
  assert.deepEqual(settings?.alertWebhookUrls, urls);
  assert.equal(settings.busSilenceTimeoutMs, 30_000);
  assert.equal(formatValue(alertOptions.alertWebhookUrls, settings.alertWebhookUrls), "****");
  assert.equal(alertOptions.alertWebhookSecret.secret, true);
});

Deno.test("what cannot be an address is refused without being told", () => {
  for (const url of ["sesame", "ftp://example.com/sesame", "", "//sesame"]) {
    assert.deepEqual(problems("-alert-webhook-url", url), [
      "error alert-webhook-url: Cannot read the value, which is secret",
    ]);
  }
  const nine = Array.from({ length: 9 }, (_, i) => ["-alert-webhook-url", `http://127.0.0.1/${i}`]).flat();
  assert.deepEqual(problems(...nine), [
    "error alert-webhook-url: Cannot send alerts to 9 URLs: expected at most 8",
  ]);
});

Deno.test("a secret without an address, and a queue too short for one alert on its way, are told", () => {
  assert.deepEqual(problems("-alert-webhook-secret", "x"), [
    "warning alert-webhook-secret: Not used without -alert-webhook-url",
  ]);
  assert.deepEqual(problems("-alert-queue-size", "1"), [
    'error alert-queue-size: Cannot read the number "1": expected a whole number from 2 to 4096',
  ]);
});

Deno.test("the configuration file has the same settings", HOCON, async () => {
  const text = `
    alert { webhook-url = ["http://a/x", "http://b/y"], webhook-secret = s, dedup-window = PT1M, queue-size = 10 }
    bus-silence-timeout = 0
  `;
  const { values, unknown } = flattenConfig(await parseHocon(text), alertOptions);
  assert.deepEqual(unknown, []);
  const { settings } = resolveSettings<AlertOptionSettings>(alertOptions, { config: values, checks: alertChecks });
  assert.deepEqual(settings?.alertWebhookUrls, ["http://a/x", "http://b/y"]);
  assert.equal(settings.alertWebhookSecret, "s");
  assert.equal(settings.alertDedupWindowMs, 60_000);
  assert.equal(settings.alertQueueSize, 10);
  assert.equal(settings.busSilenceTimeoutMs, undefined);
});

function resolveMdns(...args: string[]) {
  const { flags, error } = parseCommandLine(args, mdnsOptions);
  assert.equal(error, undefined);
  return resolveSettings<MdnsSettings>(mdnsOptions, { flags, checks: mdnsChecks });
}

Deno.test("the server is announced by the machine's name unless it is told otherwise", () => {
  assert.deepEqual(resolveMdns().settings, { mdns: true, mdnsName: "", mdnsLplex: false });
  assert.deepEqual(resolveMdns("-mdns=false").settings, { mdns: false, mdnsName: "", mdnsLplex: false });
  assert.deepEqual(resolveMdns("-mdns-name", "Étoile du Nord").settings, {
    ...{ mdns: true, mdnsName: "Étoile du Nord", mdnsLplex: false },
  });
});

Deno.test("a name that DNS cannot carry is refused, and one that is not used is told", () => {
  for (const name of ["a.b", "x".repeat(64), " "]) {
    const { settings, problems } = resolveMdns("-mdns-name", name);
    assert.equal(settings, undefined);
    assert.match(problems[0]?.message ?? "", /Cannot use the name/);
  }
  const { settings, problems } = resolveMdns("-mdns=false", "-mdns-name", "aurora");
  assert.equal(settings?.mdnsName, "aurora");
  assert.deepEqual(problems.map(({ severity }) => severity), ["warning"]);
});

Deno.test("the file has a switch and a name, which do not take each other's place", HOCON, async () => {
  const { values, unknown } = flattenConfig(await parseHocon('mdns = false, mdns-name = "aurora"'), mdnsOptions);
  assert.deepEqual(unknown, []);
  const { settings } = resolveSettings<MdnsSettings>(mdnsOptions, { config: values, checks: mdnsChecks });
  assert.deepEqual(settings, { mdns: false, mdnsName: "aurora", mdnsLplex: false });
});
