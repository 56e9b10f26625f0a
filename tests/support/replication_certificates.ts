import { AUTHORITY_FILES } from "../../src/pki/certificates.ts";
import { type CertificatePair, makeAuthority, Signer } from "../../src/pki/certificates_make.ts";
import { taskArgs } from "./task.ts";

const DAY_MS = 86_400_000;

/** Certificates that a lab's authority would not make, and those of an authority that nobody trusts. */
export class BadCertificates {
  readonly #good: Signer;
  readonly #rogue: Signer;

  private constructor({ good, rogue }: { good: Signer; rogue: Signer }) {
    this.#good = good;
    this.#rogue = rogue;
  }

  /** @param folder of the lab */
  static async open(folder: string): Promise<BadCertificates> {
    const read = (name: string) => Deno.readTextFile(`${folder}/ca/${name}`);
    const good = await Signer.open({ cert: await read(AUTHORITY_FILES.cert), key: await read(AUTHORITY_FILES.key) });
    const authority = await makeAuthority("rogue", { nowMs: Date.now(), days: 60 });
    return new BadCertificates({ good, rogue: await Signer.open(authority) });
  }

  /** Signed by somebody else. */
  rogue(instanceId: string): Promise<CertificatePair> {
    return this.#rogue.issue({ kind: "boat", instanceId }, { nowMs: Date.now(), days: 30 });
  }

  /** Good until ten days ago. */
  expired(instanceId: string): Promise<CertificatePair> {
    return this.#good.issue({ kind: "boat", instanceId }, { nowMs: Date.now() - 40 * DAY_MS, days: 30 });
  }

  /** Good in ten days. */
  early(instanceId: string): Promise<CertificatePair> {
    return this.#good.issue({ kind: "boat", instanceId }, { nowMs: Date.now() + 10 * DAY_MS, days: 30 });
  }

  /** Good, and nowhere recorded. */
  good(instanceId: string): Promise<CertificatePair> {
    return this.#good.issue({ kind: "boat", instanceId }, { nowMs: Date.now(), days: 30 });
  }
}

/** Runs `vbg-cloud ca` with a lab's authority; gives what it prints. */
export async function runCa(folder: string, ...args: string[]): Promise<string> {
  const [command, ...rest] = args;
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: taskArgs("cloud", "ca", command ?? "", "-ca-dir", `${folder}/ca`, ...rest),
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(success ? stdout : stderr);
  if (!success) throw new Error(text);
  return text;
}
