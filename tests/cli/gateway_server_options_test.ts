import assert from "node:assert/strict";
import {
  gatewayServerChecks,
  gatewayServerOf,
  gatewayServerOptions,
} from "../../cli/settings/gateway_server_options.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import { sendOptions } from "../../cli/settings/send_options.ts";

const OPTIONS = { ...gatewayServerOptions, ...sendOptions };

function read(...args: string[]) {
  const { flags, error } = parseCommandLine(args, OPTIONS);
  assert.equal(error, undefined);
  const { settings, problems } = resolveSettings(OPTIONS, { flags, checks: gatewayServerChecks });
  const messages = problems.map(({ severity, message }) => `${severity}: ${message}`);
  return { targets: settings && gatewayServerOf(settings)?.targets, messages };
}

Deno.test("without -gateway-listen nothing listens, and its limits are reported as not used", () => {
  assert.deepEqual(read(), { targets: undefined, messages: [] });
  assert.deepEqual(read("-gateway-max-clients", "2").messages, ["warning: Not used without -gateway-listen"]);
});

Deno.test("several ports are separated by commas or given by repeating, each with format, bus and send", () => {
  const { targets, messages } = read(
    ...["-gateway-listen", "tcp://:1457?format=ydraw&send=allow,tcp://127.0.0.1:2597?format=bst&bus=can1"],
    ...["-gateway-listen", "udp://192.168.1.255:1457?format=n2kascii", "-send-enabled"],
  );
  assert.deepEqual(messages, []);
  assert.deepEqual(targets?.map(({ hostname: _, ...rest }) => rest), [
    { protocol: "tcp", port: 1457, format: "ydraw", send: true },
    { protocol: "tcp", port: 2597, format: "bst", bus: "can1", send: false },
    { protocol: "udp", port: 1457, format: "n2kascii", send: false },
  ]);
});

Deno.test("a wrong address, format or parameter is refused, and the right one suggested", () => {
  const cases = [
    ["tcp://:1457", /the format is missing: ydraw, n2kascii, bst, candump/],
    ["tcp://:1457?format=ydrw", /there is no format "ydrw": did you mean ydraw\?/],
    ["tcp://:1457?format=actisense", /there is no format "actisense": expected ydraw, n2kascii, bst, candump/],
    ["tcp://:1457?fromat=ydraw", /there is no parameter "fromat": did you mean format\?/],
    ["tcp://:1457?format=ydraw&send=yes", /expected send=allow/],
    ["udp://192.168.1.255:1457?format=ydraw&send=allow", /nothing is received over UDP/],
    ["udp://:1457?format=ydraw", /expected udp:\/\/HOST:PORT/],
    ["http://:1457?format=ydraw", /expected tcp:\/\/:PORT or udp:\/\/HOST:PORT/],
    ["tcp://:70000?format=ydraw", /70000/],
  ] as const;
  for (const [text, expected] of cases) assert.match(read("-gateway-listen", text).messages.join(), expected, text);
});

Deno.test("send=allow without -send-enabled is a warning", () => {
  assert.deepEqual(read("-gateway-listen", "tcp://:1457?format=ydraw&send=allow").messages, [
    "warning: Clients of the gateway server cannot send: send=allow needs -send-enabled",
  ]);
});
