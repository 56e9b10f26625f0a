/**
 * Whether a request may send, as far as the browser tells of the page that makes it. A page is allowed that the server
 * itself has given out, under a name that nobody outside the boat can own (so that no public name can be pointed at the
 * boat's address for the purpose), and every page that is listed. What is no browser sends neither header and is allowed.
 *
 * @param allowOrigins `scheme://host[:port]`, as browsers write it; `*` allows every page
 */
export function maySend(headers: Headers, allowOrigins: readonly string[]): boolean {
  const origin = headers.get("Origin");
  if (allowOrigins.includes("*") || (origin !== null && allowOrigins.includes(origin.toLowerCase()))) return true;
  // Where the browser says it: the same host by another scheme is another server, and the Host header does not tell.
  const isOwnSite = ["none", "same-origin"].includes(headers.get("Sec-Fetch-Site") ?? "none");
  return isOwnSite && (origin === null || isOwnPage(origin, headers.get("Host")));
}

/** Whether page and request are of the same host and port, by a local name. */
function isOwnPage(origin: string, host: string | null): boolean {
  if (host === null || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  // Of everything but http and https, `origin` is "null"; of a list of several it is shorter than what was given.
  if (page.origin !== origin.toLowerCase()) return false;
  const here = `${page.protocol}//${host}`;
  return URL.canParse(here) && new URL(here).host === page.host && isLocalName(page.hostname);
}

/** Addresses, names of the local network, and names that no public name server knows. */
function isLocalName(hostname: string): boolean {
  const isAddress = hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  return isAddress || !hostname.includes(".") || /[^.]\.(local|localhost)$/.test(hostname);
}
