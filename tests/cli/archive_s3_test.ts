import assert from "node:assert/strict";
import { run } from "../../cli/commands/archive_s3/archive_s3.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { BUCKET, S3_ENVIRONMENT, S3Server } from "../support/s3_server.ts";

/** Certificates, hashes and HTTP by `node:` modules look at the machine. */
const PERMISSIONS = ["env", "net", "read", "sys", "write"] as const;
const STORE = needs({ permissions: [...PERMISSIONS, "run"], programs: ["s3rver"] });
const ALONE = needs({ permissions: [...PERMISSIONS] });
const FAST = ["-attempts", "1"];

interface Line {
  path: string;
  status: string;
  error?: string;
}

/** Runs the command as the server would; what it answers, in order. */
async function archive(
  args: string[],
  { lines, environment = S3_ENVIRONMENT }: { lines: (object | string)[]; environment?: Record<string, string> },
) {
  const answers: Line[] = [];
  const complaints: string[] = [];
  const input = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line)).join("\n");
  const code = await run({
    args,
    environment,
    print: (text) => answers.push(JSON.parse(text) as Line),
    printError: (text) => complaints.push(text),
  }, new Blob([input]).stream());
  return { code, answers, complained: complaints.join("\n") };
}

/** A folder with files in it, and a store. */
async function withStore(
  test: (bench: { folder: string; store: S3Server; to: string[]; write: (name: string, text?: string) => object }) =>
    | Promise<void>
    | void,
): Promise<void> {
  await inFolder(async (folder) => {
    await using store = new S3Server(`${folder}/store`);
    const to = ["-bucket", BUCKET, "-endpoint", await store.endpoint, ...FAST];
    await test({ folder, store, to, write: (name, text) => write(folder, { name, text }) });
  });
}

/** Writes a file and gives the line that tells of it. */
function write(folder: string, { name, text = name }: { name: string; text?: string | undefined }): object {
  const path = `${folder}/${name}`;
  Deno.writeTextFileSync(path, text);
  return { path, instance_id: "sea-otter", size: text.length, created: "2026-01-01T00:00:00Z" };
}

const errors = (answers: Line[]) => answers.map(({ error }) => error ?? "none");

Deno.test(
  "archive-s3 stores a file's bytes under prefix, instance id and name",
  STORE,
  () =>
    withStore(async ({ folder, store, to }) => {
      const bytes = crypto.getRandomValues(new Uint8Array(60_000)).toBase64().repeat(20);
      const line = write(folder, { name: "nmea2k-1.lpj", text: bytes });
      const { code, answers } = await archive([...to, "-prefix", "fleet/2026"], { lines: [line] });
      assert.deepEqual({ code, answers }, { code: 0, answers: [{ path: `${folder}/nmea2k-1.lpj`, status: "ok" }] });
      assert.deepEqual(store.read("fleet/2026/sea-otter/nmea2k-1.lpj"), new TextEncoder().encode(bytes));
    }),
);

Deno.test(
  "archive-s3 keeps names with blanks and signs as they are, and stores empty files",
  STORE,
  () =>
    withStore(async ({ store, to, write }) => {
      const line = { ...write("a b+c'(é)!.lpj"), instance_id: "Léa's boat & co" };
      const { answers } = await archive(to, { lines: [line, write("empty.lpj", "")] });
      assert.deepEqual(answers.map(({ status }) => status), ["ok", "ok"]);
      assert.deepEqual(await store.stored(), ["Léa's boat & co/a b+c'(é)!.lpj", "sea-otter/empty.lpj"].sort());
    }),
);

Deno.test(
  "archive-s3 stores what belongs to a file beside it, and the file counts as archived only with that",
  STORE,
  () =>
    withStore(async ({ folder, store, to, write }) => {
      const line = write("1.lpj");
      const sidecars = ["1.lpj.evidence", "1.lpj.evidence.sig"].map((name) => `${folder}/${name}`);
      for (const path of sidecars) Deno.writeTextFileSync(path, path);
      const missing = { ...write("2.lpj"), sidecars: [`${folder}/2.lpj.evidence`] };
      const { answers } = await archive(to, { lines: [{ ...line, sidecars }, missing] });
      assert.deepEqual(answers.map(({ path, status }) => [path, status]).sort(), [
        [`${folder}/1.lpj`, "ok"],
        [`${folder}/2.lpj`, "error"],
      ]);
      const names = ["1.lpj", "1.lpj.evidence", "1.lpj.evidence.sig", "2.lpj"];
      assert.deepEqual(await store.stored(), names.map((name) => `sea-otter/${name}`));
    }),
);

Deno.test(
  "archive-s3 sends nothing when the store has the file already",
  STORE,
  () =>
    withStore(async ({ store, to, write }) => {
      const lines = [write("1.lpj"), write("2.lpj")];
      await archive(to, { lines });
      const { answers } = await archive(to, { lines });
      assert.deepEqual(answers.map(({ status }) => status), ["ok", "ok"]);
      assert.equal((await store.stored()).length, 2);
    }),
);

