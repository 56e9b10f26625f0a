/** What an instance id looks like: it is a folder, a part of paths, and the common name of a boat's certificate. */
const INSTANCE_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What an instance id must be, for messages. */
export const INSTANCE_ID_WORDS = "1 to 64 letters, digits, dots, underscores or dashes, the first a letter or digit";

/** Whether text can be an instance id. */
export function isInstanceId(text: string): boolean {
  return INSTANCE_ID.test(text);
}
