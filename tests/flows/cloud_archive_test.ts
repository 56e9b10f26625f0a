import assert from "node:assert/strict";
import { type Cloud, type CloudOptions, startCloud } from "../../src/cloud_server/cloud.ts";
import { formatFileName } from "../../src/journal/file/name.ts";
import { ALL_OK, readLog, writeScript } from "../journal/retention/script.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { parseMetrics } from "../support/prometheus.ts";
import { needs } from "../support/needs.ts";

const PROCESSES = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["sh", "cat", "chmod"],
});
const HERE = { hostname: "127.0.0.1", port: 0 };
const TRIGGERS = ["on-rotate", "before-expire"] as const;
const FILES = 5;

interface Init {
  trigger: (typeof TRIGGERS)[number];
  command: string;
  archiveStartTimeoutMs?: number;
  signal?: AbortSignal;
}

/** A cloud whose two boats have files that nobody has archived. */
function start(folder: string, { trigger, command, archiveStartTimeoutMs, signal }: Init): Promise<Cloud> {
  for (const id of ["ada", "bob"]) {
    Deno.mkdirSync(`${folder}/data/${id}`, { recursive: true });
    for (let i = 0; i < FILES; i++) {
      const name = formatFileName("nmea2k", START_US + i * 3_600_000_000);
      Deno.writeFileSync(`${folder}/data/${id}/${name}`, new Uint8Array(100));
    }
  }
  const options: CloudOptions = {
    dataDirectory: `${folder}/data`,
    ports: { kind: "insecure", grpc: HERE, http: HERE },
    journal: {
      ...{ archiveCommand: command, retention: { softPercent: 80, overflow: "delete-unarchived", archive: trigger } },
      ...(archiveStartTimeoutMs !== undefined && { archiveStartTimeoutMs }),
    },
    ...(signal && { signal }),
  };
  return startCloud(options);
}

/** Markers of both boats. */
function marked(folder: string): number {
  const names = ["ada", "bob"].flatMap((id) => [...Deno.readDirSync(`${folder}/data/${id}`)]);
  return names.filter(({ name }) => name.endsWith(".archived")).length;
}

for (const trigger of TRIGGERS) {
  Deno.test(
    `a cloud with ${trigger} archives what was not before anybody is served`,
    PROCESSES,
    () =>
      inFolder(async (folder) => {
        const cloud = await start(folder, { trigger, command: await writeScript(folder, `sleep 0.2\n${ALL_OK}`) });
        try {
          assert.equal(marked(folder), 2 * FILES);
          assert.equal((await readLog(folder)).length, 2);
        } finally {
          await cloud.stop();
        }
      }),
  );

  Deno.test(
    `a cloud with ${trigger} whose archive is slow serves after a while, and archives on`,
    PROCESSES,
    () =>
      inFolder(async (folder) => {
        const command = await writeScript(folder, `while [ ! -e "$LOG.go" ]; do sleep 0.05; done\n${ALL_OK}`);
        const cloud = await start(folder, { trigger, command, archiveStartTimeoutMs: 50 });
        try {
          assert.equal(marked(folder), 0);
          const { status } = await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/livez`).then(async (reply) => {
            await reply.body?.cancel();
            return reply;
          });
          assert.equal(status, 200);
          Deno.writeTextFileSync(`${folder}/archive.log.go`, "");
          await eventually("all archived", () => marked(folder) === 2 * FILES);
        } finally {
          await cloud.stop();
        }
      }),
  );
}

Deno.test(
  "a cloud that is stopped while it still archives ends, and the command with it",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const stopping = new AbortController();
      const command = await writeScript(folder, `echo run >>"$LOG"; sleep 600`);
      const started = start(folder, { trigger: "on-rotate", command, signal: stopping.signal });
      await eventually("the command", async () => (await readLog(folder)).length === 1);
      stopping.abort();
      await assert.rejects(started, (error) => error === stopping.signal.reason);
    }),
);

Deno.test(
  "a cloud whose archive command fails is degraded and counts each failure, and is well after a restart with one that works",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const command = await writeScript(folder, `[ -e "$LOG.go" ] || exit 3\n${ALL_OK}`);
      const cloud = await start(folder, { trigger: "on-rotate", command });
      try {
        const archive = async () => {
          const reply = await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/healthz`);
          return (await reply.json()).components.archive;
        };
        assert.deepEqual(await archive(), {
          status: "degraded",
          message: "boats with files that could not be archived: 2",
        });
        const metrics = await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/metrics`).then((reply) =>
          reply.text()
        );
        const { type, samples } = parseMetrics(metrics).get("vbg_cloud_instance_archive_failures_total") ?? {};
        const each: [string, number][] = ["ada", "bob"].map((id) => [`{instance="${id}"}`, FILES]);
        assert.deepEqual([type, [...samples ?? []]], ["counter", each]);
        Deno.writeTextFileSync(`${folder}/archive.log.go`, "");
      } finally {
        await cloud.stop();
      }
      // The retry without a restart waits minutes.
      const again = await start(folder, { trigger: "on-rotate", command });
      try {
        const reply = await fetch(`http://127.0.0.1:${again.addresses.http.port}/healthz`);
        const { components } = await reply.json();
        assert.equal(components.archive, undefined);
        assert.equal(marked(folder), 2 * FILES);
      } finally {
        await again.stop();
      }
    }),
);
