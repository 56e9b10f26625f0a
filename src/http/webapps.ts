import { join } from "node:path";
import { getMimeType } from "hono/utils/mime";
import { z } from "zod";
import { errorText, type Logger } from "../base/mod.ts";
import { acceptsGzip } from "./reply.ts";

/** A web app for Signal K, such as KIP: files that the server gives to browsers. */
export interface WebApp {
  /** Name of its npm package. */
  readonly name: string;
  /** Name for people. */
  readonly title: string;
  /** Path at which it is served: `/@mxtommy/kip/`. */
  readonly path: string;
  /** The directory with its files, without symbolic links. */
  readonly folder: string;
}

/** Web apps of one directory; further ones are not served. */
export const MAX_WEB_APPS = 64;
/** Keyword of packages that are web apps for signalk-server, and the directory with their files. */
const [KEYWORD, PUBLIC] = ["signalk-webapp", "public"] as const;
const INDEX = "index.html";
const COMPRESSED = /^(?:text\/|application\/(?:javascript|json|wasm|xml)|image\/svg)/;

const packageSchema = z.object({
  name: z.string().regex(/^(?:@[\w.-]+\/)?[\w-][\w.-]*$/),
  keywords: z.array(z.string()).default([]),
  signalk: z.object({ displayName: z.string().optional() }).optional().catch(undefined),
});

/** Finds the web apps among npm packages: in the directory, in its `node_modules`, and in their scopes (`@…`). */
export async function findWebApps(directory: string, log: Logger): Promise<WebApp[]> {
  const apps: WebApp[] = [];
  for (const root of [directory, join(directory, "node_modules")]) {
    for (const folder of await packageFolders(root)) {
      const app = await readWebApp(folder, log);
      if (app && !apps.some(({ name }) => name === app.name) && apps.length < MAX_WEB_APPS) apps.push(app);
    }
  }
  if (apps.length === 0) {
    log.warn("no web app found: expected npm packages with the keyword signalk-webapp", { directory });
  } else log.info("web apps", { directory, apps: apps.map(({ path }) => path).join(" ") });
  return apps.sort((a, b) => a.title.localeCompare(b.title));
}

async function packageFolders(root: string): Promise<string[]> {
  const names = await foldersIn(root);
  const scoped = await Promise.all(
    names.filter((name) => name.startsWith("@")).map(async (scope) =>
      (await foldersIn(join(root, scope))).map((name) => join(root, scope, name))
    ),
  );
  return [...names.filter((name) => !name.startsWith("@")).map((name) => join(root, name)), ...scoped.flat()];
}

async function foldersIn(root: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(root))).filter(({ isFile }) => !isFile).map(({ name }) => name).sort();
  } catch {
    return [];
  }
}

async function readWebApp(folder: string, log: Logger): Promise<WebApp | undefined> {
  try {
    const { name, keywords, signalk } = packageSchema.parse(
      JSON.parse(await Deno.readTextFile(join(folder, "package.json"))),
    );
    if (!keywords.includes(KEYWORD)) return undefined;
    const title = signalk?.displayName ?? name.replace(/^.*\//, "");
    const [root, files] = [await Deno.realPath(folder), await Deno.realPath(join(folder, PUBLIC))];
    if (!files.startsWith(`${root}/`)) throw new Error(`"${PUBLIC}" is elsewhere`);
    return { name, title, path: `/${name}/`, folder: files };
  } catch (error) {
    log.debug("no web app", { folder, reason: errorText(error) });
    return undefined;
  }
}

/** Replies to a request for a file of a web app; undefined: it is a request for something else. Needs no token. */
export async function webAppReply(apps: readonly WebApp[], request: Request): Promise<Response | undefined> {
  if (apps.length === 0 || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const url = new URL(request.url);
  const app = apps.find(({ path }) => url.pathname.startsWith(path) || `${url.pathname}/` === path);
  if (!app) return undefined;
  if (!url.pathname.startsWith(app.path)) {
    return new Response(null, { status: 308, headers: { Location: `${app.path}${url.search}` } });
  }
  const file = await openFile(app.folder, url.pathname.slice(app.path.length));
  return file ? fileReply(request, file) : new Response(`${app.title} has no such file`, { status: 404 });
}

interface OpenFile {
  file: Deno.FsFile;
  info: Deno.FileInfo;
  path: string;
}

/** Opens a file below a directory; undefined: there is none, or it is elsewhere. */
async function openFile(folder: string, name: string): Promise<OpenFile | undefined> {
  try {
    const text = decodeURIComponent(name);
    const path = await Deno.realPath(join(folder, text === "" || text.endsWith("/") ? `${text}${INDEX}` : text));
    if (!path.startsWith(`${folder}/`)) return undefined;
    const info = await Deno.stat(path);
    return info.isFile ? { file: await Deno.open(path), info, path } : undefined;
  } catch {
    return undefined;
  }
}

function fileReply(request: Request, { file, info: { size, mtime }, path }: OpenFile): Response {
  const type = getMimeType(path) ?? "application/octet-stream";
  const etag = `W/"${size.toString(36)}-${(mtime?.getTime() ?? 0).toString(36)}"`;
  const headers = new Headers({
    "Content-Type": type,
    "Cache-Control": "no-cache",
    "ETag": etag,
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
  });
  if (request.headers.get("If-None-Match") === etag || request.method === "HEAD") {
    file.close();
    return new Response(null, { status: request.method === "HEAD" ? 200 : 304, headers });
  }
  if (!COMPRESSED.test(type) || !acceptsGzip(request.headers.get("Accept-Encoding") ?? "")) {
    headers.set("Content-Length", String(size));
    return new Response(file.readable, { headers });
  }
  headers.set("Content-Encoding", "gzip");
  return new Response(file.readable.pipeThrough(new CompressionStream("gzip")), { headers });
}
