import { errorText, timerMs } from "@vessel/gateway/base";
import { X509Certificate } from "node:crypto";
import { statfs } from "node:fs/promises";
import { isIP } from "node:net";
import { connect } from "node:tls";

/** Result of one check. `skip`: not requested, or not possible here. */
export type FindingState = "ok" | "warn" | "fail" | "skip";

/** A check and its result. */
export interface Finding {
  /** Subject of the check, such as `journal directory`. */
  name: string;
  state: FindingState;
  /** Details, and what to do about a problem. */
  text: string;
}

/** Thresholds for disks and certificates. */
export interface MachineLimits {
  /** Free bytes below which a disk is a warning … */
  warnFreeBytes: number;
  /** … and a failure. */
  failFreeBytes: number;
  /** A certificate that ends sooner is a warning, milliseconds. */
  certificateMs: number;
}

const DAY_MS = 86_400_000;
/** An earlier time is wrong: the program is younger. Typical cause: no battery for the clock. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);

/** Checks that a directory exists, is writable and has free space. */
export async function checkDirectory(
  path: string | undefined,
  { name, flag, limits }: { name: string; flag: string; limits: MachineLimits },
): Promise<Finding> {
  if (path === undefined) return { name, state: "skip", text: `not checked; ${flag} names it` };
  try {
    if (!(await Deno.stat(path)).isDirectory) return { name, state: "fail", text: `${path}: not a directory` };
    await Deno.remove(await Deno.makeTempFile({ dir: path, prefix: ".vbg-doctor-" }));
    const { bavail, bsize } = await statfs(path);
    const freeBytes = bavail * bsize;
    const text = `${path}: can be written, ${sizeText(freeBytes)} free`;
    if (freeBytes < limits.failFreeBytes) return { name, state: "fail", text };
    return { name, state: freeBytes < limits.warnFreeBytes ? "warn" : "ok", text };
  } catch (error) {
    return { name, state: "fail", text: `${path}: ${errorText(error)}` };
  }
}

/** Checks that the clock is plausible and synchronised. */
export async function checkClock(nowMs: number): Promise<Finding> {
  const name = "clock";
  const now = new Date(nowMs).toISOString();
  if (nowMs < EARLIEST_MS) return { name, state: "fail", text: `${now} is in the past: the clock is not set` };
  const synchronized = await isSynchronized();
  if (synchronized === undefined) {
    return { name, state: "skip", text: `${now}; the system does not say whether it is synchronized` };
  }
  if (synchronized) return { name, state: "ok", text: `${now}, synchronized by the system` };
  return { name, state: "warn", text: `${now}, not synchronized: recorded times may be wrong` };
}

/** Checks when the first certificate of a file expires: the machine's own. */
export async function checkCertificate(
  path: string,
  { nowMs, limits }: { nowMs: number; limits: MachineLimits },
): Promise<Finding> {
  const name = "certificate";
  try {
    return checkExpiry(new X509Certificate(await Deno.readTextFile(path)), { name, what: path, nowMs, limits });
  } catch (error) {
    return { name, state: "fail", text: `${path}: ${errorText(error)}` };
  }
}

/** Checks when the certificate of a server expires, whatever its issuer; undefined without TLS. */
export async function checkServerCertificate(
  url: string,
  { nowMs, limits, timeoutMs }: { nowMs: number; limits: MachineLimits; timeoutMs: number },
): Promise<Finding[]> {
  if (!URL.canParse(url)) return [];
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== "https:") return [];
  const name = "server's certificate";
  try {
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const raw = await peerCertificate(host, { port: Number(port || "443"), timeoutMs });
    return [checkExpiry(new X509Certificate(raw), { name, what: url, nowMs, limits })];
  } catch (error) {
    return [{ name, state: "fail", text: `${url}: ${errorText(error)}` }];
  }
}

function checkExpiry(
  certificate: X509Certificate,
  { name, what, nowMs, limits }: { name: string; what: string; nowMs: number; limits: MachineLimits },
): Finding {
  const [from, end] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const day = new Date(end).toISOString().slice(0, 10);
  const days = Math.floor((end - nowMs) / DAY_MS);
  if (nowMs < from) return { name, state: "fail", text: `${what}: not valid before ${new Date(from).toISOString()}` };
  if (end <= nowMs) return { name, state: "fail", text: `${what}: expired on ${day}` };
  const state = end - nowMs < limits.certificateMs ? "warn" : "ok";
  return { name, state, text: `${what}: valid until ${day}, ${days} days from now` };
}

function peerCertificate(host: string, { port, timeoutMs }: { port: number; timeoutMs: number }): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  // Only the expiry is checked, and nothing is sent: the request before has checked the trust.
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port, ...named, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1000} s`)), timerMs(timeoutMs));
  socket.once("error", reject);
  socket.once("secureConnect", () => resolve(socket.getPeerCertificate().raw));
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}

async function isSynchronized(): Promise<boolean | undefined> {
  try {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    const { success, stdout } = await new Deno.Command("timedatectl", { args, stdin: "null", stderr: "null" }).output();
    const answer = new TextDecoder().decode(stdout).trim();
    return success && answer !== "" ? answer === "yes" : undefined;
  } catch {
    // The program is missing: another system, or a container.
    return undefined;
  }
}

function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(0)} MB`;
}
