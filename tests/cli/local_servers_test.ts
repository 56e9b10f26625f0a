import assert from "node:assert/strict";
import { chooseServer, type Discover } from "../../cli/client/boat_choice.ts";
import { EMPTY_CONFIG } from "../../cli/client/client_config.ts";
import type { ServerChoice } from "../../cli/client/client_options.ts";
import { checkServer } from "../../cli/commands/doctor/server.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";
import { taskArgs } from "../support/task.ts";

const NET = needs({ permissions: ["net"] });
const NOTHING: ServerChoice = {
  server: undefined,
  boat: undefined,
  token: undefined,
  cloud: false,
  config: undefined,
  mdnsTimeoutMs: undefined,
};
/** Nothing is on the network. */
const discover: Discover = () => Promise.resolve([]);
const CLOSED = "http://127.0.0.1:1";

/** Chooses among servers of this machine. */
async function choose(localServers: readonly string[], choice: Partial<ServerChoice> = {}) {
  const notes: string[] = [];
  const note = (text: string) => void notes.push(text);
  const parts = { config: EMPTY_CONFIG, discover, localServers, note };
  const { client, serverText } = await chooseServer({ ...NOTHING, ...choice }, parts);
  return { client, serverText: serverText(), notes };
}

/** A server that answers some paths with JSON. */
function answering(answers: Record<string, unknown>): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, ({ url }) => {
    const { pathname } = new URL(url);
    return Object.hasOwn(answers, pathname) ? Response.json(answers[pathname]) : new Response("", { status: 404 });
  });
}

/** A cloud with these boats. */
function cloudOf(...ids: string[]) {
  return answering({
    "/healthz": { status: "ok", instances_total: ids.length, instances_connected: 0, components: {} },
    "/instances": { instances: ids.map((id) => ({ id })) },
    ...Object.fromEntries(ids.map((id) => [`/instances/${id}/devices`, []])),
  });
}

const urlOf = ({ addr }: Deno.HttpServer<Deno.NetAddr>) => `http://127.0.0.1:${addr.port}`;

Deno.test("with nothing on the network a boat server of this machine is asked, and that is said", NET, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  const { client, serverText, notes } = await choose([CLOSED, boat.url], { token: "secret" });
  assert.equal(serverText, `this machine (${boat.url})`);
  assert.deepEqual(notes, [`no boat server was found on the network: using ${boat.url} on this machine`]);
  assert.deepEqual(await client.devices(), []);
});

Deno.test("of a cloud on this machine the only boat is asked; of several one has to be named", NET, async () => {
  await using cloud = cloudOf("demo");
  const { client, serverText } = await choose([CLOSED, urlOf(cloud)]);
  assert.equal(serverText, `this machine (${urlOf(cloud)}/instances/demo)`);
  assert.deepEqual(await client.devices(), []);
  await using several = cloudOf("a", "b");
  await assert.rejects(choose([urlOf(several)]), {
    message: `The cloud on this machine has several boats, "a", "b": -server ${urlOf(several)}/instances/a names one`,
  });
});

Deno.test("servers of others on this machine are not taken for boats, and what was tried is said", NET, async () => {
  await using other = answering({ "/healthz": { status: "ok" } });
  await using empty = cloudOf();
  const tried = [CLOSED, urlOf(other), urlOf(empty)];
  await assert.rejects(choose(tried), {
    message: "No boat server was found on the network within 2 s, nor on this machine at " +
      `${tried.map((url) => new URL(url).host).join(", ")}: -server names one`,
  });
});

Deno.test("a boat that was named is not looked for on this machine", NET, async () => {
  await using boat = await TestBoat.start();
  await assert.rejects(choose([boat.url], { boat: "aurora" }), /Boat "aurora" was not found on the network/);
});

Deno.test("doctor fails when no server was found", NET, async () => {
  const found = await checkServer({ choose: async () => (await choose([CLOSED]), assert.fail()), timeoutMs: 1000 });
  assert.deepEqual(found.map(({ name, state }) => [name, state]), [["server", "fail"]]);
});

const NAMESPACE = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["unshare", "ip", "sh"],
  others: { "user namespaces": canUnshare() },
});

function canUnshare(): boolean {
  try {
    return new Deno.Command("unshare", { args: ["-rn", "true"], stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** A boat that is in a cloud alone, with exclusions. */
const BOAT_IN_CLOUD = `
exclude-pgn = 127251
boats.aurora { mdns = nobody, cloud = "http://127.0.0.1:8080/instances/demo", exclude-pgn = [129025] }
boats.other { mdns = other, exclude-pgn = [129026] }
`;

Deno.test(
  "after the demo has started, vbg finds it without a word, and by its name in its cloud, with all exclusions",
  NAMESPACE,
  () =>
    inFolder(async (folder) => {
      // Ports 8089 and 8080 of a network of its own.
      const line = (words: string[]) => [Deno.execPath(), ...words].map((word) => `'${word}'`).join(" ");
      const demo = line(taskArgs("demo", "-state-dir", `${folder}/state`));
      const vbg = (...words: string[]) => line(taskArgs("cli", ...words, "-mdns-timeout", "0.1s"));
      const config = `${folder}/mine.conf`;
      await Deno.writeTextFile(config, BOAT_IN_CLOUD);
      const values = ["values", "-raw", "-boat", "aurora", "-config", config];
      const commands = [vbg("devices"), vbg(...values), vbg(...values, "-exclude-pgn", "127250")];
      const script = `ip link set lo up; ${demo} & demo=$!; read line; ` +
        `${commands.join("; ")}; echo "CODE $?"; kill $demo; wait $demo`;
      const child = new Deno.Command("unshare", {
        args: ["-rn", "sh", "-c", script],
        env: { XDG_CONFIG_HOME: folder },
        ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
      }).spawn();
      let [out, err] = ["", ""];
      const reading = Promise.all([
        child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
          new WritableStream({ write: (text) => void (out += text) }),
        ),
        child.stderr.pipeThrough(new TextDecoderStream()).pipeTo(
          new WritableStream({ write: (text) => void (err += text) }),
        ),
      ]);
      const keys = child.stdin.getWriter();
      await eventually("the demo's last line", () => err.includes("open http://127.0.0.1:8089/ in a browser"));
      await keys.write(new TextEncoder().encode("\n"));
      await eventually("the answer", () => out.includes("CODE "));
      await keys.close();
      await child.status;
      await reading;
      assert.match(
        err,
        /vbg devices: no boat server was found on the network: using http:\/\/127\.0\.0\.1:8089 on this machine/,
      );
      const [devices = "", inCloud = "", without = "", code] = out.split("\n");
      assert.equal(code, "CODE 0");
      assert.ok(JSON.parse(devices).length > 0);
      const pgns = (text: string) => {
        const found: { values: { pgn: number }[] }[] = JSON.parse(text);
        const all = new Set(found.flatMap(({ values }) => values.map(({ pgn }) => pgn)));
        return [127250, 127251, 129025, 129026, 130306].filter((pgn) => all.has(pgn));
      };
      // The boat is not on the network: its cloud answers. Exclusions of all boats, of this one and of the flag add up.
      assert.deepEqual([pgns(inCloud), pgns(without)], [[127250, 129026, 130306], [129026, 130306]]);
      const text = err.trimEnd().split("\n");
      const last = text.findIndex((each) => each.includes("open http://127.0.0.1:8089/"));
      assert.ok(text.slice(last + 1).every((each) => !each.includes("listening")), "nothing about addresses follows");
    }),
);
