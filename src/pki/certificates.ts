import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { AtomicFile, type Clock, type DirectoryLock, FileError, lockDirectory, pathExists } from "../base/mod.ts";
import { isInstanceId } from "./instance_id.ts";
import { type CertificatePair, type CertificateSubject, makeAuthority, Signer } from "./certificates_make.ts";
import { type AuthorityRecord, formatRecord, type IssuedCertificate, parseRecord } from "./certificates_record.ts";
import { formatRevocations } from "./revocation.ts";
import { normalSerial } from "./revocation_serial.ts";

/** What was asked of an authority cannot be done, and nothing was changed. The message says why. */
export class CertificateError extends Error {
  /** `CertificateError`. */
  override name = "CertificateError";
}

/** Files are there that would be written over. */
export class FilesExistError extends CertificateError {
  /** `FilesExistError`. */
  override name = "FilesExistError";
}

/** Files of an authority, in its directory. */
export const AUTHORITY_FILES = {
  /** Its certificate: what boats and cloud trust. */
  cert: "ca.pem",
  /** Its key, which never leaves the directory. */
  key: "ca-key.pem",
  /** Every certificate that it made. */
  record: "issued.json",
  /** Serial numbers that are good no more; what a running cloud reads. */
  revoked: "revoked.txt",
  /** The same, signed, for other programs. */
  crl: "crl.pem",
} as const;

/** What a boat or a server is given: a folder with three files, to be copied as it is. */
export interface CertificateFolder {
  /** The folder. */
  path: string;
  /** Its certificate, PEM. */
  certPath: string;
  /** The key of that, PEM. */
  keyPath: string;
  /** Copy of the authority's certificate. */
  caPath: string;
  /** What is written down of it. */
  certificate: IssuedCertificate;
  /** Other certificates of the same name that are still good. */
  earlier: readonly IssuedCertificate[];
}

const INSTANCE_ID_WORDS = "1 to 64 letters, digits, dots, underscores or dashes, the first a letter or digit";
const PUBLIC_MODE = 0o644;
const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const MAX_RECORD_BYTES = 16 * 1024 * 1024;
/** Labels of letters, digits and dashes; the first one may be a star. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:\*\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** A list of revoked certificates is for the cloud, about boats. */
const SERVERS_STAY =
  "it is the cloud's certificate, and boats do not ask whether that is revoked: where its key is in " +
  "wrong hands, only another authority helps";

/** Whether text can be the host of a server's certificate. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text) && isIP(text) === 0;
}

/**
 * Makes an authority in a directory, which is made when it is missing.
 *
 * @param options.name its common name
 * @param options.days how long it is good
 * @throws {CertificateError} there is one already
 * @throws {FileError} the directory cannot be written, or another process uses it
 */
export async function initAuthority(
  directory: string,
  { name, days, clock }: { name: string; days: number; clock: Clock },
): Promise<{ notAfterMs: number }> {
  using _lock = await lockDirectory(directory, { what: "directory of the authority" });
  for (const file of Object.values(AUTHORITY_FILES)) {
    if (!await pathExists(`${directory}/${file}`)) continue;
    throw new CertificateError(`Cannot make an authority in "${directory}": there is one already, "${file}"`);
  }
  const nowMs = nowMsOf(clock);
  const pair = await makeAuthority(name, { nowMs, days });
  const signer = await Signer.open(pair);
  const write = writerIn(directory);
  await write(AUTHORITY_FILES.key, pair.key, PRIVATE_MODE);
  await write(AUTHORITY_FILES.record, formatRecord({ crlNumber: 1, certificates: [] }), PRIVATE_MODE);
  await write(AUTHORITY_FILES.revoked, formatRevocations([]), PUBLIC_MODE);
  await write(AUTHORITY_FILES.crl, await signer.listRevoked([], { number: 1, nowMs }), PUBLIC_MODE);
  await write(AUTHORITY_FILES.cert, pair.cert, PUBLIC_MODE);
  return { notAfterMs: pair.notAfterMs };
}

/**
 * Every certificate that the authority of a directory has made, oldest first.
 *
 * @throws {CertificateError} there is no authority
 * @throws {FileError} its record cannot be read
 */
export async function readIssued(directory: string): Promise<readonly IssuedCertificate[]> {
  return (await readRecord(directory)).certificates;
}

/** An authority, held by this process until it is disposed of. */
export class Authority implements Disposable {
  readonly #directory: string;
  readonly #clock: Clock;
  readonly #lock: DirectoryLock;
  readonly #signer: Signer;
  readonly #cert: string;
  #record: AuthorityRecord;

