import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { AtomicFile, type Clock, type DirectoryLock, FileError, lockDirectory, pathExists } from "../base/mod.ts";
import { isInstanceId, isNodeName, MAX_INSTANCE_ID_LENGTH, MAX_NODE_NAME_LENGTH, type PeerKind } from "./identity.ts";
import {
  type CertificatePair,
  type CertificateSubject,
  makeAuthority,
  type ServerNames,
  Signer,
} from "./certificates_make.ts";
import { type AuthorityRecord, formatRecord, type IssuedCertificate, parseRecord } from "./certificates_record.ts";
import { isHostName } from "./host_name.ts";
import { formatRevocations, normalSerial } from "./revocation.ts";

/** An operation of the authority was refused; nothing was changed. The message says why. */
export class CertificateError extends Error {
  /** `CertificateError`. */
  override name = "CertificateError";
}

/** Files exist that would be overwritten. */
export class FilesExistError extends CertificateError {
  /** `FilesExistError`. */
  override name = "FilesExistError";
}

/** File names in the directory of an authority. */
export const AUTHORITY_FILES = {
  /** Certificate of the authority, trusted by boats and cloud. */
  cert: "ca.pem",
  /** Private key of the authority, which never leaves the directory. */
  key: "ca-key.pem",
  /** Record of all issued certificates. */
  record: "issued.json",
  /** Revoked serial numbers, read by the cloud. */
  revoked: "revoked.txt",
  /** Signed list of revoked certificates (CRL), for other programs. */
  crl: "crl.pem",
} as const;

/** A folder with the three files for a boat, server or node. */
export interface CertificateFolder {
  /** Path of the folder. */
  path: string;
  /** Path of the certificate, PEM. */
  certPath: string;
  /** Path of its private key, PEM. */
  keyPath: string;
  /** Path of a copy of the authority's certificate. */
  caPath: string;
  /** Its entry in the record. */
  certificate: IssuedCertificate;
  /** Other valid certificates of the same name. */
  earlier: readonly IssuedCertificate[];
}

const NAME_WORDS = "letters, digits, dots, underscores or dashes, the first a letter or digit";
const PUBLIC_MODE = 0o644;
const PRIVATE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const MAX_RECORD_BYTES = 16 * 1024 * 1024;

/** Boats read no list of revoked certificates. */
const SERVER_NOT_REVOCABLE =
  "it is the certificate of a cloud, and boats do not check whether that is revoked: if its key has leaked, " +
  "make a new authority";

/**
 * Creates an authority in a directory, which is created if missing.
 *
 * @param options.name its common name
 * @param options.days validity, days
 * @throws {CertificateError} the directory already has an authority
 * @throws {FileError} the directory cannot be written, or another process uses it
 */
