import type * as X509 from "@peculiar/x509";

/** The package that reads and makes certificates. */
export type X509Package = typeof X509;

/** Loads it: a fifth of a second and 20 MB that only those pay who need it. */
export async function loadX509(): Promise<X509Package> {
  return await import("@peculiar/x509");
}
