import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";

interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  parameter?: string;
}

const BAD_NUMBERS: [what: string, value: string][] = [
  ["nothing", ""],
  ["a sign", "-1"],
  ["a plus sign", "%2B1"],
  ["hex", "0x10"],
  ["a fraction", "1.0"],
  ["an exponent", "1e3"],
  ["a word", "abc"],
  ["a space", "%201"],
  ["a comma list", "1,2"],
  ["many digits", "99999999999999999999"],
  ["a line break", "1%0a"],
  ["other digits", "%D9%A1"],
];
const BAD_NAMES: [what: string, value: string][] = [
  ["nothing", ""],
  ["a word", "xyz"],
  ["the prefix alone", "0x"],
  ["17 digits", "0x00000000000000001"],
  ["a sign", "-1"],
  ["an underscore", "0x00a1_b2c3"],
];
const BAD_FLAGS: [what: string, value: string][] = [["nothing", ""], ["maybe", "maybe"], ["1", "1"], ["TRUE", "TRUE"]];

/** [parameter, what is wrong with it, value] */
const FILTER_ROWS: [string, string, string][] = [
  ...["pgn", "exclude_pgn"].flatMap((name) =>
    [...BAD_NUMBERS, ["more than 32 bits", "4294967296"]].map(([what = "", value = ""]): [string, string, string] => [
      name,
      what,
      value,
    ])
  ),
  ...[...BAD_NUMBERS, ["253", "253"], ["255", "255"]].map(([what = "", value = ""]): [string, string, string] => [
    "instance",
    what,
    value,
  ]),
  ...["name", "exclude_name"].flatMap((name) =>
    BAD_NAMES.map(([what, value]): [string, string, string] => [name, what, value])
  ),
  ["manufacturer", "nothing", ""],
  ["bus", "nothing", ""],
];
const decode = BAD_FLAGS.map(([what, value]): [string, string, string] => ["decode", what, value]);
const devices = BAD_FLAGS.map(([what, value]): [string, string, string] => ["devices", what, value]);
const batches = [...BAD_NUMBERS, ["1001", "1001"]].map(([what = "", value = ""]): [string, string, string] => [
  "batch_ms",
  what,
  value,
]);

/** Good values, to stand beside the bad one. */
const GOOD: Record<string, string> = {
  pgn: "127250",
  exclude_pgn: "0",
  instance: "252",
  name: "0x00A1",
  exclude_name: "a1",
  manufacturer: "Garmin",
  bus: "can0",
  decode: "true",
  devices: "false",
  batch_ms: "1000",
};
const UPGRADE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

for (
  const [path, rows, headers] of [
    ["/values", FILTER_ROWS, {}],
    ["/values/decoded", FILTER_ROWS, {}],
    ["/events", [...FILTER_ROWS, ...decode, ...devices, ...batches], {}],
    ["/ws", [...FILTER_ROWS, ...decode], UPGRADE],
  ] as const
) {
  Deno.test(`${path} answers a query parameter that cannot be read with a problem that names it`, async (t) => {
    await using boat = await TestBoat.start();
    for (const [parameter, what, value] of rows) {
      await t.step(`${parameter}: ${what}`, async () => {
        const good = `${parameter}=${GOOD[parameter]}`;
        for (
          const query of [`${parameter}=${value}`, `${good}&${parameter}=${value}`, `${parameter}=${value}&${good}`]
        ) {
          const reply = await boat.raw(`${path}?${query}`, { headers });
          assert.equal(reply.status, 400, query);
          assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
          const problem: Problem = JSON.parse(await reply.text());
          assert.deepEqual(Object.keys(problem), ["type", "title", "status", "detail", "parameter"]);
          assert.equal(problem.parameter, parameter);
          assert.equal(problem.status, 400);
          assert.equal(problem.title, "Bad Request");
          assert.ok(problem.detail.startsWith(`Query parameter "${parameter}": `), problem.detail);
        }
      });
    }
  });
}

