import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { formatFileName } from "../../src/journal/file/name.ts";
import { JournalRetention } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { needs } from "../support/needs.ts";
import { BUCKET, S3_ENVIRONMENT, S3Server } from "../support/s3_server.ts";
import { taskArgs } from "../support/task.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const STORE = needs({ permissions: [...PERMISSIONS], programs: ["sh", "s3rver"] });
const PROCESS = needs({ permissions: [...PERMISSIONS], programs: ["sh"] });

/** Writes an archive command as the documentation has it: a script that adds the settings. */
async function writeCommand(folder: string, endpoint: string): Promise<string> {
  const command = `${folder}/archive`;
  const words = taskArgs("cli", "archive-s3", "-bucket", BUCKET, "-endpoint", endpoint).map((word) => `"${word}"`);
  const variables = Object.entries(S3_ENVIRONMENT).map(([name, value]) => `export ${name}=${value}\n`).join("");
  const script = `#!/bin/sh\n${variables}exec ${Deno.execPath()} ${words.join(" ")} "$@"\n`;
  await Deno.writeTextFile(command, script, { mode: 0o755 });
  return command;
}

Deno.test("the keeper archives journal files with archive-s3, and marks them", STORE, () =>
  inFolder(async (folder) => {
    await using store = new S3Server(`${folder}/store`);
    const directory = `${folder}/journal`;
    await Deno.mkdir(directory);
    const names = [3, 2, 1].map((hours) => formatFileName("nmea2k", START_US - hours * 3_600_000_000));
    for (const name of names) await Deno.writeTextFile(`${directory}/${name}`, `frames of ${name}`);
    const keeper = new JournalRetention({
      directory,
      settings: { softPercent: 80, overflow: "delete-unarchived", archive: "on-rotate" },
      command: await writeCommand(folder, await store.endpoint),
      instanceId: "sea-otter",
      isOpen: (name) => name === names[2],
      log: new Logger({ write: () => {} }),
    });
    await keeper.check();
    assert.deepEqual(
      [...Deno.readDirSync(directory)].map(({ name }) => name).sort(),
      [names[0], `${names[0]}.archived`, names[1], `${names[1]}.archived`, names[2]],
    );
    const text = new TextDecoder();
    for (const name of names.slice(0, 2)) {
      assert.equal(text.decode(store.read(`sea-otter/${name}`)), `frames of ${name}`);
    }
    assert.equal((await store.stored()).length, 2);
  }));

Deno.test("archive-s3 ends at SIGTERM while a store keeps it waiting", PROCESS, () =>
  inFolder(async (folder) => {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const accepted = listener.accept();
    const { port } = listener.addr as Deno.NetAddr;
    const path = `${folder}/1.lpj`;
    await Deno.writeTextFile(path, "frames");
    const command = new Deno.Command(await writeCommand(folder, `http://127.0.0.1:${port}`), {
      args: [path],
      stdin: "piped",
      stdout: "null",
    }).spawn();
    const input = command.stdin.getWriter();
    await input.write(new TextEncoder().encode(JSON.stringify({ path, instance_id: "boat" }) + "\n"));
    await input.close();
    const connection = await accepted;
    command.kill("SIGTERM");
    assert.equal((await command.status).signal, "SIGTERM");
    connection.close();
    listener.close();
  }));

/** Runs the command with a profile "boat" and further variables of the AWS tools. */
async function archiveAs(
  variables: Record<string, string>,
  { folder, endpoint }: { folder: string; endpoint: string },
): Promise<{ code: number; answer: { status: string; error?: string } }> {
  const path = `${folder}/1.lpj`;
  await Deno.writeTextFile(path, "frames");
  await Deno.mkdir(`${folder}/.aws`, { recursive: true });
  await Deno.writeTextFile(
    `${folder}/.aws/credentials`,
    "[boat]\naws_access_key_id = OFPROFILE\naws_secret_access_key = a\n",
  );
  const { DENO_DIR = "", HOME = "", PATH = "" } = Deno.env.toObject();
  const command = new Deno.Command(Deno.execPath(), {
    args: taskArgs("cli", "archive-s3", "-bucket", BUCKET, "-endpoint", endpoint, "-attempts", "1"),
    clearEnv: true,
    env: { PATH, DENO_DIR: DENO_DIR || `${HOME}/.cache/deno`, AWS_EC2_METADATA_DISABLED: "true", ...variables },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const input = command.stdin.getWriter();
  await input.write(new TextEncoder().encode(JSON.stringify({ path, instance_id: "boat" }) + "\n"));
  await input.close();
  const { code, stdout } = await command.output();
  return { code, answer: JSON.parse(new TextDecoder().decode(stdout)) };
}

Deno.test(
  "archive-s3 uses the keys of the environment, then those of the profile, and says if there are none",
  PROCESS,
  () =>
    inFolder(async (folder) => {
      const seen: string[] = [];
      await using s3 = new MemoryS3({}, (headers) => {
        const [, key = "none", region = "none"] =
          /Credential=(\w+)\/\d+\/([^/]+)/.exec(headers.get("authorization") ?? "") ?? [];
        seen.push(`${key} ${region}`);
      });
      const at = { folder, endpoint: s3.endpoint };
      const keys = { AWS_ACCESS_KEY_ID: "OFENVIRONMENT", AWS_SECRET_ACCESS_KEY: "e" };
      const profile = { HOME: folder, AWS_PROFILE: "boat" };
      const ok = { code: 0, answer: { path: `${folder}/1.lpj`, status: "ok" } };
      assert.deepEqual(await archiveAs({ ...profile, ...keys, AWS_DEFAULT_REGION: "eu-north-1" }, at), ok);
      assert.deepEqual([...new Set(seen.splice(0))], ["OFENVIRONMENT eu-north-1"]);
      assert.deepEqual(await archiveAs(profile, at), ok);
      assert.deepEqual([...new Set(seen.splice(0))], ["OFPROFILE us-east-1"]);
      const { code, answer } = await archiveAs({ HOME: folder }, at);
      assert.deepEqual([code, answer.status, seen], [2, "error", []]);
      assert.match(
        answer.error ?? "",
        /found no credentials, neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor /,
      );
    }),
);
