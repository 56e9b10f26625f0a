import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { GatewayPeer } from "../support/gateway_peer.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { SseClient } from "../support/sse_client.ts";

const options = needs({ permissions: ["run", "read", "write", "net", "env"] });
const data = (name: string) => fileURLToPath(new URL(`../data/${name}`, import.meta.url));

function boat(...flags: string[]): Promise<TestProgram> {
  return TestProgram.start("boat", (folder) => ["-state-dir", folder, "-listen", "127.0.0.1:0", ...flags]);
}

async function component(url: string, name: string): Promise<{ status: string; message?: string }> {
  return (await (await fetch(`${url}/healthz`)).json()).components[name];
}

Deno.test(
  "a boat on a gateway over TCP: frames come, requests go out, and a gateway that was away is found again",
  options,
  async () => {
    using held = HeldPort.take();
    const peer = new GatewayPeer(undefined, held);
    try {
      await using program = await boat("-interface", `tcp://127.0.0.1:${peer.port}?name=wifi0#ydwg`, "-send-enabled");
      const url = await program.url();
      await using stream = await SseClient.open(`${url}/events`);
      await eventually("the gateway", () => peer.open === 1);
      await peer.say("17:33:21.141 R 09F80115 A0 7D E6 18 C0 05 FB D5\r\n");
      const [frame] = await stream.atLeast(1);
      assert.deepEqual([frame?.pgn, frame?.src, frame?.data], [129025, 0x15, "a07de618c005fbd5"]);
      const sent = await fetch(`${url}/send`, {
        method: "POST",
        body: '{"pgn":127250,"src":9,"data":"ff00112233445566"}',
      });
      assert.equal(sent.status, 202);
      await eventually("the message at the gateway", () => peer.text.includes("19F11209 FF 00 11 22 33 44 55 66"));
      await peer.stop();
      await eventually("the loss of the gateway", async () => (await component(url, "wifi0")).status === "unhealthy");
      peer.start();
      await eventually("the gateway again", async () => (await component(url, "wifi0")).status === "ok");
      await peer.say("17:33:22.141 R 09F80115 A0 7D E6 18 C0 05 FB D5\r\n");
      await stream.atLeast(2);
    } finally {
      await peer.stop();
    }
  },
);

Deno.test("a boat on a recording plays it, and asks nobody who he is", options, async () => {
  await using program = await boat("-interface", `file://${data("candump_sample3.txt")}?speed=0&name=tape`);
  const url = await program.url();
  await eventually(
    "all messages",
    async () => (await (await fetch(`${url}/healthz`)).json()).broker.frames_total === 1874,
  );
  const metrics = await (await fetch(`${url}/metrics`)).text();
  assert.match(metrics, /^vbg_identity_requests_total\{result="failed"\} 0$/m);
  assert.match(metrics, /^vbg_bus_send_failed_frames_total\{bus="tape"\} 0$/m);
});