Deno.test(
  "archive-s3 never overwrites another object, and says so of that file alone",
  STORE,
  () =>
    withStore(async ({ store, to, write }) => {
      await archive(to, { lines: [write("1.lpj", "of this boat")] });
      const { code, answers } = await archive(to, { lines: [write("1.lpj", "of that boat"), write("2.lpj")] });
      assert.equal(code, 0);
      assert.deepEqual(errors(answers).sort(), [
        'Cannot archive as "sea-otter/1.lpj": another object is there. Do two boats have the same instance id?',
        "none",
      ]);
      assert.equal(new TextDecoder().decode(store.read("sea-otter/1.lpj")), "of this boat");
    }),
);

Deno.test(
  "archive-s3 tells what the store says of a bucket or a key that it does not know",
  STORE,
  () =>
    withStore(async ({ to, write }) => {
      const lines = [write("1.lpj")];
      const bucket = await archive([...to, "-bucket", "elsewhere"], { lines });
      assert.match(
        errors(bucket.answers).join(),
        /^Cannot store "sea-otter\/1.lpj" in s3:\/\/elsewhere at \S*: the store answered 404, NoSuchBucket: /,
      );
      const stranger = { ...S3_ENVIRONMENT, AWS_ACCESS_KEY_ID: "STRANGER", AWS_SECRET_ACCESS_KEY: "a-secret" };
      const key = await archive(to, { lines, environment: stranger });
      assert.match(errors(key.answers).join(), /: the store answered 403, InvalidAccessKeyId: /);
      assert.deepEqual([bucket.code, key.code], [0, 0]);
      assert.doesNotMatch(JSON.stringify([bucket, key]), /a-secret/);
    }),
);

Deno.test(
  "archive-s3 stores twenty files at once, also from more than one boat",
  STORE,
  () =>
    withStore(async ({ store, to, write }) => {
      const lines = Array.from({ length: 20 }, (_, i) => ({ ...write(`${i}.lpj`), instance_id: `boat-${i % 2}` }));
      const { answers } = await archive([...to, "-concurrency", "20"], { lines });
      assert.deepEqual(errors(answers), lines.map(() => "none"));
      assert.deepEqual(await store.stored(), lines.map((_, i) => `boat-${i % 2}/${i}.lpj`).sort());
    }),
);

Deno.test(
  "archive-s3 answers each file, named by a line, an argument or both, and only once",
  STORE,
  () =>
    withStore(async ({ folder, to, write }) => {
      const there = write("there.lpj");
      const lines = ["no JSON", "7", there, there, { path: `${folder}/gone.lpj`, instance_id: "boat" }, {
        path: "x.lpj",
      }, {
        path: "y.lpj",
        instance_id: "../other",
      }];
      const { code, answers, complained } = await archive([...to, `${folder}/there.lpj`, "bare.lpj"], { lines });
      assert.equal(code, 0);
      assert.deepEqual(
        new Map(answers.map(({ path, error }) => [path.replace(folder, ""), error?.replace(folder, "")])),
        new Map([
          ["/there.lpj", undefined],
          ["/gone.lpj", `Cannot read "/gone.lpj": No such file or directory (os error 2): open '${folder}/gone.lpj'`],
          ["x.lpj", "Cannot archive without an instance id that can be a folder: there is none"],
          ["y.lpj", 'Cannot archive without an instance id that can be a folder: found "../other"'],
          ["bare.lpj", "no line on standard input says whose file it is"],
        ]),
      );
      assert.equal(answers.length, 5);
      assert.match(complained, /Cannot read the line "no JSON": .*\n.*Cannot read the line "7": /);
    }),
);

Deno.test("archive-s3 refuses every file with code 2 when its settings are wrong", ALONE, async () => {
  const lines = [{ path: "a.lpj", instance_id: "boat" }, { path: "b.lpj", instance_id: "boat" }];
  const cases: [args: string[], why: RegExp][] = [
    [["a.lpj"], /flag -bucket: Cannot archive without a bucket/],
    [["-bukket", "x", "a.lpj"], /Unknown flag -bukket: did you mean -bucket\?/],
    [
      ["-bucket", "boats", "-endpoint", "http://user:pass-word@nas"],
      /flag -endpoint: Cannot read the URL: expected https/,
    ],
    [["-bucket", "boats", "-prefix", "a//b"], /flag -prefix: Cannot use the key prefix "a\/\/b"/],
  ];
  for (const [args, why] of cases) {
    const { code, answers, complained } = await archive(args, { lines, environment: { HOME: "/nonexistent" } });
    assert.equal(code, 2);
    assert.deepEqual(answers.map(({ path, status }) => [path, status]), [["a.lpj", "error"], ["b.lpj", "error"]]);
    for (const { error = "" } of answers) assert.match(error, why);
    assert.match(complained, why);
    assert.doesNotMatch(complained, /pass-word/);
  }
});

