import { X509Certificate } from "node:crypto";
import { checkTlsPair } from "@vessel/gateway/boat";
import { errorText } from "@vessel/gateway/base";

/** Start of each part of a PEM file. */
const PART = /(?=-----BEGIN )/;
const CERTIFICATE = /^-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/;

/** The error text of `work`, or undefined if it succeeds. */
export function reasonOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

/**
 * The problem of a certificate and its key, or undefined.
 *
 * @param flags names of their flags
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

/** The problem of a file of authorities, or undefined; an empty path names none. */
export function authoritiesProblem(path: string): string | undefined {
  if (path === "") return undefined;
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
