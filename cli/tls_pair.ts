import { checkTlsPair } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/settings";

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
