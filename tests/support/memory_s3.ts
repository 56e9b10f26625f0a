import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";

interface Kept {
  body: Uint8Array<ArrayBuffer>;
  md5: string;
  /** Headers `x-amz-meta-*`. */
  metadata: [string, string][];
  modified: Date;
}

/** Promises that a store can break. */
export interface Lacks {
  /** Ignores `If-None-Match`. */
  conditions?: boolean;
  /** Ignores `Content-MD5`. */
  digests?: boolean;
  /** Its lists have the order of JavaScript's strings. */
  order?: boolean;
  /** Its lists are empty. */
  lists?: boolean;
  /** Its `ETag` is not the MD5, as with encryption by KMS keys. */
  tags?: boolean;
}

/**
 * As much of S3 as `S3Store` uses, in memory, with one bucket `boats`. It checks no signatures: it shows what our side does
 * with its answers, not what a real store does.
 */
export class MemoryS3 implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #objects = new Map<string, Kept>();
  readonly #lacks: Lacks;
  /** Requests so far, such as `PUT`. */
  readonly requests: string[] = [];

  readonly #observe: (headers: Headers) => void;

  /**
   * Listens on a free port.
   *
   * @param observe is given the headers of each request
   */
  constructor(lacks: Lacks = {}, observe: (headers: Headers) => void = () => {}) {
    this.#lacks = lacks;
    this.#observe = observe;
    this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => this.#answer(request));
  }

  /** `http://127.0.0.1:PORT`. */
  get endpoint(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Keys with the text of their bodies. */
  get content(): Record<string, string> {
    const decoder = new TextDecoder();
    return Object.fromEntries([...this.#objects].map(([key, { body }]) => [key, decoder.decode(body)]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #answer(request: Request): Promise<Response> {
    this.requests.push(request.method);
    this.#observe(request.headers);
    const { pathname, searchParams } = new URL(request.url);
    const body = await request.arrayBuffer().then((bytes) => new Uint8Array(bytes), () => undefined);
    if (!body) return refuse(400, "IncompleteBody");
    const [, bucket, key = ""] = /^\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? [];
    if (bucket !== "boats") return refuse(404, request.method === "HEAD" ? undefined : "NoSuchBucket");
    if (request.method === "POST") {
      if (request.headers.get("content-md5") !== md5Of(body).toString("base64")) return refuse(400, "InvalidDigest");
      return this.#delete(new TextDecoder().decode(body));
    }
    if (key === "") return request.method === "GET" ? this.#list(searchParams) : new Response();
    return request.method === "PUT" ? this.#put(key, { body, headers: request.headers }) : this.#read(key, request);
  }

  #put(key: string, { body, headers }: { body: Uint8Array<ArrayBuffer>; headers: Headers }): Response {
    const digest = md5Of(body);
    if (headers.get("content-md5") !== digest.toString("base64") && !this.#lacks.digests) {
      return refuse(400, "BadDigest");
    }
    if (headers.get("if-none-match") === "*" && this.#objects.has(key) && !this.#lacks.conditions) {
      return refuse(412, "PreconditionFailed");
    }
    const metadata = [...headers].filter(([name]) => name.startsWith("x-amz-meta-"));
    const md5 = this.#lacks.tags ? crypto.randomUUID() : digest.toString("hex");
    this.#objects.set(key, { body, md5, metadata, modified: new Date() });
    return new Response(null, { headers: { etag: `"${md5}"` } });
  }

  #read(key: string, { method, headers }: Request): Response {
    const found = this.#objects.get(key);
    if (!found) return refuse(404, method === "HEAD" ? undefined : "NoSuchKey");
    const { body, md5, metadata, modified } = found;
    const answer = new Headers([...metadata, ["etag", `"${md5}"`], ["last-modified", modified.toUTCString()]]);
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(headers.get("range") ?? "") ?? [];
    if (method === "HEAD") answer.set("content-length", String(body.length));
    if (method === "HEAD" || first === undefined) {
      return new Response(method === "HEAD" ? null : body, { headers: answer });
    }
    if (Number(first) >= body.length) return refuse(416, "InvalidRange");
    const part = body.slice(Number(first), Number(last) + 1);
    answer.set("content-range", `bytes ${first}-${Number(first) + part.length - 1}/${body.length}`);
    return new Response(part, { status: 206, headers: answer });
  }

  #list(query: URLSearchParams): Response {
    const [prefix, after] = [query.get("prefix") ?? "", query.get("start-after") ?? ""];
    const order = this.#lacks.order ? byText : byBytes;
    const keys = [...this.#objects.keys()].sort(order)
      .filter((key) => key.startsWith(prefix) && order(key, after) > 0 && !this.#lacks.lists);
    const page = keys.slice(0, Number(query.get("max-keys")));
    const entries = page.map((key) => {
      const { body, modified } = this.#objects.get(key)!;
      const fields = { Key: encodeURIComponent(key), Size: body.length, LastModified: modified.toISOString() };
      return element("Contents", Object.entries(fields).map(([name, value]) => element(name, value)).join(""));
    });
    const more = element("Name", "boats") + element("KeyCount", page.length) +
      element("IsTruncated", page.length < keys.length);
    return xml(element("ListBucketResult", element("EncodingType", "url") + more + entries.join("")));
  }

  #delete(body: string): Response {
    for (const [, key = ""] of body.matchAll(/<Key>([^<]*)<\/Key>/g)) this.#objects.delete(unescape(key));
    return xml(element("DeleteResult", ""));
  }
}

const md5Of = (body: Uint8Array) => createHash("md5").update(body).digest();
const byText = (a: string, b: string) => a < b ? -1 : Number(a > b);
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const element = (name: string, content: string | number | boolean) => `<${name}>${content}</${name}>`;
const xml = (text: string, status = 200) =>
  new Response(`<?xml version="1.0"?>${text}`, { status, headers: { "content-type": "application/xml" } });

function refuse(status: number, code: string | undefined): Response {
  if (code === undefined) return new Response(null, { status });
  return xml(element("Error", element("Code", code) + element("Message", `refused as ${code}`)), status);
}

function unescape(text: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'", amp: "&" };
  return text.replace(/&(lt|gt|quot|apos|#39|amp);/g, (_, name: string) => signs[name] ?? "");
}
