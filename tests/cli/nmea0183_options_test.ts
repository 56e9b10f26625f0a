import assert from "node:assert/strict";
import { nmea0183Checks, nmea0183Of, nmea0183Options } from "../../cli/settings/nmea0183_options.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";

function read(...args: string[]) {
  const { flags, error } = parseCommandLine(["-nmea0183-listen", "tcp://:10110", ...args], nmea0183Options);
  assert.equal(error, undefined);
  const { settings, problems } = resolveSettings(nmea0183Options, { flags, checks: nmea0183Checks });
  const messages = problems.map(({ severity, message }) => `${severity}: ${message}`);
  return { configuration: settings && nmea0183Of(settings), messages };
}

Deno.test("sentences and their intervals are separated by commas or given by repeating", () => {
  const { configuration, messages } = read(
    ...["-nmea0183-sentences", "RMC,XDR", "-nmea0183-sentences", "VWR,AIS"],
    ...["-nmea0183-rates", "RMC=200ms, XDR=5s", "-nmea0183-rates", "VWR=1m"],
  );
  assert.deepEqual(messages, []);
  assert.deepEqual(configuration?.sentences, ["RMC", "XDR", "VWR", "AIS"]);
  assert.deepEqual(configuration?.intervalsMs, new Map([["RMC", 200], ["XDR", 5000], ["VWR", 60_000]]));
});

Deno.test("an interval without effect is refused with the reason and what is allowed", () => {
  const only = ["-nmea0183-sentences", "HDM,MTW"];
  const cases: [string[], RegExp][] = [
    [["-nmea0183-rates", "AIS=5s"], /"AIS": AIS sentences are sent as they arrive: expected one of RMC, .*, RSA$/],
    [
      [...only, "-nmea0183-rates", "RMC=5s"],
      /"RMC": it is not sent: expected HDM, MTW, or "RMC" in -nmea0183-sentences$/,
    ],
    [["-nmea0183-rates", "VWR=5s"], /"VWR": it is not sent: expected RMC, .*, RSA, or "VWR" in -nmea0183-sentences$/],
    [["-nmea0183-sentences", "AIS", "-nmea0183-rates", "RMC=5s"], /expected "RMC" in -nmea0183-sentences$/],
    [["-nmea0183-rates", "RMC=5s,HDM=1s,RMC=2s"], /sentence "RMC" twice: expected each one once$/],
    [["-nmea0183-sentences", "HDM,MTW,HDM"], /sentence "HDM" twice: expected each one once$/],
    [["-nmea0183-rates", "RMV=5s"], /no sentence "RMV": did you mean RMC\?$/],
    [["-nmea0183-rates", "POSITION=5s"], /no sentence "POSITION": expected RMC, .*, AIS$/],
    [["-nmea0183-sentences", "POSITION"], /no sentence "POSITION": expected RMC, .*, AIS$/],
    [["-nmea0183-rates", "RMC"], /Cannot read "RMC": expected NAME=DURATION, such as RMC=500ms$/],
    [["-nmea0183-rates", "RMC=50ms"], /interval "50ms": expected 100ms to 1h$/],
  ];
  for (const [args, expected] of cases) {
    const { messages } = read(...args);
    assert.equal(messages.length, 1, args.join(" "));
    assert.match(messages.join(), /^error: /);
    assert.match(messages.join(), expected);
  }
});
