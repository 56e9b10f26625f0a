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

/** What else decides whether a request may use a session. */
export interface SessionOriginRules {
  /** As for {@linkcode maySend}. */
  allowOrigins: readonly string[];
  /** True where requests come over TLS alone: then no other site can take the server's name. */
  isOverTls: boolean;
}

/**
 * Whether a request may use a session, as far as the browser tells of the page that makes it: the rule of sending, and
 * more for GET. A browser leaves out `Origin` in a GET of the page's own site, which may be a public name that was pointed
 * at the boat's address (DNS rebinding), and in a GET for an image or script, which any page may ask for.
 */
export function mayUseSession(
  { method, headers }: Pick<Request, "method" | "headers">,
  { allowOrigins, isOverTls }: SessionOriginRules,
): boolean {
  const isRead = method === "GET" || method === "HEAD";
  // Where browsers send Sec-Fetch-Site, it tells: no page can set it.
  if (!isRead || headers.has("Origin") || headers.has("Sec-Fetch-Site") || allowOrigins.includes("*")) {
    return maySend(headers, allowOrigins);
  }
  const host = headers.get("Host");
  if (!isOverTls && host !== null && !isKnownHost(host, allowOrigins)) return false;
  if (!BROWSER.test(headers.get("User-Agent") ?? "")) return true;
  const page = originOf(headers.get("Referer"));
  return page !== undefined && (allowOrigins.includes(page) || isOwnPage(page, host));
}

/** What the user agent of every browser begins with; no page can change it in a request to another site. */
const BROWSER = /^Mozilla\//;

/** Whether no other site can have this name, or it is that of a listed origin. */
function isKnownHost(host: string, allowOrigins: readonly string[]): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  if (isLocalName(new URL(`http://${host}`).hostname)) return true;
  return allowOrigins.some((origin) => {
    if (!URL.canParse(origin)) return false;
    const listed = new URL(origin);
    return listed.host !== "" && new URL(`${listed.protocol}//${host}`).host === listed.host;
  });
}

function originOf(referer: string | null): string | undefined {
  return referer !== null && URL.canParse(referer) ? new URL(referer).origin : undefined;
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
