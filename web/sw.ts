/// <reference lib="webworker" />
// Service worker: answers requests for the page's own files from a cache when the network does not.

/** Replaced when the page is generated: the page's files, whose names contain digests. */
declare const FILES: readonly string[];
declare const self: ServiceWorkerGlobalScope;

const CACHE = "vbg-page";

self.addEventListener("install", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    await cache.addAll(["/icon.svg", "/manifest.webmanifest", ...FILES]);
    await cache.put("/", await fetch("/", { headers: { Accept: "text/html" } }));
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    const old = (await cache.keys()).filter(({ url }) => {
      const { pathname } = new URL(url);
      return pathname.startsWith("/assets/") && !FILES.includes(pathname);
    });
    await Promise.all(old.map((each) => cache.delete(each)));
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  // Web apps of others on this server have pages of their own.
  if (request.mode === "navigate" && (pathname === "/" || pathname === "/docs")) event.respondWith(newest(request));
  else if (FILES.includes(pathname)) event.respondWith(kept(request, pathname));
});

/** The page: the server's, else the one that was kept. */
async function newest(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    const page = await caches.match("/");
    if (page) return page;
    throw error;
  }
}

/** A file whose name contains a digest never changes. */
async function kept(request: Request, path: string): Promise<Response> {
  return await caches.match(path) ?? await fetch(request);
}
