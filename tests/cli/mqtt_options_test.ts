import assert from "node:assert/strict";
import { mqttChecks, mqttOf, mqttOptions } from "../../cli/settings/mqtt_options.ts";
import { formatValue, parseCommandLine, resolveSettings, SECRET_TEXT } from "../../cli/settings/options.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const FILES = needs({ permissions: ["read", "write"] });
const CERTIFICATES = needs({ permissions: ["read", "write"], programs: ["openssl"] });

function read(...args: string[]) {
  const { flags, error } = parseCommandLine(args, mqttOptions);
  assert.equal(error, undefined);
  const { settings, problems } = resolveSettings(mqttOptions, { flags, checks: mqttChecks });
  return { configuration: settings && mqttOf(settings), settings, problems };
}

const messages = (...args: string[]) =>
  read(...args).problems.map(({ severity, message }) => `${severity}: ${message}`);

Deno.test("without a broker nothing is published, and what would be set for it is told as not used", () => {
  assert.deepEqual(read(), { ...read(), configuration: undefined, problems: [] });
  assert.deepEqual(messages("-mqtt-decode"), ["warning: Not used without -mqtt-broker"]);
});

Deno.test("a broker alone has the defaults of the specification", () => {
  assert.deepEqual(read("-mqtt-broker", "mqtt://192.0.2.1").configuration, {
    url: "mqtt://192.0.2.1",
    topicPrefix: "vbg",
    clientId: "vbg-boat",
    qos: 0,
    bufferFrames: 128,
    retryMs: 5000,
    pgnTopics: false,
    decode: false,
    filter: {},
    homeAssistant: false,
  });
});

Deno.test("brokers are reached by six schemes, and by no other", () => {
  const good = ["mqtt://a", "tcp://a:1883", "mqtts://a.example", "ssl://[::1]:8883", "ws://a/mqtt?x=1", "wss://a:443/"];
  for (const url of good) assert.equal(read("-mqtt-broker", url).configuration?.url, url, url);
  for (const url of ["a", "a:1883", "http://a", "mqtt://", "mqtt://a:99999", "mqtt://a/b", "mqtt://a#b"]) {
    assert.match(messages("-mqtt-broker", url).join(), /^error: Cannot read the broker/, url);
  }
});

Deno.test("a broker with a password in its URL is refused without repeating it", () => {
  const [message = ""] = messages("-mqtt-broker", "mqtt://anna:geheim@a");
  assert.match(message, /^error: Cannot use a broker's URL with a user in it/);
  assert.ok(!message.includes("geheim"));
});

Deno.test("a QoS outside 0 to 2, a topic with wildcards and a PGN that is none are refused", () => {
  const broker = ["-mqtt-broker", "mqtt://a"];
  for (const [flag, value] of [["qos", "3"], ["qos", "-1"], ["topic-prefix", "a/#"], ["topic-prefix", "+"]]) {
    assert.equal(messages(...broker, `-mqtt-${flag}`, `${value}`).length, 1, `${flag} ${value}`);
  }
  for (
    const [flag, value] of [["topic-prefix", "a b"], ["topic-prefix", "a/"], ["filter", "heading"], ["buffer", "100"]]
  ) {
    assert.equal(messages(...broker, `-mqtt-${flag}`, `${value}`).length, 1, `${flag} ${value}`);
  }
  assert.deepEqual(read(...broker, "-mqtt-filter", "127250,129025").configuration?.filter, { pgn: [127250, 129025] });
});

Deno.test("the password is the first line of its file, and never printed", FILES, () =>
  inFolder(async (folder) => {
    const path = `${folder}/password`;
    await Deno.writeTextFile(path, "geheim\nmore");
    const user = ["-mqtt-broker", "mqtts://a", "-mqtt-username", "anna"];
    const { configuration, problems } = read(...user, "-mqtt-password-file", path);
    assert.deepEqual([configuration?.username, configuration?.password], ["anna", "geheim"]);
    assert.deepEqual(problems, []);
    assert.equal(formatValue(mqttOptions.mqttPassword, "geheim"), SECRET_TEXT);
    assert.equal(messages(...user, "-mqtt-password-file", path, "-mqtt-password", "b").length, 1);
    assert.equal(messages(...user, "-mqtt-password-file", `${path}s`).length, 1);
    assert.deepEqual(messages("-mqtt-broker", "mqtts://a", "-mqtt-password", "b"), [
      "error: Cannot use an MQTT password without -mqtt-username",
    ]);
  }));

Deno.test("a password that goes over the network in the clear is warned of, but not on the machine itself", () => {
  const user = ["-mqtt-username", "anna", "-mqtt-password", "b"];
  assert.match(messages(...user, "-mqtt-broker", "mqtt://a").join(), /^warning: The password is sent unencrypted/);
  for (const url of ["mqtts://a", "mqtt://127.0.0.1", "ws://localhost:80"]) {
    assert.deepEqual(messages(...user, "-mqtt-broker", url), [], url);
  }
});

Deno.test(
  "certificates are read, belong together, and are used with TLS alone",
  CERTIFICATES,
  () =>
    inFolder(async (folder) => {
      const authority = await TestAuthority.make(folder);
      const own = await authority.issue("anna");
      const ca = ["-mqtt-ca-file", authority.files("authority").certPath];
      const pair = ["-mqtt-cert", own.certPath, "-mqtt-key", own.keyPath];
      const { configuration } = read("-mqtt-broker", "mqtts://a", ...ca, ...pair);
      assert.equal(configuration?.ca, authority.pem);
      assert.equal(configuration?.cert, await Deno.readTextFile(own.certPath));
      assert.match(messages("-mqtt-broker", "mqtt://a", ...ca).join(), /expected mqtts, ssl or wss/);
      assert.match(messages("-mqtt-broker", "mqtts://a", "-mqtt-cert", own.certPath).join(), /without -mqtt-key/);
      const other = ["-mqtt-cert", own.certPath, "-mqtt-key", authority.files("authority").keyPath];
      assert.match(messages("-mqtt-broker", "mqtts://a", ...other).join(), /Cannot use the certificate/);
      assert.match(
        messages("-mqtt-broker", "mqtts://a", "-mqtt-ca-file", own.keyPath).join(),
        /no certificate \(PEM\) in it/,
      );
    }),
);
