import { Buffer } from "node:buffer";
import type { ChannelOptions, MethodDefinition, status } from "@grpc/grpc-js";
import { MAX_MESSAGE_BYTES } from "../wire/messages.ts";

/** The gRPC library, loaded when it is needed: it looks at the environment. */
export type Grpc = typeof import("@grpc/grpc-js");

/** Loads it. */
export async function loadGrpc(): Promise<Grpc> {
  return await import("@grpc/grpc-js");
}

/** Name of a gRPC status, such as `UNAUTHENTICATED`. */
export type RpcCode = keyof typeof status;

/** A call that failed, at the other side or here: what gRPC says about it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;

  constructor(code: RpcCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Turns what the library throws or emits into an {@linkcode RpcError}. */
export function toRpcError(grpc: Grpc, error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const { code, details, message } = Object(error) as { code?: unknown; details?: unknown; message?: unknown };
  const name = Object.entries(grpc.status).find(([, value]) => value === code)?.[0];
  return new RpcError(isCode(grpc, name) ? name : "UNKNOWN", plainReason(String(details ?? message ?? error)));
}

/** What the library says of a connection that it cannot make, without its wrapping, and the same each time. */
export function plainReason(text: string): string {
  return text
    .replace(/^No connection established\. Last error: /, "")
    .replace(/ ?\(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "")
    .replace(/[. ]*Resolution note: *$/, "");
}

function isCode(grpc: Grpc, name: string | undefined): name is RpcCode {
  return name !== undefined && Object.hasOwn(grpc.status, name);
}

/** Under which name the service is there: ours, or the one that peers have. */
export type ServiceName = "vessel.replication.v1.Replication" | "lplex.replication.v1.Replication";
/** Both, ours first. */
export const SERVICE_NAMES: readonly [ours: ServiceName, peers: ServiceName] = [
  "vessel.replication.v1.Replication",
  "lplex.replication.v1.Replication",
];

/** A method as the library wants it. Messages pass it as bytes: what is wrong with them is for us to say. */
export type ByteMethod = MethodDefinition<Buffer, Buffer>;

/** The three methods of a service. */
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
    requestSerialize: asItIs,
    requestDeserialize: asItIs,
    responseSerialize: asItIs,
    responseDeserialize: asItIs,
  };
}

function asItIs(bytes: Buffer): Buffer {
  return bytes;
}

/** The same bytes as the class that the library wants. */
export function toBuffer(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** When a connection without an answer is given up. */
export interface Keepalive {
  /** Silence after which the other side is asked whether it is there, milliseconds. */
  timeMs: number;
  /** How long it may take to answer, milliseconds. */
  timeoutMs: number;
}

/** Settings of the library that both sides share. */
export function sharedOptions({ timeMs, timeoutMs }: Keepalive): ChannelOptions {
  return {
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    "grpc.keepalive_time_ms": timeMs,
    "grpc.keepalive_timeout_ms": timeoutMs,
    "grpc.enable_channelz": 0,
  };
}

/** Name of the header in which peers say who they are. An identity only where nobody has a certificate. */
export const INSTANCE_HEADER = "x-instance-id";
