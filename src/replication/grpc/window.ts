import { EventEmitter } from "node:events";
import type { Http2Session } from "node:http2";
import { property } from "./grpc.ts";

/**
 * Receive window for a connection, bytes. The default of 64 KiB limits a link to 64 KiB per round trip: at 150 ms, to a
 * third of 10 Mbit/s. A stalled reader costs this much memory.
 */
export const RECEIVE_WINDOW_BYTES = 1024 * 1024;

const widened = new WeakSet<object>();

/**
 * Enlarges the receive window of the connection of an incoming call. The library has an option for clients only and
 * does not expose the connection, so this searches for it property the call. If not found, the connection is slower but
 * correct.
 */
export function widenWindow(call: object): void {
  const session = sessionOf(call);
  if (!isSession(session) || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: RECEIVE_WINDOW_BYTES });
  session.setLocalWindowSize(RECEIVE_WINDOW_BYTES);
}

/** Calls `done` when the HTTP/2 stream of a call closes; immediately if it is closed already or not found. */
export function onClose(call: object, done: () => void): void {
  const stream = streamOf(call);
  if (stream instanceof EventEmitter && property(stream, "destroyed") !== true) stream.once("close", done);
  else done();
}

/** Time for the peer to read the last answer, milliseconds. */
const GRACE_MS = 500;
const closing = new WeakSet<object>();

/** Resets a refused call and closes its connection after {@linkcode GRACE_MS}, so that the peer can read the answer. */
export function closeSoon(call: object): void {
  callMethod(streamOf(call), "close");
  const session = sessionOf(call);
  if (!(session instanceof EventEmitter) || closing.has(session)) return;
  closing.add(session);
  const timer = setTimeout(() => callMethod(session, "destroy"), GRACE_MS);
  session.once("close", () => clearTimeout(timer));
}

function callMethod(value: unknown, method: "close" | "destroy"): void {
  const work = property(value, method);
  if (typeof work === "function") work.call(value);
}

/** A property of the socket of an incoming call. */
export function socketProperty(call: object, name: string): unknown {
  return property(property(sessionOf(call), "socket"), name);
}

function sessionOf(call: object): unknown {
  return property(streamOf(call), "session");
}

/** The HTTP/2 stream of a call, also of one that is wrapped by interceptors. */
function streamOf(call: object): unknown {
  let base: unknown = property(call, "call") ?? call;
  for (let next = property(base, "nextCall"); next !== undefined; next = property(base, "nextCall")) base = next;
  return property(base, "stream");
}

function isSession(value: unknown): value is Pick<Http2Session, "settings" | "setLocalWindowSize"> & object {
  return typeof property(value, "settings") === "function" &&
    typeof property(value, "setLocalWindowSize") === "function";
}