  private constructor(
    { directory, clock, lock, signer, cert, record }: {
      directory: string;
      clock: Clock;
      lock: DirectoryLock;
      signer: Signer;
      cert: string;
      record: AuthorityRecord;
    },
  ) {
    this.#directory = directory;
    this.#clock = clock;
    this.#lock = lock;
    this.#signer = signer;
    this.#cert = cert;
    this.#record = record;
  }

  /**
   * Takes the authority of a directory.
   *
   * @throws {CertificateError} there is none
   * @throws {FileError} its files cannot be read, or another process uses it
   */
  static async open(directory: string, { clock }: { clock: Clock }): Promise<Authority> {
    // Looked for first: to take the lock would make the directory.
    await readText(directory, AUTHORITY_FILES.cert);
    const lock = await lockDirectory(directory, { what: "directory of the authority" });
    try {
      const cert = await readText(directory, AUTHORITY_FILES.cert);
      const signer = await openSigner(directory, cert);
      return new Authority({ directory, clock, lock, signer, cert, record: await readRecord(directory) });
    } catch (error) {
      lock.close();
      throw error;
    }
  }

  /** Every certificate that it has made, oldest first. */
  get issued(): readonly IssuedCertificate[] {
    return this.#record.certificates;
  }

  /**
   * Makes a certificate for a boat, in `boats/{instanceId}`. Those it has already stay good until they are revoked.
   *
   * @param options.isForced write over files that are there
   * @throws {CertificateError} it is no instance id; {@linkcode FilesExistError}: the files are there
   */
  async issueBoat(instanceId: string, options: IssueOptions): Promise<CertificateFolder> {
    if (!isInstanceId(instanceId)) {
      throw new CertificateError(
        `Cannot be an instance id: ${JSON.stringify(instanceId)}: expected ${INSTANCE_ID_WORDS}`,
      );
    }
    const subject = { kind: "boat", instanceId } as const;
    return await this.#issue(subject, { ...options, name: instanceId, folder: `boats/${instanceId}` });
  }

  /**
   * Makes a certificate for a cloud server, in `server`.
   *
   * @param names the hosts and IP addresses that boats reach it by
   * @param options.isForced write over files that are there
   * @throws {CertificateError} there is no name or a wrong one; {@linkcode FilesExistError}: the files are there
   */
  async issueServer(
    { hosts, ips }: { hosts: readonly string[]; ips: readonly string[] },
    options: IssueOptions,
  ): Promise<CertificateFolder> {
    if (hosts.length + ips.length === 0) {
      throw new CertificateError("Cannot make a certificate for a server without a name");
    }
    const wrong = hosts.find((host) => !isHostName(host)) ?? ips.find((ip) => isIP(ip) === 0);
    if (wrong !== undefined) throw new CertificateError(`Cannot be a host or an IP address: ${JSON.stringify(wrong)}`);
    const subject = { kind: "server", hosts, ips } as const;
    return await this.#issue(subject, { ...options, name: [...hosts, ...ips].join(" "), folder: "server" });
  }

  /**
   * Revokes certificates of a boat: all that are good, or one.
   *
   * @param options.serial the one, hex
   * @returns those that were revoked now
   * @throws {CertificateError} there is no such certificate, it is a cloud's, or it is revoked already
   */
  async revoke(
    instanceId: string,
    { serial }: { serial?: string | undefined } = {},
  ): Promise<readonly IssuedCertificate[]> {
    const wanted = serial === undefined ? undefined : normalSerial(serial);
    const matching = this.#record.certificates.filter((each) =>
      each.kind === "boat" && each.name === instanceId && (serial === undefined || each.serial === wanted)
    );
    const which = `${JSON.stringify(instanceId)}${serial === undefined ? "" : ` with the serial number ${serial}`}`;
    if (matching.length === 0) throw new CertificateError(`Cannot revoke ${which}: ${this.#whyNot(instanceId)}`);
    const revokedMs = nowMsOf(this.#clock);
    const revoked = matching.filter((each) => each.revokedMs === undefined).map((each) => ({ ...each, revokedMs }));
    if (revoked.length === 0) throw new CertificateError(`Cannot revoke ${which}: it is revoked already`);
    const bySerial = new Map(revoked.map((each) => [each.serial, each]));
    const certificates = this.#record.certificates.map((each) => bySerial.get(each.serial) ?? each);
    await this.#publish({ crlNumber: this.#record.crlNumber + 1, certificates });
    return revoked;
  }

  /** Lets the directory go. */
  [Symbol.dispose](): void {
    this.#lock.close();
  }

