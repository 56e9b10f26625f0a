import assert from "node:assert/strict";
import { pause } from "../../src/base/mod.ts";
import { isStoreError, S3Archive, type S3ArchiveOptions } from "../../src/object_store/mod.ts";
import { S3Requests } from "../../src/object_store/s3_requests.ts";
import { inFolder } from "../support/folder.ts";
import { type Fault, HttpProxy } from "../support/http_proxy.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { needs } from "../support/needs.ts";

/** The package reads the files and variables of the AWS tools. */
const S3 = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const BODY = "frames ".repeat(100_000);

/** Puts a file into a store. */
function store(
  endpoint: string,
  { body = BODY, ...options }: { body?: string } & Partial<S3ArchiveOptions> = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/a`, body);
    using archive = await S3Archive.open({
      ...{ bucket: "boats", endpoint, region: undefined, isPathStyle: true, storageClass: undefined },
      credentials: { accessKeyId: "TESTACCESSKEY", secretAccessKey: "TESTSECRETKEY" },
      ...{ stallMs: 10_000, attempts: 1, ...options },
    });
    resolve(await archive.storeFile(`${folder}/a`, "aurora/a"));
  }).catch(reject);
  return promise;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  text?: string;
}

/** Stores a file with a server that has these answers; the result or the message, and what the server was asked. */
async function storeAt(answers: Answer[], options: Partial<S3ArchiveOptions> = {}): Promise<[string, string[]]> {
  const requests: string[] = [];
  await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { status, headers = {}, text } = answers[requests.length] ?? { status: 500 };
    requests.push(`${request.method}${request.headers.has("if-none-match") ? " if new" : ""}`);
    await request.body?.pipeTo(new WritableStream());
    return new Response(request.method === "HEAD" ? null : text, { status, headers });
  });
  const result = await store(`http://127.0.0.1:${server.addr.port}`, options).catch((error) => String(error.message));
  return [result, requests];
}

const refusal = (code: string) => `<Error><Code>${code}</Code><Message>refused</Message></Error>`;

Deno.test("S3 archive: where the ETag is no MD5, one more request shows what is stored", S3, async () => {
  await using s3 = new MemoryS3({ tags: true });
  assert.equal(await store(s3.endpoint), "stored");
  assert.deepEqual(s3.requests, ["HEAD", "PUT", "HEAD"]);
  assert.equal(await store(s3.endpoint), "stored");
  assert.equal(await store(s3.endpoint, { body: "other" }), "differs");
  assert.deepEqual(s3.content, { "aurora/a": BODY });
});

Deno.test("S3 archive: a store without If-None-Match gets the file if it has none of that name", S3, async () => {
  const lacking: Answer = { status: 501, text: refusal("NotImplemented") };
  const [result, requests] = await storeAt([{ status: 404 }, lacking, { status: 200 }, { status: 403 }]);
  assert.deepEqual([result, requests], ["stored", ["HEAD", "PUT if new", "PUT", "HEAD"]]);
  const [refused, asked] = await storeAt([{ status: 403 }, lacking]);
  assert.match(refused, /^Cannot store "aurora\/a" in s3:\/\/boats at \S+: the store answered 501, NotImplemented: /);
  assert.deepEqual(asked, ["HEAD", "PUT if new"]);
});

Deno.test("S3 archive: a key that may only write stores files, and is told that a name is taken", S3, async () => {
  const [stored] = await storeAt([{ status: 403 }, { status: 200 }, { status: 403 }]);
  assert.equal(stored, "stored");
  const taken: Answer = { status: 412, text: refusal("PreconditionFailed") };
  assert.match((await storeAt([{ status: 403 }, taken, { status: 403 }]))[0], /answered 412, PreconditionFailed/);
});

Deno.test("S3 archive: another writer at the same time is waited for", S3, async () => {
  const busy: Answer = { status: 409, text: refusal("ConditionalRequestConflict") };
  const other: Answer = { status: 200, headers: { etag: '"5d41402abc4b2a76b9719d911017c592"' } };
  const [result, requests] = await storeAt([{ status: 404 }, busy, { ...busy, status: 412 }, other], { attempts: 2 });
  assert.deepEqual([result, requests], ["differs", ["HEAD", "PUT if new", "PUT if new", "HEAD"]]);
});

Deno.test("S3 archive: in the wrong region the message names the right one", S3, async () => {
  const headers = { "x-amz-bucket-region": "eu-north-1" };
  const [result] = await storeAt([{ status: 301, headers }, {
    status: 301,
    headers,
    text: refusal("PermanentRedirect"),
  }]);
  assert.match(result, /answered 301, PermanentRedirect: refused; the bucket's region is "eu-north-1"$/);
});

const FAULTS: readonly [Fault, once: RegExp, always: RegExp][] = [
  ["drop", /^stored$/, /^Cannot store "aurora\/a" in s3:\/\/boats at \S+: ./],
  ["lose answer", /^stored$/, /^stored$|^Cannot store "aurora\/a" in s3:\/\/boats at \S+: ./],
  ["slow down", /^stored$/, /the store answered 503, SlowDown: /],
  ["cut upload", /^stored$/, /^Cannot store "aurora\/a" in s3:\/\/boats at \S+: ./],
  ["forget", /but there is no such object$/, /but there is no such object$/],
  ["forget with a tag", /but there is no such object$/, /but there is no such object$/],
];

for (const [fault, once, always] of FAULTS) {
  Deno.test(`S3 archive: nothing is reported as stored that is not there when PUTs meet "${fault}"`, S3, async () => {
    for (const [times, expected] of [[1, once], [Infinity, always]] as const) {
      await using s3 = new MemoryS3();
      await using proxy = await HttpProxy.start(s3.endpoint);
      proxy.next("PUT", fault, times);
      const result = await store(proxy.endpoint, { attempts: 2 }).catch((error) => String(error.message));
      assert.match(result, expected);
      if (result === "stored") assert.deepEqual(s3.content, { "aurora/a": BODY });
      else assert.ok([undefined, BODY].includes(s3.content["aurora/a"]));
    }
  });
}

Deno.test("S3 archive: an attempt whose body does not move any more ends, and leaves nothing open", S3, async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  // More than the system's buffers take.
  const body = "x".repeat(30_000_000);
  const result = assert.rejects(
    store(`http://127.0.0.1:${port}`, { body, stallMs: 300 }),
    (error) => isStoreError(error, "away") && /^Cannot store .*: nothing moved for 0\.3 s$/.test(error.message),
  );
  for (const answer of ["404 Not Found", "100 Continue"]) {
    using connection = await listener.accept();
    await connection.read(new Uint8Array(10_000));
    await connection.write(new TextEncoder().encode(`HTTP/1.1 ${answer}\r\n\r\n`));
    if (answer.startsWith("100")) await result;
  }
});

Deno.test("S3 requests: an attempt may take any time while something moves", async () => {
  const requests = new S3Requests({
    ...{ url: "s3://boats", timeoutMs: 250, attempts: 1 },
    retry: { firstMs: 1, capMs: 1 },
  });
  const send = async (_: AbortSignal, progress: () => void) => {
    for (let step = 0; step < 20; step++) {
      await pause(20);
      progress();
    }
    return "sent";
  };
  assert.equal(await requests.send({ action: "store", send }), "sent");
  const stall = { action: "store in", send: (signal: AbortSignal) => pause(10_000, signal) };
  await assert.rejects(requests.send(stall), /^StoreError: Cannot store in s3:\/\/boats: it took longer than 0.25 s$/);
});
