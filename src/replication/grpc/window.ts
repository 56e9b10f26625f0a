import { EventEmitter } from "node:events";
import type { Http2Session } from "node:http2";

/**
 * Bytes that a boat may have under way before it hears from us. Without it there are 64 KiB, and no link carries more than
 * that in the time of one round trip: at 150 ms, a fifth of 10 Mbit/s. A stalled reader costs as much memory.
 */
export const RECEIVE_WINDOW_BYTES = 1024 * 1024;

const widened = new WeakSet<object>();

/**
 * Makes room on the connection of a call that has come in. The library has a setting for clients alone and no way to the
 * connection, so this looks for it inside the call; where it is not found, the connection stays slow and right.
 */
export function widenWindow(call: object): void {
  const session = sessionOf(call);
  if (!isSession(session) || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: RECEIVE_WINDOW_BYTES });
  session.setLocalWindowSize(RECEIVE_WINDOW_BYTES);
}

/** Calls `done` when the stream of a call has closed; at once where it is closed already, or not found. */
export function onClose(call: object, done: () => void): void {
  const stream = streamOf(call);
  if (stream instanceof EventEmitter && inside(stream, "destroyed") !== true) stream.once("close", done);
  else done();
}

/** The answer that was sent last may take so long to be read, milliseconds. */
const GRACE_MS = 500;
const closing = new WeakSet<object>();

/** Resets a call that has been refused, and closes its connection: soon, so that the answer is still read. */
export function closeSoon(call: object): void {
  run(streamOf(call), "close");
  const session = sessionOf(call);
  if (!(session instanceof EventEmitter) || closing.has(session)) return;
  closing.add(session);
  const timer = setTimeout(() => run(session, "destroy"), GRACE_MS);
  session.once("close", () => clearTimeout(timer));
}

function run(value: unknown, method: "close" | "destroy"): void {
  const work = inside(value, method);
  if (typeof work === "function") work.call(value);
}

/** A property of the connection of a call that has come in. */
export function noteOf(call: object, name: string): unknown {
  return inside(inside(sessionOf(call), "socket"), name);
}

function sessionOf(call: object): unknown {
  return inside(streamOf(call), "session");
}

/** The HTTP/2 stream of a call: of the library's own, or of one that interceptors are around. */
function streamOf(call: object): unknown {
  let base: unknown = inside(call, "call") ?? call;
  for (let next = inside(base, "nextCall"); next !== undefined; next = inside(base, "nextCall")) base = next;
  return inside(base, "stream");
}

function inside(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function isSession(value: unknown): value is Pick<Http2Session, "settings" | "setLocalWindowSize"> & object {
  return typeof inside(value, "settings") === "function" && typeof inside(value, "setLocalWindowSize") === "function";
}
