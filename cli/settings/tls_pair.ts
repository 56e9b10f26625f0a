import { X509Certificate } from "node:crypto";
import { checkTlsPair } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";

/** Where parts of a PEM file begin. */
const PART = /(?=-----BEGIN )/;
const CERTIFICATE = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;

/** Why something cannot be done, or nothing. */
export function reasonOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/**
 * What is wrong with a certificate and its key, or nothing.
 *
 * @param flags what their files are given by
 */
export function tlsPairProblem(
  { cert, key }: { cert: string; key: string },
  flags: { cert: string; key: string },
): string | undefined {
  if (cert === "" && key === "") return undefined;
  if (key === "") return `Cannot use -${flags.cert} without -${flags.key}`;
  if (cert === "") return `Cannot use -${flags.key} without -${flags.cert}`;
  const reason = reasonOf(() => checkTlsPair(Deno.readTextFileSync(cert), Deno.readTextFileSync(key)));
  return reason && `Cannot use the certificate "${cert}" with the key "${key}": ${reason}`;
}

/** What is wrong with a file of certificates of authorities, or nothing. */
export function authoritiesProblem(path: string): string | undefined {
  const reason = reasonOf(() => {
    const certificates = Deno.readTextFileSync(path).split(PART).filter((part) => CERTIFICATE.test(part));
    if (certificates.length === 0) throw new RangeError("there is no certificate (PEM) in it");
    for (const each of certificates) {
      const wrong = reasonOf(() => new X509Certificate(each));
      if (wrong !== undefined) throw new RangeError(`a certificate in it cannot be read: ${wrong}`);
    }
  });
  return reason && `Cannot use the authorities in "${path}": ${reason}`;
}
