import assert from "node:assert/strict";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";

const NET = needs({ permissions: ["net"] });
const SEND = ["send", "-pgn", "127250", "-data", "00"];
const tokens = [accessToken("reader", "secret", ["read"])];

interface Refused {
  boat: TestBoatOptions;
  args: string[];
  /** What is told behind the request and its status. */
  words: RegExp;
}

const REFUSALS: readonly Refused[] = [
  {
    boat: {},
    args: SEND,
    words: /403 send is disabled; a boat server sends with -send-enabled; clouds and simulations never do$/,
  },
  {
    boat: { sendEnabled: true, readOnly: true },
    args: SEND,
    words: /403 the server is in read-only mode; the boat server was started with -read-only$/,
  },
  { boat: { tokens }, args: ["devices"], words: /401 This request needs a token: .*; use -token or VBG_TOKEN$/ },
  {
    boat: { tokens, sendEnabled: true },
    args: [...SEND, "-token", "secret"],
    words: /403 The token "reader" does not have the scope "send"; use another with -token or VBG_TOKEN$/,
  },
  { boat: {}, args: ["history"], words: /503 Recording is off: see -journal-dir$/ },
];

Deno.test("what a server refuses is one line that says what to do about it, and code 1", NET, async () => {
  for (const { boat: options, args, words } of REFUSALS) {
    await using boat = await TestBoat.start(options);
    const { code, out, err } = await runCommand([...args, "-server", boat.url]);
    assert.deepEqual([code, out, err.split("\n").length], [1, "", 2], err);
    assert.match(err, /^vbg \w+: (GET|POST) http:/);
    assert.match(err.trimEnd(), words);
  }
});

Deno.test("too many messages are told with the time when there is room again", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true, sendRateLimit: 0.001, sendRateBurst: 1 });
  assert.equal((await runCommand([...SEND, "-server", boat.url])).code, 0);
  const { code, err } = await runCommand([...SEND, "-server", boat.url]);
  assert.equal(code, 1);
  assert.match(err, /: 429 .*; try again in (?:9\d\d|1000) s\n$/);
});

Deno.test("an address with nothing behind it, and one of no server, are told", NET, async () => {
  await using boat = await TestBoat.start();
  const { err } = await runCommand(["devices", "-server", `${boat.url}/instances`]);
  assert.match(
    err,
    /: 404 There is nothing at ".*; is this the address of a boat, or of a boat in a cloud \(https:.*\)\?\n$/,
  );
  using nobody = HeldPort.take();
  const { port } = nobody;
  for (const command of ["devices", "values", "history", "top"]) {
    const { code, out, err } = await runCommand([command, "-server", `http://127.0.0.1:${port}`]);
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^vbg \w+: GET http:.*: the server cannot be reached: .*[Rr]efused.*\n$/);
  }
});

Deno.test("the page of another server is not shown, its status is", NET, async () => {
  const page = "<html>\n<h1>It works!</h1>\n</html>\n";
  const listen = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  await using server = Deno.serve(listen, () => new Response(page, { status: 404, statusText: "Not Found" }));
  const url = `http://127.0.0.1:${server.addr.port}`;
  for (const command of [["devices"], ["dump", "-reconnect=false"], ["tail"]]) {
    const { code, err } = await runCommand([...command, "-server", url]);
    assert.equal(code, 1);
    assert.match(err, /^vbg \w+: GET http:[^ ]+: 404 Not Found; is this the address of a boat, .*\n$/);
  }
  const { err } = await runCommand(["devices", "-server", url.replace("http:", "https:")]);
  assert.match(err, /: the server cannot be reached: .*; try http:\/\/\n$/);
});
