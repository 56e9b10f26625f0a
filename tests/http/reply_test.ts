import assert from "node:assert/strict";
import { jsonList, slices } from "../../src/http/reply.ts";

const ITEMS = 40;

Deno.test("a list whose items take long to make lets other work have its turn, even when read all at once", async () => {
  let made = 0;
  function* slowly(): Generator<number> {
    while (made < ITEMS) {
      const readyMs = performance.now() + 1;
      while (performance.now() < readyMs);
      yield made++;
    }
  }
  const reading = jsonList(slowly()).json();
  const madeBefore = await new Promise<number>((resolve) => setTimeout(() => resolve(made)));
  assert.ok(madeBefore < ITEMS / 2, `${madeBefore} of ${ITEMS} were made before a timer had its turn`);
  assert.deepEqual(await reading, Array.from({ length: ITEMS }, (_, index) => index));
});

Deno.test("a list of nothing is an empty list", async () => {
  assert.deepEqual(await jsonList([]).json(), []);
});

Deno.test("a list is as it was given, however many slices it takes", async () => {
  const items = Array.from({ length: 20_000 }, (_, index) => ({ index, text: `"${index}"` }));
  assert.deepEqual(await jsonList(items).json(), items);
});

Deno.test("a list can be a member of an object, with something in it and with nothing", async () => {
  assert.equal(await jsonList([1, "2"], { member: "boats" }).text(), `{"boats":[1,"2"]}`);
  assert.equal(await jsonList([], { member: "boats" }).text(), `{"boats":[]}`);
});

Deno.test("texts that are empty are work, not the end: other work has its turn, and the body is whole", async () => {
  let made = 0;
  function* slowly(): Generator<string> {
    for (; made < ITEMS; made++) {
      const readyMs = performance.now() + 1;
      while (performance.now() < readyMs);
      yield "";
    }
    yield "done";
  }
  const reading = new Response(slices(slowly())).text();
  const madeBefore = await new Promise<number>((resolve) => setTimeout(() => resolve(made)));
  assert.ok(madeBefore < ITEMS / 2, `${madeBefore} of ${ITEMS} were made before a timer had its turn`);
  assert.equal(await reading, "done");
});

Deno.test("whoever takes no more of a body ends what makes it", async () => {
  let ended = false;
  function* endless(): Generator<string> {
    try {
      for (;;) yield "x".repeat(1000);
    } finally {
      ended = true;
    }
  }
  const reader = slices(endless()).getReader();
  await reader.read();
  await reader.cancel();
  assert.ok(ended);
});
