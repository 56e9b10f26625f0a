import assert from "node:assert/strict";
import { answerText, MAX_ANSWER_BYTES } from "../../cli/commands/mcp/answer.ts";
import type { InstanceStatus, Proof, QuantitySources } from "../../src/client/mod.ts";
import { CloudServer } from "../http/cloud_server.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { mcpArgs, McpProgram } from "../support/mcp.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { accessToken } from "../support/sending.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const HEADING = [0xff, 0x10, 0x27, 0xff, 0x7f, 0xff, 0x7f, 0xfd];
const READER = accessToken("all", "secret", ["read"]);
const encoder = new TextEncoder();

Deno.test("an answer has as many whole lines as fit, and the number of those that do not", () => {
  const random = new Random(1);
  let cut = 0;
  for (let round = 0; round < 300; round++) {
    const letter = random.pick(["a", "…", "°", "\u0007"]);
    const items = Array.from({ length: random.int(120) }, (_, i) => `${i} ${letter.repeat(random.int(100))}`);
    const lines = answerText({ head: "Head", items, narrow: "ask for less" }).split("\n");
    const text = lines.join("\n");
    assert.ok(encoder.encode(text).length <= MAX_ANSWER_BYTES);
    assert.equal(lines.shift(), "Head");
    const clean = items.map((item) => item.replaceAll("\u0007", "\\u0007"));
    if (lines.at(-1)?.startsWith("… and ")) {
      cut++;
      assert.equal(lines.pop(), `… and ${items.length - lines.length} more: ask for less`);
      const left = items.length - lines.length - 1;
      const more = left === 0 ? [] : [`… and ${left} more: ask for less`];
      const longer = ["Head", ...clean.slice(0, lines.length + 1), ...more].join("\n");
      assert.ok(encoder.encode(longer).length > MAX_ANSWER_BYTES, "one more line would fit");
    }
    assert.deepEqual(lines, clean.slice(0, lines.length));
    if (!text.includes("ask for less")) assert.equal(lines.length, items.length);
  }
  assert.ok(cut > 50 && cut < 250, `${cut}`);
  const long = answerText({ head: "x".repeat(9000), items: ["y".repeat(9000)], narrow: "" }).split("\n");
  assert.deepEqual(long.map((line) => [line.length, line.at(-1)]), [[600, "…"], [600, "…"]]);
});

Deno.test(
  "vbg mcp: wrong names and arguments are errors of the tool in one sentence, and it goes on",
  RUN,
  async () => {
    await using boat = await TestBoat.start();
    await using mcp = await McpProgram.start(["-server", boat.url]);
    for (
      const [tool, input, expected] of [
        ["send", {}, /^There is no tool "send": the tools are devices, values, series_summary, voyages, health, gaps$/],
        [
          "values",
          { at: "yesterday" },
          /^Cannot call values: at: Cannot read the time "yesterday": expected RFC 3339, /,
        ],
        ["values", { pgn: 262144 }, /^Cannot call values: pgn: .*262143/],
        ["values", { pgn: "127250" }, /^Cannot call values: pgn: .*expected number/],
        ["devices", { limit: 1 }, /^Cannot call devices: Unrecognized key: "limit"$/],
        ["series_summary", { from: "1h" }, /^Cannot call series_summary: field: .*expected string/],
        // Without a journal.
        ["devices", { at: "1h" }, /^GET .*\/devices: 503 Recording is off: see -journal-dir$/],
        ["series_summary", { field: "128267.depth", from: "1h" }, /^GET .*\/series: 503 .*-journal-dir$/],
        ["voyages", { from: "1h" }, /^GET .*\/voyages: 503 .*-journal-dir$/],
      ] as const
    ) {
      assert.match(await mcp.failure(tool, input), expected);
    }
    assert.deepEqual(await mcp.read("devices"), ["0 devices now, by bus and address"]);
  },
);

Deno.test(
  "vbg mcp: times before the recording and in the future, and unknown fields, are the server's own refusals",
  RUN,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ journal, stateDirectory: folder });
      boat.say();
      await eventually("the message", () => boat.boat.broker.head === 1);
      await using mcp = await McpProgram.start(["-server", boat.url]);
      const at = "2020-01-01T00:00:00Z";
      const nothing = /: 404 Nothing was recorded at 2020-01-01T00:00:00\.000Z or before$/;
      assert.match(await mcp.failure("devices", { at }), nothing);
      assert.match(await mcp.failure("values", { at, pgn: 127250 }), nothing);
      assert.match(await mcp.failure("values", { at: "2100-01-01T00:00:00Z" }), /: 400 .* is in the future$/);
      const [from, to] = [at, "2020-01-02T00:00:00Z"];
      assert.match(
        await mcp.failure("series_summary", { field: "128267.deep", from, to }),
        /\/series: 400 Query parameter "field": /,
      );
      assert.match(
        await mcp.failure("series_summary", { field: "128267.depth", from: to, to: from }),
        /\/series: 400 /,
      );
      const empty = `No values of 128267.depth were recorded from ${
        from.replace("Z", ".000Z")
      } to 2020-01-02T00:00:00.000Z`;
      assert.deepEqual(await mcp.read("series_summary", { field: "128267.depth", from, to }), [empty]);
    }),
);

