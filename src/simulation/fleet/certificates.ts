import type { Clock } from "../../base/mod.ts";
import { Authority, AUTHORITY_FILES } from "../../pki/mod.ts";
import type { LinkTlsPaths } from "../../replication/mod.ts";

/**
 * Certificates of a fleet.
 *
 * - `authority`: made on the fly, with the authority in a directory; valid for three months, and not recorded there
 * - `folders`: existing ones, in `{directory}/{id}` as `vbg-cloud ca issue` makes them in `boats`
 */
export type FleetTrust = { kind: "authority"; directory: string } | { kind: "folders"; directory: string };

/** The longest test takes weeks. */
const VALID_DAYS = 90;
const PRIVATE_MODE = 0o600;

/** Certificate files of a fleet. Those that were made are removed when it is disposed of. */
export class FleetCertificates implements AsyncDisposable {
  readonly #directory: string;
  readonly #made: string | undefined;

  private constructor(directory: string, { made }: { made: string | undefined }) {
    this.#directory = directory;
    this.#made = made;
  }

  /**
   * Makes the certificates, or finds them.
   *
   * @throws {CertificateError} there is no authority, or an id cannot be an instance id
   * @throws {FileError} its files cannot be read, or another process uses it
   */
  static async open(
    trust: FleetTrust,
    { ids, clock }: { ids: readonly string[]; clock: Clock },
  ): Promise<FleetCertificates> {
    if (trust.kind === "folders") return new FleetCertificates(trust.directory, { made: undefined });
    using authority = await Authority.open(trust.directory, { clock });
    const made = await Deno.makeTempDir({ prefix: "vbg_fleet_" });
    try {
      for (const id of ids) {
        const { cert, key, ca } = await authority.issueUnrecorded(id, { days: VALID_DAYS });
        await Deno.mkdir(`${made}/${id}`);
        await Deno.writeTextFile(`${made}/${id}/cert.pem`, cert);
        await Deno.writeTextFile(`${made}/${id}/key.pem`, key, { mode: PRIVATE_MODE });
        await Deno.writeTextFile(`${made}/${id}/${AUTHORITY_FILES.cert}`, ca);
      }
      return new FleetCertificates(made, { made });
    } catch (error) {
      await Deno.remove(made, { recursive: true });
      throw error;
    }
  }

  /** Paths of a boat's files. */
  paths(id: string): LinkTlsPaths {
    const folder = `${this.#directory}/${id}`;
    return {
      certPath: `${folder}/cert.pem`,
      keyPath: `${folder}/key.pem`,
      caPath: `${folder}/${AUTHORITY_FILES.cert}`,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#made !== undefined) await Deno.remove(this.#made, { recursive: true });
  }
}
