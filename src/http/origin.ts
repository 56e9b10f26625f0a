/**
 * True if the page that makes a request may send. Allowed are the server's own pages under a local name (a public name
 * could be pointed at the boat's address: DNS rebinding) and pages of the listed origins. Programs other than browsers
 * send neither `Origin` nor `Sec-Fetch-Site` and are allowed.
 *
 * @param allowOrigins `scheme://host[:port]`, as browsers write it; `*` allows every page
 */
export function maySend(headers: Headers, allowOrigins: readonly string[]): boolean {
  const origin = headers.get("Origin");
  if (allowOrigins.includes("*") || (origin !== null && allowOrigins.includes(origin.toLowerCase()))) return true;
  // The same host under another scheme is another server, which the Host header does not show.
  const isOwnSite = ["none", "same-origin"].includes(headers.get("Sec-Fetch-Site") ?? "none");
  return isOwnSite && (origin === null || isOwnPage(origin, headers.get("Host")));
}

export interface SessionOriginRules {
  /** As for {@linkcode maySend}. */
  allowOrigins: readonly string[];
  /** True if every request arrives over TLS: then no other site can use the server's name. */
  isOverTls: boolean;
}

/**
 * True if the page that makes a request may use a session: the rule for sending, and more for GET. Browsers leave out
 * `Origin` in a GET to the page's own site, which may be a public name pointed at the boat's address (DNS rebinding),
 * and in a GET for an image or script, which any page may request.
 */
export function mayUseSession(
  { method, headers }: Pick<Request, "method" | "headers">,
  { allowOrigins, isOverTls }: SessionOriginRules,
): boolean {
  const isRead = method === "GET" || method === "HEAD";
  // Sec-Fetch-Site is reliable if present: no page can set it.
  if (!isRead || headers.has("Origin") || headers.has("Sec-Fetch-Site") || allowOrigins.includes("*")) {
    return maySend(headers, allowOrigins);
  }
  const host = headers.get("Host");
  if (!isOverTls && host !== null && !isKnownHost(host, allowOrigins)) return false;
  if (!BROWSER.test(headers.get("User-Agent") ?? "")) return true;
  const page = originOf(headers.get("Referer"));
  return page !== undefined && (allowOrigins.includes(page) || isOwnPage(page, host));
}

/** Prefix of every browser's User-Agent; no page can change it in a request to another site. */
const BROWSER = /^Mozilla\//;

/** True for a local name, which no other site can have, and for the host of a listed origin. */
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

/** True if page and request have the same host and port, under a local name. */
function isOwnPage(origin: string, host: string | null): boolean {
  if (host === null || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  // `origin` is "null" for schemes other than http and https, and shorter than the header for a list of origins.
  if (page.origin !== origin.toLowerCase()) return false;
  const here = `${page.protocol}//${host}`;
  return URL.canParse(here) && new URL(here).host === page.host && isLocalName(page.hostname);
}

/** True for IP addresses, single-label names and names that no public DNS has. */
function isLocalName(hostname: string): boolean {
  const isAddress = hostname.startsWith("[") || /^\d+\.\d+\.\d+\.\d+$/.test(hostname);
  return isAddress || !hostname.includes(".") || /[^.]\.(local|localhost)$/.test(hostname);
}

/**
 * The network that identifies a client without a token: its IPv4 address, or the /64 of its IPv6 address, because one
 * machine may use any address in its /64. Link-local addresses stand for themselves: all machines of a link share the /64.
 */
export function networkOf(address: string): string {
  const [bare = ""] = address.split("%");
  if (!bare.includes(":") || /^fe[89ab]/i.test(bare)) return bare;
  const [before = "", after] = bare.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array<string>(zeros).fill("0"), ...tail].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
