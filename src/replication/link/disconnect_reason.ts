import { errorText } from "../../base/mod.ts";
import { RpcError } from "../grpc/grpc.ts";

/** Advice about failed connections, by the texts of the TLS library. */
const ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [
    /verify the first certificate|self-signed certificate|issuer certificate/,
    "-replication-tls-ca must name the authority of the cloud's certificate",
  ],
  [/InvalidContentType|wrong version number/, "this port has no TLS: is it the cloud's port for boats (-grpc-listen)?"],
];

/** Why a connection to the cloud failed or ended, with what to do, if that is known. One line. */
export function disconnectReason(error: unknown): string {
  if (!(error instanceof RpcError)) return errorText(error);
  const reason = `${error.code}: ${error.message.replace(/^Error: /, "")}`;
  const [, advice] = ADVICE.find(([known]) => known.test(reason)) ?? [];
  return advice === undefined ? reason : `${reason}; ${advice}`;
}
