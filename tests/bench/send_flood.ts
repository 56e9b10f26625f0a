// Clients that post messages to the server on a port as fast as it answers: PORT CLIENTS. Runs until it is ended.
const [port = 0, clients = 0] = Deno.args.map(Number);
const BODY = JSON.stringify({ pgn: 127250, data: "0011223344556677" });

async function flood(): Promise<void> {
  for (;;) {
    const reply = await fetch(`http://127.0.0.1:${port}/send`, { method: "POST", body: BODY });
    await reply.body?.cancel();
  }
}

for (let i = 0; i < clients; i++) void flood();
console.log("flooding");
