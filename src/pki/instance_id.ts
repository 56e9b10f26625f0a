/** Longest instance id, characters. */
export const MAX_INSTANCE_ID_LENGTH = 64;

/** True for a valid instance id: it names folders and is the common name of certificates. */
export function isInstanceId(id: string): boolean {
  return id.length <= MAX_INSTANCE_ID_LENGTH && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id);
}
