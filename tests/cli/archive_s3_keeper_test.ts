import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { formatFileName } from "../../src/journal/file/name.ts";
import { JournalRetention } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { BUCKET, S3_ENVIRONMENT, S3Server } from "../support/s3_server.ts";
import { taskArgs } from "../support/task.ts";
import { findAwsAccount } from "../../cli/commands/archive_s3/aws_credentials.ts";

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

const FILES = needs({ permissions: ["read", "write"] });
const PROCESSES = needs({ permissions: ["read", "write", "run"], programs: ["sh", "echo"] });

const CONFIG = `
[default]
region = eu-west-1
[profile boat]
region=eu-north-1
output = json
[profile bridge]
credential_process = echo '{"Version": 1, "AccessKeyId": "AKIAP", "SecretAccessKey": "process", "SessionToken": "tok"}'
[profile broken]
credential_process = echo 'my-secret'
[profile failing]
credential_process = exit 3
`;
const CREDENTIALS = `# keys
[default]
aws_access_key_id = AKIAD
aws_secret_access_key = d/e+f=
[boat]
aws_access_key_id = AKIAB
aws_secret_access_key = b
aws_session_token = t
`;

/** Writes both files where the AWS tools have them, and gives a home directory. */
async function writeFiles(home: string): Promise<void> {
  await Deno.mkdir(`${home}/.aws`);
  await Deno.writeTextFile(`${home}/.aws/config`, CONFIG);
  await Deno.writeTextFile(`${home}/.aws/credentials`, CREDENTIALS);
}

Deno.test(
  "credentials come from the environment, then from the profile's files",
  FILES,
  () =>
    inFolder(async (HOME) => {
      await writeFiles(HOME);
      const variables = { AWS_ACCESS_KEY_ID: "AKIAE", AWS_SECRET_ACCESS_KEY: "e" };
      assert.deepEqual(await findAwsAccount({ HOME, ...variables }), {
        credentials: { accessKeyId: "AKIAE", secretAccessKey: "e", sessionToken: undefined },
        region: "eu-west-1",
      });
      assert.deepEqual(await findAwsAccount({ HOME }), {
        credentials: { accessKeyId: "AKIAD", secretAccessKey: "d/e+f=", sessionToken: undefined },
        region: "eu-west-1",
      });
      assert.deepEqual(await findAwsAccount({ HOME, AWS_PROFILE: "boat" }), {
        credentials: { accessKeyId: "AKIAB", secretAccessKey: "b", sessionToken: "t" },
        region: "eu-north-1",
      });
      const elsewhere = { HOME: "/nowhere", AWS_SHARED_CREDENTIALS_FILE: `${HOME}/.aws/credentials` };
      assert.equal((await findAwsAccount(elsewhere)).credentials.accessKeyId, "AKIAD");
    }),
);

Deno.test(
  "credentials may come from a profile's own program, whose words are in no message",
  PROCESSES,
  () =>
    inFolder(async (HOME) => {
      await writeFiles(HOME);
      const { credentials } = await findAwsAccount({ HOME, AWS_PROFILE: "bridge" });
      assert.deepEqual(credentials, { accessKeyId: "AKIAP", secretAccessKey: "process", sessionToken: "tok" });
      await assert.rejects(findAwsAccount({ HOME, AWS_PROFILE: "broken" }), (error: Error) => {
        assert.equal(error.message, "Cannot get credentials: the credential_process printed none");
        return true;
      });
      await assert.rejects(findAwsAccount({ HOME, AWS_PROFILE: "failing" }), /credential_process ended with code 3$/);
      await assert.rejects(
        findAwsAccount({ HOME, AWS_PROFILE: "none" }),
        /^Error: Cannot find credentials: .* "none" /,
      );
    }),
);
