import assert from "node:assert/strict";
import { findAwsAccount } from "../../cli/commands/archive_s3/aws_credentials.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

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
