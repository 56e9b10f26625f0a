import { acceptsGzip } from "../reply.ts";

/** A file of the page, as `deno task web` generates it. */
interface Asset {
  path: string;
  type: string;
  /** Contents: gzip, as base64. */
  gzip: string;
  /** The path contains a digest of the contents. */
  isHashed: boolean;
}

/** Paths of the page itself; it shows a view by the part of the URL behind `#`. */
const PAGE_PATHS: readonly string[] = ["/", "/docs"];
const PAGE_FILE = "/index.html";

/**
 * No scripts and styles but the server's own, no inline ones, and no text that becomes markup. The policy `vbg` passes the
 * address of the service worker.
 */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": [
    "default-src 'none'",
    ...["script-src", "style-src", "connect-src", "img-src", "manifest-src", "worker-src"].map((each) =>
      `${each} 'self'`
    ),
    "require-trusted-types-for 'script'",
    "trusted-types vbg",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
};
const HASHED_AGE = "public, max-age=31536000, immutable";

/** By path; loaded when the page is first requested. */
let loading: Promise<ReadonlyMap<string, Asset>> | undefined;

/**
 * Replies to a request for the page or one of its files; undefined: it is a request for something else. Needs no token: the
 * page asks for it.
 */
export async function pageReply(request: Request): Promise<Response | undefined> {
  if (request.method !== "GET" && request.method !== "HEAD") return undefined;
  const { pathname } = new URL(request.url);
  const isPage = PAGE_PATHS.includes(pathname);
  if (isPage ? pathname === "/" && !wantsPage(request) : !isAssetPath(pathname)) return undefined;
  const asset = (await (loading ??= loadAssets())).get(isPage ? PAGE_FILE : pathname);
  if (!asset) return undefined;
  const headers = new Headers({
    ...SECURITY_HEADERS,
    "Content-Type": asset.type,
    "Cache-Control": asset.isHashed ? HASHED_AGE : "no-cache",
    "Vary": "Accept, Accept-Encoding",
  });
  const packed = Uint8Array.fromBase64(asset.gzip);
  if (acceptsGzip(request.headers.get("Accept-Encoding") ?? "")) {
    headers.set("Content-Encoding", "gzip");
    headers.set("Content-Length", String(packed.length));
    return new Response(packed, { headers });
  }
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")), { headers });
}

/** True if a request prefers HTML to JSON: browsers accept `text/html`, programs do not name it. */
function wantsPage({ headers }: Request): boolean {
  return headers.get("Accept")?.toLowerCase().includes("text/html") ?? false;
}

/** Most requests are for the API: they are told apart without loading the page. */
function isAssetPath(path: string): boolean {
  return path.startsWith("/assets/") || ["/sw.js", "/manifest.webmanifest", "/icon.svg"].includes(path);
}

async function loadAssets(): Promise<ReadonlyMap<string, Asset>> {
  const { default: files } = await import("./assets.gen.json", { with: { type: "json" } });
  return new Map(files.map((file) => [file.path, file]));
}