Deno.test("vbg mcp: a server that is away is an error of each call, until it is there", RUN, async () => {
  const held = HeldPort.take();
  await using mcp = await McpProgram.start(["-server", `127.0.0.1:${held.port}`]);
  for (const tool of ["devices", "values", "health", "gaps"]) {
    assert.match(await mcp.failure(tool), /^GET http:.* cannot be reached: .*refused/);
  }
  await using boat = await TestBoat.start({ port: held.port });
  boat.claim(7, { manufacturerCode: 229 });
  await eventually("the claim", () => boat.boat.broker.head === 1);
  assert.equal((await mcp.read("devices")).length, 2);
  await using nobody = await McpProgram.start(["-boat", "nobody-has-this-name", "-mdns-timeout", "1ms"]);
  assert.match(await nobody.failure("devices"), /^Boat "nobody-has-this-name" was not found on the network/);
  assert.equal(nobody.log, "");
});

Deno.test(
  "vbg mcp: standard output has the protocol only, one message a line, also when its input is wrong",
  RUN,
  async () => {
    await using boat = await TestBoat.start();
    const command = new Deno.Command(Deno.execPath(), {
      args: mcpArgs("-server", boat.url),
      ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    });
    const child = command.spawn();
    const writer = child.stdin.getWriter();
    const write = (message: unknown) => writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
    const clientInfo = { name: "test", version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    await write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await write({ jsonrpc: "2.0", method: "notifications/initialized" });
    await writer.write(encoder.encode("this is no JSON\n"));
    await write({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "nothing" } });
    await write({ jsonrpc: "2.0", id: 3, method: "resources/list" });
    await write({ jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "health" } });
    const answers = new Map<number, { result?: unknown; error?: { code: number } }>();
    let rest = "";
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const message: { jsonrpc: string; id: number; result?: unknown; error?: { code: number } } = JSON.parse(line);
        assert.equal(message.jsonrpc, "2.0", line);
        answers.set(message.id, message);
      }
      // The end of its input ends it.
      if (answers.size === 4) await writer.close();
    }
    assert.equal(rest, "");
    assert.deepEqual([...answers.keys()].sort(), [1, 2, 3, 4]);
    assert.equal(answers.get(3)?.error?.code, -32601);
    assert.ok(answers.get(4)?.result);
    const errors = await new Response(child.stderr).text();
    assert.match(errors, /^vbg mcp: MCP: .*this is no/);
    assert.equal((await child.status).code, 0);
  },
);

Deno.test(
  "vbg mcp: a boat in a cloud is read as on its own server, with what the cloud lacks",
  RUN,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { tokens: [READER] });
      const lost = [{ start: 3, end: 5, reason: "deleted" }];
      const boat = await cloud.boat("aurora", { busNames: ["can0", "can1"], headSeq: 10, lost });
      boat.say({ src: 7, bus: 1, data: HEADING, timeUs: Date.now() * 1000 });
      const url = `${cloud.url}/instances/aurora`;
      const get = async <T>(path: string): Promise<T> => {
        const reply = await fetch(url + path, { headers: { Authorization: "Bearer secret" } });
        assert.equal(reply.status, 200, path);
        return await reply.json();
      };
      await using mcp = await McpProgram.start(["-server", url], { VBG_TOKEN: "secret" });
      const [, device] = await mcp.read("devices");
      assert.match(device!, /^can1 7, last message 20/);
      const heading = await eventually(
        "the heading",
        async () => (await mcp.read("values", { quantity: "heading" }))[1],
      );
      const [{ sources: [source] }] = await get<[QuantitySources]>("/sources");
      const [text, ts, , from] = heading.split(", ").slice(1);
      assert.match(text!, /^magnetic: 057\.3°M/);
      assert.deepEqual([ts, from], [source!.ts, "from can1 7"]);
      const { holes, last_seen, lag_seqs, connected } = await get<InstanceStatus>("/status");
      assert.deepEqual([holes, connected], [[{ start: 1, end: 3 }, { start: 5, end: 10 }], true]);
      const gaps = await mcp.read("gaps");
      const { missing } = await get<Proof>("/proof");
      assert.deepEqual(gaps.slice(2), [
        ...missing.map(({ count, where, reason }) => `${count} missing in the ${where}: ${reason}`),
        "frames 1 to 2: not in the cloud yet",
        "frames 5 to 9: not in the cloud yet",
        "frames 3 to 4: lost, deleted",
      ]);
      const health = await mcp.read("health");
      assert.ok(
        health.includes(`boat: connected, last message ${last_seen}, ${lag_seqs} frames behind the boat`),
        health.join("\n"),
      );
      await using without = await McpProgram.start(["-server", url]);
      assert.match(await without.failure("devices"), /: 401 .*; use -token or VBG_TOKEN$/);
      await using root = await McpProgram.start(["-server", cloud.url], { VBG_TOKEN: "secret" });
      assert.match(await root.failure("devices"), /: 404 .*boat in a cloud \(https:.*\)\?$/);
    }),
);