Deno.test("archive-s3 tells of a store that is down, after so many attempts", ALONE, () =>
  inFolder(async (folder) => {
    using nobody = HeldPort.take();
    const { port } = nobody;
    const { code, answers } = await archive(
      ["-bucket", BUCKET, "-endpoint", `http://127.0.0.1:${port}`, "-attempts", "2"],
      { lines: [write(folder, { name: "1.lpj" })] },
    );
    assert.equal(code, 0);
    const where = `Cannot look up "sea-otter/1.lpj" in s3://${BUCKET} at 127.0.0.1:${port}`;
    assert.match(errors(answers).join(), new RegExp(`^${where}: .*refused`, "i"));
  }));

/** Runs the command against a listener that does with each connection as told. */
async function withListener(
  talk: (connection: Deno.Conn) => Promise<void>,
  test: (port: number) => Promise<void>,
): Promise<void> {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      connections.push(connection);
      talk(connection).catch(() => {});
    }
  })();
  await test((listener.addr as Deno.NetAddr).port);
  listener.close();
  await accepting;
  for (const connection of connections) connection.close();
}

Deno.test(
  "archive-s3 gives up a store that takes a connection and never answers",
  ALONE,
  () =>
    inFolder((folder) =>
      withListener(() => Promise.resolve(), async (port) => {
        const { answers } = await archive(
          ["-bucket", BUCKET, "-endpoint", `http://127.0.0.1:${port}`, "-timeout", "100ms", ...FAST],
          { lines: [write(folder, { name: "1.lpj" }), write(folder, { name: "2.lpj" })] },
        );
        const expected = [1, 2].map((name) =>
          `Cannot look up "sea-otter/${name}.lpj" in s3://${BUCKET} at 127.0.0.1:${port}: it took longer than 0.1 s`
        );
        assert.deepEqual(errors(answers).sort(), expected);
      })
    ),
);

/** Reads a request's head and answers it. */
async function answerHead(connection: Deno.Conn, answer: (head: string) => string): Promise<void> {
  const bytes = new Uint8Array(64 * 1024);
  for (let head = ""; !head.includes("\r\n\r\n");) {
    const count = await connection.read(bytes);
    if (count === null) return;
    head += new TextDecoder().decode(bytes.subarray(0, count));
    if (head.includes("\r\n\r\n")) await connection.write(new TextEncoder().encode(answer(head)));
  }
}

const reply = (status: string, text = "") => `HTTP/1.1 ${status}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;

Deno.test(
  "archive-s3 asks before it sends a large file, and tells why it is not wanted",
  ALONE,
  () =>
    inFolder((folder) => {
      const heads: string[] = [];
      const talk = (connection: Deno.Conn) =>
        answerHead(connection, (head) => {
          heads.push(head);
          const why = "<Error><Code>RequestTimeTooSkewed</Code><Message>The clock is wrong</Message></Error>";
          return head.startsWith("HEAD") ? reply("403 Forbidden") : reply("403 Forbidden", why);
        });
      return withListener(talk, async (port) => {
        const args = [
          "-bucket",
          BUCKET,
          "-endpoint",
          `http://127.0.0.1:${port}`,
          "-storage-class",
          "STANDARD_IA",
          ...FAST,
        ];
        const { answers } = await archive(args, {
          lines: [write(folder, { name: "1.lpj", text: "x".repeat(5_000_000) })],
        });
        assert.deepEqual(errors(answers), [
          `Cannot store "sea-otter/1.lpj" in s3://${BUCKET} at 127.0.0.1:${port}: ` +
          "the store answered 403, RequestTimeTooSkewed: The clock is wrong",
        ]);
        const [, put = ""] = heads;
        assert.match(put, /^PUT \/boats\/sea-otter\/1\.lpj\?x-id=PutObject HTTP\/1\.1\r\n/);
        for (const line of ["expect: 100-continue", "content-length: 5000000", "if-none-match: *", "content-md5: "]) {
          assert.ok(put.toLowerCase().includes(`\r\n${line}`), `${line} in ${put}`);
        }
        assert.match(put, /\r\nx-amz-storage-class: STANDARD_IA\r\n/i);
        assert.match(put, /\r\nx-amz-content-sha256: [0-9a-f]{64}\r\n/i);
      });
    }),
);

Deno.test("archive-s3 takes a file for stored that another try had stored already", ALONE, () =>
  inFolder((folder) => {
    const replies = [
      reply("404 Not Found"),
      reply("503 Slow Down"),
      reply("412 Precondition Failed"),
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: "5d41402abc4b2a76b9719d911017c592"\r\n\r\n',
    ];
    const methods: string[] = [];
    const talk = (connection: Deno.Conn) =>
      answerHead(connection, (head) => {
        methods.push(head.slice(0, 4).trim());
        return replies[methods.length - 1] ?? "";
      });
    return withListener(talk, async (port) => {
      const args = ["-bucket", BUCKET, "-endpoint", `http://127.0.0.1:${port}`, "-attempts", "2"];
      const { answers } = await archive(args, { lines: [write(folder, { name: "1.lpj", text: "hello" })] });
      assert.deepEqual([errors(answers), methods], [["none"], ["HEAD", "PUT", "PUT", "HEAD"]]);
    });
  }));