Deno.test("/pgns/{pgn} answers a number that cannot be read with a problem that names it", async (t) => {
  await using boat = await TestBoat.start();
  for (const [what, value] of [...BAD_NUMBERS.filter(([what]) => what !== "nothing"), ["33 bits", "4294967296"]]) {
    await t.step(what ?? "", async () => {
      const reply = await boat.raw(`/pgns/${value}`);
      assert.equal(reply.status, 400);
      assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
      const problem: Problem = JSON.parse(await reply.text());
      assert.deepEqual(Object.keys(problem), ["type", "title", "status", "detail", "parameter"]);
      assert.equal(problem.parameter, "pgn");
      assert.ok(problem.detail.startsWith(`Path parameter "pgn": expected a whole number`), problem.detail);
      assert.doesNotMatch(problem.detail, /repeat/);
    });
  }
});

Deno.test("every good value, alone and repeated, is taken", async () => {
  await using boat = await TestBoat.start();
  for (const [parameter, value] of Object.entries(GOOD)) {
    const reply = await boat.raw(`/events?${parameter}=${value}&${parameter}=${value}`, { method: "HEAD" });
    assert.equal(reply.status, 200, parameter);
  }
  for (const pgn of ["0", "4294967295", "0000000001"]) assert.equal((await boat.raw(`/values?pgn=${pgn}`)).status, 200);
});

Deno.test("a parameter that nobody knows is refused by name where there are parameters, and ignored elsewhere", async () => {
  await using boat = await TestBoat.start();
  for (const parameter of ["src", "__proto__", "constructor", "pgn[]", "PGN", "manufactuer"]) {
    const reply = await boat.raw(`/values?${encodeURIComponent(parameter)}=1`);
    assert.equal(reply.status, 400, parameter);
    const problem: Problem = JSON.parse(await reply.text());
    assert.equal(problem.parameter, parameter);
    assert.match(
      problem.detail,
      /expected one of pgn, exclude_pgn, manufacturer, instance, name, exclude_name, bus, at$/,
    );
    assert.equal((await boat.raw(`/pgns?${encodeURIComponent(parameter)}=1`)).status, 200);
  }
  for (const query of ["=", "&&", "?"]) {
    assert.equal((await boat.raw(`/values?${query}`)).status, query === "?" ? 400 : 200);
  }
});

Deno.test("a list with commas is refused with the way to give several", async () => {
  await using boat = await TestBoat.start();
  const reply = await boat.raw("/values?pgn=129025,129026");
  assert.equal(reply.status, 400);
  assert.match(await reply.text(), /for several, repeat the parameter/);
});

Deno.test("an error tells of the request and never of the inside", async () => {
  await using boat = await TestBoat.start();
  const asked = [
    ...["/nowhere", "/%zz", "/%00", "/devices%2f..", "/ws", "/events?pgn=%FF", `/values?name=${"f".repeat(5000)}`],
    "/<script>alert(1)</script>",
  ];
  for (const path of asked) {
    for (const method of ["GET", "POST"]) {
      const reply = await boat.raw(path, { method });
      assert.ok(reply.status >= 400 && reply.status < 500, `${method} ${path}: ${reply.status}`);
      const text = await reply.text();
      const problem: Problem = JSON.parse(text);
      assert.equal(problem.status, reply.status);
      assert.equal(problem.type, "about:blank");
      assert.doesNotMatch(text, /\bat \/|\.ts\b|node_modules|file:|Error:|invalid_/);
      assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
    }
  }
});

Deno.test("405 and 404 say in words what is wrong", async () => {
  await using boat = await TestBoat.start();
  const detail = async (path: string, method: string) =>
    JSON.parse(await (await boat.raw(path, { method })).text()).detail;
  assert.equal(await detail("/devices", "DELETE"), `"/devices" does not support DELETE`);
  assert.equal(await detail("/nowhere", "GET"), `There is nothing at "/nowhere": see /openapi.json`);
  assert.equal(await detail("/pgns/129025", "DELETE"), `"/pgns/129025" does not support DELETE`);
  assert.equal(await detail("/pgns/1", "GET"), "PGN 1 is not described: see /pgns");
  assert.equal(
    await detail("/pgns/129025/fields", "GET"),
    `There is nothing at "/pgns/129025/fields": see /openapi.json`,
  );
});