export async function initAuthority(
  directory: string,
  { name, days, clock }: { name: string; days: number; clock: Clock },
): Promise<{ notAfterMs: number }> {
  using _lock = await lockDirectory(directory, { what: "directory of the authority" });
  for (const file of Object.values(AUTHORITY_FILES)) {
    if (!await pathExists(`${directory}/${file}`)) continue;
    throw new CertificateError(`Cannot make an authority in "${directory}": "${file}" already exists`);
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
 * All certificates that the authority of a directory has issued, oldest first.
 *
 * @throws {CertificateError} there is no authority
 * @throws {FileError} the record cannot be read
 */
export async function readIssued(directory: string): Promise<readonly IssuedCertificate[]> {
  return (await readRecord(directory)).certificates;
}

/** An authority. Its directory is locked until it is disposed of. */
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
   * Opens and locks the authority of a directory.
   *
   * @throws {CertificateError} there is no authority
   * @throws {FileError} its files cannot be read, or another process uses it
   */
  static async open(directory: string, { clock }: { clock: Clock }): Promise<Authority> {
    // Checked first, because locking would create the directory.
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

  /** All issued certificates, oldest first. */
  get issued(): readonly IssuedCertificate[] {
    return this.#record.certificates;
  }

  /**
   * Issues a certificate for a boat, in `boats/{instanceId}`. Earlier certificates stay valid until they are revoked.
   *
   * @throws {CertificateError} invalid instance id; {@linkcode FilesExistError}: the files exist
   */
  async issueBoat(instanceId: string, options: IssueOptions): Promise<CertificateFolder> {
    checkInstanceId(instanceId);
    const subject = { kind: "boat", instanceId } as const;
    return await this.#issue(subject, { ...options, name: instanceId, folder: `boats/${instanceId}` });
  }

  /**
   * Makes a certificate for a boat that is neither recorded nor written, for tests of a cloud: it can be revoked by its
   * serial number only.
   *
   * @throws {CertificateError} invalid instance id, or the authority has expired
   */
  async issueUnrecorded(instanceId: string, { days }: Pick<IssueOptions, "days">): Promise<TemporaryCertificate> {
    checkInstanceId(instanceId);
    const nowMs = this.#nowMs();
    const { cert, key } = await this.#signer.issue({ kind: "boat", instanceId }, { nowMs, days });
    return { cert, key, ca: this.#cert };
  }

  /**
   * Issues a certificate for a cloud server, in `server`.
   *
   * @param names host names and IP addresses that boats connect to
   * @throws {CertificateError} no name, or an invalid one; {@linkcode FilesExistError}: the files exist
   */
  async issueServer(
    names: ServerNames,
    options: IssueOptions,
  ): Promise<CertificateFolder> {
    const { hosts, ips } = checkNames(names);
    const subject = { kind: "server", hosts, ips } as const;
    return await this.#issue(subject, { ...options, name: [...hosts, ...ips].join(" "), folder: "server" });
  }

  /**
   * Issues a certificate for a node of a cloud, in `nodes/{name}`.
   *
   * @param options.names host names and IP addresses that other nodes connect to
   * @throws {CertificateError} invalid name, or no host; {@linkcode FilesExistError}: the files exist
   */
  async issueNode(
    name: string,
    { names, ...options }: IssueOptions & { names: ServerNames },
  ): Promise<CertificateFolder> {
    if (!isNodeName(name)) {
      const expected = `expected 1 to ${MAX_NODE_NAME_LENGTH} ${NAME_WORDS}`;
      throw new CertificateError(`Cannot use ${JSON.stringify(name)} as the name of a node: ${expected}`);
    }
    const { hosts, ips } = checkNames(names);
    return await this.#issue({ kind: "node", name, hosts, ips }, { ...options, name, folder: `nodes/${name}` });
  }

  /**
   * Revokes all certificates of a boat or node, or one of them.
   *
   * @param options.serial serial number of the one to revoke, hex
   * @returns the certificates revoked by this call
   * @throws {CertificateError} no such certificate, it belongs to a cloud, or it is already revoked
   */
  async revoke(
    name: string,
    { kind = "boat", serial }: { kind?: PeerKind; serial?: string | undefined } = {},
  ): Promise<readonly IssuedCertificate[]> {
    const wanted = serial === undefined ? undefined : normalSerial(serial);
    const matching = this.#record.certificates.filter((each) =>
      each.kind === kind && each.name === name && (serial === undefined || each.serial === wanted)
    );
    const which = `${JSON.stringify(name)}${serial === undefined ? "" : ` with the serial number ${serial}`}`;
    if (matching.length === 0) throw new CertificateError(`Cannot revoke ${which}: ${this.#whyNot(name, kind)}`);
    const revokedMs = nowMsOf(this.#clock);
    const revoked = matching.filter((each) => each.revokedMs === undefined).map((each) => ({ ...each, revokedMs }));
    if (revoked.length === 0) throw new CertificateError(`Cannot revoke ${which}: it is already revoked`);
    const bySerial = new Map(revoked.map((each) => [each.serial, each]));
    const certificates = this.#record.certificates.map((each) => bySerial.get(each.serial) ?? each);
    await this.#publish({ crlNumber: this.#record.crlNumber + 1, certificates });
    return revoked;
  }

  /** Unlocks the directory. */
  [Symbol.dispose](): void {
    this.#lock.close();
  }

  /** The time of issue, milliseconds since 1970. @throws {CertificateError} the authority has expired */
  #nowMs(): number {
    const nowMs = nowMsOf(this.#clock);
    if (nowMs < this.#signer.notAfterMs) return nowMs;
    throw new CertificateError(
      `Cannot make a certificate: the authority expired ${new Date(this.#signer.notAfterMs).toISOString()}`,
    );
  }

  /** Why no certificate matches. */
  #whyNot(name: string, kind: PeerKind): string {
    const isServer = this.#record.certificates.some((each) =>
      each.kind === "server" && each.name.split(" ").includes(name)
    );
    return isServer
      ? SERVER_NOT_REVOCABLE
      : `this authority has issued no such certificate of a ${kind}; "vbg-cloud ca list" shows them`;
  }

  async #issue(
    subject: CertificateSubject,
    { name, folder, days, isForced }: IssueOptions & { name: string; folder: string },
  ): Promise<CertificateFolder> {
    const nowMs = this.#nowMs();
    const path = `${this.#directory}/${folder}`;
    const [certPath, keyPath, caPath] = [`${path}/cert.pem`, `${path}/key.pem`, `${path}/ca.pem`];
    for (const file of isForced ? [] : [certPath, keyPath]) {
      if (await pathExists(file)) throw new FilesExistError(`Cannot write "${file}": it already exists`);
    }
    const pair = await this.#signer.issue(subject, { nowMs, days });
    const certificate = { ...recordOf(pair), kind: subject.kind, name };
    const earlier = this.#record.certificates.filter((each) =>
      each.kind === subject.kind && each.name === name && each.revokedMs === undefined && each.notAfterMs > nowMs
    );
    // Recorded first: an unrecorded certificate could not be revoked.
    await this.#writeRecord({ ...this.#record, certificates: [...this.#record.certificates, certificate] });
    await makeFolder(path);
    const write = writerIn(path);
    await write("key.pem", pair.key, PRIVATE_MODE);
    await write("cert.pem", pair.cert, PUBLIC_MODE);
    await write("ca.pem", this.#cert, PUBLIC_MODE);
    return { path, certPath, keyPath, caPath, certificate, earlier };
  }

  /**
   * Writes the lists before the record: after a crash in between, the certificate is refused and can be revoked again.
   */
  async #publish(record: AuthorityRecord): Promise<void> {
    const revoked = record.certificates.flatMap(({ revokedMs, ...each }) =>
      revokedMs === undefined ? [] : [{ ...each, revokedMs }]
    );
    const write = writerIn(this.#directory);
    await write(AUTHORITY_FILES.revoked, formatRevocations(revoked), PUBLIC_MODE);
    const crl = await this.#signer.listRevoked(revoked, { number: record.crlNumber, nowMs: nowMsOf(this.#clock) });
    await write(AUTHORITY_FILES.crl, crl, PUBLIC_MODE);
    await this.#writeRecord(record);
  }

  async #writeRecord(record: AuthorityRecord): Promise<void> {
    await writerIn(this.#directory)(AUTHORITY_FILES.record, formatRecord(record), PRIVATE_MODE);
    this.#record = record;
  }
}

/** A certificate that only its holder has. */
export interface TemporaryCertificate {
  /** PEM. */
  cert: string;
  /** Its private key, PEM, not encrypted. */
  key: string;
  /** Certificate of the authority, PEM. */
  ca: string;
}

/** Options of issuing a certificate. */
export interface IssueOptions {
  /** Validity, days; limited by that of the authority. */
  days: number;
  /** Overwrite existing files. */
  isForced: boolean;
}

function checkInstanceId(instanceId: string): void {
  if (isInstanceId(instanceId)) return;
  throw new CertificateError(
    `Cannot use ${JSON.stringify(instanceId)} as an instance id: expected 1 to ${MAX_INSTANCE_ID_LENGTH} ${NAME_WORDS}`,
  );
}

function checkNames(names: ServerNames): ServerNames {
  const { hosts, ips } = names;
  if (hosts.length + ips.length === 0) {
    throw new CertificateError("Cannot make a server's certificate without a host name or IP address");
  }
  const wrong = hosts.find((host) => !isHostName(host)) ?? ips.find((ip) => isIP(ip) === 0);
  if (wrong !== undefined) throw new CertificateError(`Cannot be a host or an IP address: ${JSON.stringify(wrong)}`);
  return names;
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
      throw new Error(`it does not match "${AUTHORITY_FILES.cert}"`);
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
  const isStarted = await pathExists(`${directory}/${AUTHORITY_FILES.cert}`);
  const advice = isStarted ? "" : "; create one with vbg-cloud ca init";
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
