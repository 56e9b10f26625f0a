import { isIP } from "node:net";

/** Labels of letters, digits and dashes; the first one may be an asterisk. */
const HOST_NAME =
  /^(?=.{1,253}$)(?:\*\.)?(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** True for a valid host name of a server certificate, wildcards included. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text) && isIP(text) === 0;
}
