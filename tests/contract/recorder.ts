import assert from "node:assert/strict";
import type { BusState } from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";

/** Longest wait for anything. */
const PATIENCE_MS = 60_000;
const POLL_MS = 10;

interface Received {
  id: number;
  data: number[];
  timeUs: number;
  monoMs: number;
}

/** A sink that remembers. */
export class Recorder {
  readonly frames: Received[] = [];
  readonly states: BusState[] = [];

  frame(frame: CanFrame): void {
    const { id, timeUs, monoMs, data, offset, length } = frame;
    this.frames.push({ id, timeUs, monoMs, data: [...data.subarray(offset, offset + length)] });
  }

  state(state: BusState): void {
    this.states.push(state);
  }

  get stateNames(): string[] {
    return this.states.map((state) => state.type === "up" ? state.controller : state.type);
  }
}

/** Polls until something holds. Fails after `patienceMs`. */
export async function until(what: string, holds: () => boolean, patienceMs = PATIENCE_MS): Promise<void> {
  const startMs = performance.now();
  while (!holds()) {
    if (performance.now() - startMs > patienceMs) assert.fail(`not within ${patienceMs} ms: ${what}`);
    await pause(POLL_MS);
  }
}

/** Runs a program to its end. */
export async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdout: "null", stderr: "piped" }).output();
  assert.ok(success, `${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** Waits. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
