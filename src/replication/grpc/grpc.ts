import { Buffer } from "node:buffer";
import type { ChannelOptions, MethodDefinition, status } from "@grpc/grpc-js";
import { MAX_MESSAGE_BYTES } from "../wire/messages.ts";

/** The gRPC library. Loaded on demand, because it reads environment variables. */
export type Grpc = typeof import("@grpc/grpc-js");

/** Loads the gRPC library. */
export async function loadGrpc(): Promise<Grpc> {
  return await import("@grpc/grpc-js");
}

/** Name of a gRPC status, such as `UNAUTHENTICATED`. */
export type RpcCode = keyof typeof status;

/** A failed call, by its gRPC status. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Reasons for which a cloud asks its boats to connect again; they recognize the text: failures are `UNAVAILABLE`, too. */
const REQUESTS = {
  /** A balancer chooses another node. */
  draining: "the node is draining",
  /** The handshake says what the boat must send. */
  store: "the store answers again",
};

/** Error after which the boat connects again in about a second, without back-off. */
export function reconnectRequest(reason: keyof typeof REQUESTS): RpcError {
  return new RpcError("UNAVAILABLE", REQUESTS[reason]);
}

/** True for {@linkcode reconnectRequest}, also as a boat receives it. */
export function isReconnectRequest(error: unknown): boolean {
  return error instanceof RpcError && error.code === "UNAVAILABLE" && Object.values(REQUESTS).includes(error.message);
}

/** Converts an error of the library to an {@linkcode RpcError}. */
export function toRpcError(grpc: Grpc, error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const code = property(error, "code");
  const name = Object.entries(grpc.status).find(([, value]) => value === code)?.[0];
  const text = property(error, "details") ?? property(error, "message") ?? error;
  return new RpcError(isCode(grpc, name) ? name : "UNKNOWN", plainReason(String(text)));
}

/** A property of a value of unknown type; undefined if the value is no object. */
export function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

/** Error text of the library without its prefix and the parts that differ from one attempt to the next. */
export function plainReason(text: string): string {
  return text
    .replace(/^No connection established\. Last error: /, "")
    .replace(/ ?\(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "")
    .replace(/[. ]*Resolution note: *$/, "");
}

function isCode(grpc: Grpc, name: string | undefined): name is RpcCode {
  return name !== undefined && Object.hasOwn(grpc.status, name);
}

/** Name of the service: ours, or that of other software with the same protocol. */
export type ServiceName = "vessel.replication.v1.Replication" | "lplex.replication.v1.Replication";
/** Both names, ours first. */
export const SERVICE_NAMES: readonly [ours: ServiceName, peers: ServiceName] = [
  "vessel.replication.v1.Replication",
  "lplex.replication.v1.Replication",
];

/** Definition of a method. Messages are passed as bytes: our codecs report invalid ones. */
export type ByteMethod = MethodDefinition<Buffer, Buffer>;

/** Definitions of the three methods of a service. */
export function methodsOf(service: ServiceName): Record<"handshake" | "live" | "backfill", ByteMethod> {
  return {
    handshake: method(`/${service}/Handshake`, false),
    live: method(`/${service}/Live`, true),
    backfill: method(`/${service}/Backfill`, true),
  };
}

function method(path: string, isStream: boolean): ByteMethod {
  return {
    path,
    requestStream: isStream,
    responseStream: isStream,
    requestSerialize: unchanged,
    requestDeserialize: unchanged,
    responseSerialize: unchanged,
    responseDeserialize: unchanged,
  };
}

function unchanged(bytes: Buffer): Buffer {
  return bytes;
}

/** The same memory as a `Buffer`, which the library expects. */
export function toBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** When a silent connection is closed. */
export interface Keepalive {
  /** Time without traffic until a ping is sent, milliseconds. */
  timeMs: number;
  /** Maximum time until the answer to the ping, milliseconds. */
  timeoutMs: number;
}

/** Options of the library that client and server share. */
export function sharedOptions({ timeMs, timeoutMs }: Keepalive): ChannelOptions {
  return {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.keepalive_time_ms": timeMs,
    "grpc.keepalive_timeout_ms": timeoutMs,
    "grpc.enable_channelz": 0,
  };
}

/** Header with the id of the calling instance. An identity only where no certificate is needed. */
export const INSTANCE_HEADER = "x-instance-id";
