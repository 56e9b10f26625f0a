import { connect, createServer, type TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { type CertificatePair, makeAuthority, Signer } from "../../src/pki/certificates_make.ts";
import { type PeerCertificate, peerChain } from "../../src/pki/mod.ts";

/** The day on which the certificates of these tests are made. */
export const DAY_ONE_MS = Date.UTC(2026, 5, 1);
export const DAY_MS = 86_400_000;

/** An authority in memory. */
export interface MemoryAuthority {
  cert: string;
  signer: Signer;
}

/** Makes an authority. */
export async function authorityNamed(name: string, nowMs = DAY_ONE_MS): Promise<MemoryAuthority> {
  const pair = await makeAuthority(name, { nowMs, days: 3650 });
  return { cert: pair.cert, signer: await Signer.open(pair) };
}

/** What a boat is given. */
export async function boatPair(
  { signer }: MemoryAuthority,
  instanceId: string,
  { nowMs = DAY_ONE_MS, days = 730 }: { nowMs?: number; days?: number } = {},
): Promise<CertificatePair> {
  return await signer.issue({ kind: "boat", instanceId }, { nowMs, days });
}

/** What a node of a cloud on this machine is given. */
export async function nodePair(
  { signer }: MemoryAuthority,
  name: string,
  { nowMs = DAY_ONE_MS, days = 730 }: { nowMs?: number; days?: number } = {},
): Promise<CertificatePair> {
  return await signer.issue({ kind: "node", name, hosts: ["localhost"], ips: ["127.0.0.1"] }, { nowMs, days });
}

/** What a cloud on this machine is given. */
export async function cloudPair({ signer }: MemoryAuthority, nowMs = DAY_ONE_MS): Promise<CertificatePair> {
  return await signer.issue({ kind: "server", hosts: ["localhost"], ips: ["127.0.0.1"] }, { nowMs, days: 730 });
}

/**
 * A real handshake: the certificates that a TLS server sees of a client, as the cloud will see them.
 *
 * @param client its certificates and key; nothing: it has none
 */
export async function chainSeen(
  { server, ca, client }: {
    server: CertificatePair;
    ca: string;
    client?: Pick<CertificatePair, "cert" | "key">;
  },
): Promise<{ chain: Uint8Array[]; leaf: Uint8Array[]; isAuthorized: boolean }> {
  const { cert, key } = server;
  const listener = createServer({ cert, key, ca: [ca], requestCert: true, rejectUnauthorized: false });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const accepted = once(listener, "secureConnection");
  const socket = connect({ host: "127.0.0.1", port, ca: [ca], ...client });
  const closed = once(socket, "close");
  try {
    const [peer]: TLSSocket[] = await Promise.race([accepted, failure(socket), failure(listener, "tlsClientError")]);
    const [full, short]: PeerCertificate[] = [peer!.getPeerCertificate(true), peer!.getPeerCertificate()];
    peer!.destroy();
    return { chain: peerChain(full), leaf: peerChain(short), isAuthorized: peer!.authorized };
  } finally {
    socket.destroy();
    await closed;
    listener.close();
    await once(listener, "close");
  }
}

async function failure(emitter: TLSSocket | ReturnType<typeof createServer>, name = "error"): Promise<never> {
  const [error] = await once(emitter, name);
  throw error;
}