  /** Why there is no certificate of a boat to revoke. */
  #whyNot(name: string): string {
    const isServer = this.#record.certificates.some((each) =>
      each.kind === "server" && each.name.split(" ").includes(name)
    );
    return isServer ? SERVERS_STAY : "no such certificate of a boat was made here";
  }

  async #issue(
    subject: CertificateSubject,
    { name, folder, days, isForced }: IssueOptions & { name: string; folder: string },
  ): Promise<CertificateFolder> {
    const nowMs = nowMsOf(this.#clock);
    if (nowMs >= this.#signer.notAfterMs) {
      throw new CertificateError(
        `Cannot make a certificate: the authority ended ${new Date(this.#signer.notAfterMs).toISOString()}`,
      );
    }
    const path = `${this.#directory}/${folder}`;
    const [certPath, keyPath, caPath] = [`${path}/cert.pem`, `${path}/key.pem`, `${path}/ca.pem`];
    for (const file of isForced ? [] : [certPath, keyPath]) {
      if (await pathExists(file)) throw new FilesExistError(`Cannot write "${file}": it is there already`);
    }
    const pair = await this.#signer.issue(subject, { nowMs, days });
    const certificate = { ...recordOf(pair), kind: subject.kind, name };
    const earlier = this.#record.certificates.filter((each) =>
      each.kind === subject.kind && each.name === name && each.revokedMs === undefined && each.notAfterMs > nowMs
    );
    // Recorded first: a certificate that is not in the record could never be revoked.
    await this.#keep({ ...this.#record, certificates: [...this.#record.certificates, certificate] });
    await makeFolder(path);
    const write = writerIn(path);
    await write("key.pem", pair.key, PRIVATE_MODE);
    await write("cert.pem", pair.cert, PUBLIC_MODE);
    await write("ca.pem", this.#cert, PUBLIC_MODE);
    return { path, certPath, keyPath, caPath, certificate, earlier };
  }

  /** The lists come first: after a crash between the writes a certificate is refused, and can be revoked once more. */
  async #publish(record: AuthorityRecord): Promise<void> {
    const revoked = record.certificates.flatMap(({ revokedMs, ...each }) =>
      revokedMs === undefined ? [] : [{ ...each, revokedMs }]
    );
    const write = writerIn(this.#directory);
    await write(AUTHORITY_FILES.revoked, formatRevocations(revoked), PUBLIC_MODE);
    const crl = await this.#signer.listRevoked(revoked, { number: record.crlNumber, nowMs: nowMsOf(this.#clock) });
    await write(AUTHORITY_FILES.crl, crl, PUBLIC_MODE);
    await this.#keep(record);
  }

  async #keep(record: AuthorityRecord): Promise<void> {
    await writerIn(this.#directory)(AUTHORITY_FILES.record, formatRecord(record), PRIVATE_MODE);
    this.#record = record;
  }
}

/** How a certificate is made. */
export interface IssueOptions {
  /** How long it is good; never longer than the authority. */
  days: number;
  /** Writes over the files of an earlier one. */
  isForced: boolean;
}

function recordOf(
  { serial, notBeforeMs, notAfterMs }: CertificatePair,
): Pick<CertificatePair, "serial" | "notBeforeMs" | "notAfterMs"> {
  return { serial, notBeforeMs, notAfterMs };
}

async function openSigner(directory: string, cert: string): Promise<Signer> {
  const path = `${directory}/${AUTHORITY_FILES.key}`;
  const key = await readText(directory, AUTHORITY_FILES.key);
  try {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) {
      throw new Error(`it is not the key of "${AUTHORITY_FILES.cert}"`);
    }
    return await Signer.open({ cert, key });
  } catch (cause) {
    throw new FileError("use the authority's key", { path, cause });
  }
}

async function readRecord(directory: string): Promise<AuthorityRecord> {
  const text = await readText(directory, AUTHORITY_FILES.record);
  try {
    return parseRecord(text);
  } catch (cause) {
    throw new FileError("read", { path: `${directory}/${AUTHORITY_FILES.record}`, cause });
  }
}

async function readText(directory: string, name: string): Promise<string> {
  const bytes = await new AtomicFile(directory, { name, maxBytes: MAX_RECORD_BYTES }).read();
  if (bytes !== undefined) return new TextDecoder().decode(bytes);
  const advice = name === AUTHORITY_FILES.cert ? "; vbg-cloud ca init makes one" : "";
  throw new CertificateError(`Cannot find an authority in "${directory}": there is no "${name}"${advice}`);
}

function writerIn(directory: string): (name: string, content: string, mode: number) => Promise<void> {
  return (name, content, mode) => new AtomicFile(directory, { name, mode }).write(content);
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: FOLDER_MODE });
  } catch (cause) {
    throw new FileError("make the folder", { path, cause });
  }
}

function nowMsOf(clock: Clock): number {
  return clock.wallUs() / 1000;
}
