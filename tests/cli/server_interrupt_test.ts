import assert from "node:assert/strict";
import { LiveCommand } from "../support/live_command.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net"] });

/** Ends a command while a server leaves its question without an answer. Answers its exit code and its words. */
async function interrupted(args: readonly string[]): Promise<[code: number, words: string]> {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<Response>()];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
    asked.resolve();
    return answer.promise;
  });
  const command = new LiveCommand([...args, "-server", `http://127.0.0.1:${server.addr.port}`]);
  try {
    await Promise.race([asked.promise, command.code]);
    return [await command.stop(), [...command.written, ...command.complained].join("")];
  } finally {
    answer.resolve(new Response());
  }
}

Deno.test("Ctrl-C before a server has answered is exit code 130, without a word", NET, async () => {
  const questions = [
    ["send", "-pgn", "127250", "-data", "00"],
    ["request", "-pgn", "127250"],
    ["devices"],
    ["values"],
    ["history"],
    ["pgns"],
  ];
  for (const args of questions) assert.deepEqual(await interrupted(args), [130, ""], args.join(" "));
});

Deno.test("Ctrl-C is the good end of what goes on until then, also before the first answer", NET, async () => {
  const endless = [["devices", "-watch"], ["values", "-watch"], ["top"], ["tail"], ["dump"]];
  for (const args of endless) assert.deepEqual(await interrupted(args), [0, ""], args.join(" "));
});
