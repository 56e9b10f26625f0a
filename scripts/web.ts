// Generates src/http/page/assets.gen.json from web/: script, style and service worker, bundled, minified and packed. `--check`
// only compares the committed file with the sources.
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { runProgram } from "./script.ts";

const TARGET = new URL("../src/http/page/assets.gen.json", import.meta.url);
const WEB = new URL("../web/", import.meta.url);
const DIGEST_CHARACTERS = 10;
const SCRIPT = "text/javascript; charset=utf-8";

/** A file of the page; see `src/http/page/page.ts`. */
interface Asset {
  path: string;
  type: string;
  gzip: string;
  isHashed: boolean;
}

/** Contents of a file of the page. */
interface Part {
  path: string;
  type: string;
  text: string;
  isHashed: boolean;
}

async function makeParts(): Promise<Part[]> {
  const folder = await Deno.makeTempDir({ prefix: "vbg_web_" });
  try {
    const { js, css, chunks } = await bundled("main.tsx", folder);
    const script = hashed("app", { extension: "js", type: "text/javascript", text: js });
    const style = hashed("app", { extension: "css", type: "text/css", text: css });
    const files = JSON.stringify([script, style, ...chunks].map(({ path }) => path));
    const worker = (await bundled("sw.ts", folder)).js.replaceAll(/\bFILES\b/g, files);
    const page = (await Deno.readTextFile(new URL("index.html", WEB)))
      .replace("{{style}}", style.path).replace("{{script}}", script.path);
    return [
      { path: "/index.html", type: "text/html; charset=utf-8", text: page, isHashed: false },
      ...[script, style, ...chunks],
      { path: "/sw.js", type: SCRIPT, text: worker, isHashed: false },
      await asItIs("manifest.webmanifest", "application/manifest+json"),
      await asItIs("icon.svg", "image/svg+xml"),
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a file and its imports become. */
interface Bundle {
  js: string;
  css: string;
  /** Scripts that are loaded when they are needed; their names contain a digest of their contents. */
  chunks: Part[];
}

/** Bundles a file with its imports: scripts, and the style sheets that they import. */
async function bundled(entry: string, parent: string): Promise<Bundle> {
  const folder = await Deno.makeTempDir({ dir: parent });
  const flags = ["--quiet", "--frozen", "--platform", "browser", "--minify", "--code-splitting", "--outdir", folder];
  await runProgram(Deno.execPath(), ["bundle", ...flags, entry], { cwd: fileURLToPath(WEB) });
  const base = entry.replace(/\.tsx?$/, "");
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name).sort();
  const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
  const scripts = names.filter((name) => name.endsWith(".js") && name !== `${base}.js`);
  const texts = new Map(await Promise.all(scripts.map(async (name) => [name, await read(name)] as const)));
  const renamed = (text: string, nameOf: (name: string) => string) =>
    scripts.reduce((all, name) => all.replaceAll(name, nameOf(name)), text);
  // The bundler's own digests depend on the folder of Deno's cache.
  const newNames = new Map(Array.from(texts, ([name, text]) => {
    const stem = name.replace(/-[^-]*$/, "");
    return [name, `${stem}-${digestOf(renamed(text, () => ""))}.js`];
  }));
  const withNewNames = (text: string) => renamed(text, (name) => newNames.get(name) ?? name);
  return {
    js: withNewNames(await read(`${base}.js`)),
    css: names.includes(`${base}.css`) ? await read(`${base}.css`) : "",
    chunks: Array.from(texts, ([name, text]): Part => {
      return { path: `/assets/${newNames.get(name)}`, type: SCRIPT, text: withNewNames(text), isHashed: true };
    }),
  };
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_CHARACTERS);
}

/** A file whose name contains a digest of its contents: browsers may keep it forever. */
function hashed(name: string, { extension, type, text }: { extension: string; type: string; text: string }): Part {
  return {
    path: `/assets/${name}-${digestOf(text)}.${extension}`,
    type: `${type}; charset=utf-8`,
    text,
    isHashed: true,
  };
}

async function asItIs(name: string, type: string): Promise<Part> {
  return { path: `/${name}`, type, text: await Deno.readTextFile(new URL(name, WEB)), isHashed: false };
}

/** Paths and texts of the committed file; the packed bytes may differ between versions of zlib. */
async function committed(): Promise<string> {
  const assets: Asset[] = JSON.parse(await Deno.readTextFile(TARGET));
  return JSON.stringify(assets.map(({ path, type, gzip, isHashed }) => {
    return { path, type, text: gunzipSync(Uint8Array.fromBase64(gzip)).toString(), isHashed };
  }));
}

const parts = await makeParts();
if (Deno.args.includes("--check")) {
  if (await committed().catch(() => "") !== JSON.stringify(parts)) {
    console.error("src/http/page/assets.gen.json is not what web/ makes: run `deno task web`");
    Deno.exit(1);
  }
} else {
  const assets = parts.map(({ path, type, text, isHashed }): Asset => {
    return { path, type, gzip: gzipSync(text, { level: 9 }).toString("base64"), isHashed };
  });
  await Deno.writeTextFile(TARGET, "[\n" + assets.map((each) => JSON.stringify(each)).join(",\n") + "\n]\n");
  const bytes = assets.reduce((sum, { gzip }) => sum + gzip.length * 3 / 4, 0);
  console.log(`${assets.length} files, ${Math.round(bytes / 1000)} KB packed`);
}
