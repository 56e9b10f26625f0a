import assert from "node:assert/strict";
import { startAdvised } from "../../cli/program/server_start.ts";
import { BusError, ListenError } from "../../mod.ts";

Deno.test("what keeps a server from starting is told with what to do, where that is known", () => {
  const told = (error: unknown) => (error instanceof Error ? error.message : String(error));
  assert.equal(
    told(startAdvised(new BusError('Cannot open bus "can0": no such interface'))),
    'Cannot open bus "can0": no such interface; "ip link" lists those there are, -demo needs none',
  );
  assert.equal(
    told(startAdvised(new ListenError("Cannot listen on [::]:8089: the port is taken"))),
    "Cannot listen on [::]:8089: the port is taken; -port or -listen names another",
  );
  for (const other of [new BusError("Cannot open bus: it is open"), new Error("the port is taken"), "text"]) {
    assert.equal(startAdvised(other), other);
  }
});
