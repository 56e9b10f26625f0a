import type { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";

/** Says so many messages, and waits until they are numbered. */
export async function say(boat: TestBoat, count: number): Promise<void> {
  const head = boat.boat.broker.head + count;
  for (let i = 0; i < count; i++) boat.say();
  await eventually(`frame ${head}`, () => boat.boat.broker.head === head);
}
