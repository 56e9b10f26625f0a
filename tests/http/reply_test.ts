import assert from "node:assert/strict";
import { jsonList } from "../../src/http/reply.ts";

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
