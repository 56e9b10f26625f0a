import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/folder.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { needs } from "../support/needs.ts";

const CHILD = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const CHILD_FILE = fileURLToPath(new URL("../support/open_store_child.ts", import.meta.url));
const REGION = "eu-north-1";

/** Opens a store in a process that has this environment, and files of the AWS tools; what it reports, and who it says it is. */
async function open(
  { environment = {}, files = {} }: { environment?: Record<string, string>; files?: Record<string, string> },
): Promise<{ result: string; identities: string[] }> {
  const identities: string[] = [];
  let result = "";
  await inFolder(async (folder) => {
    await using s3 = new MemoryS3({}, (headers) => {
      const [, identity = "none"] = /Credential=([^,]*)\/s3\/aws4_request/.exec(headers.get("authorization") ?? "") ??
        [];
      identities.push([identity.replace(/\d{8}/, "DAY"), headers.get("x-amz-security-token") ?? "no token"].join(" "));
    });
    for (const [name, content] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${name}`, content);
    const words = Object.entries(environment).map(([name, value]) => [name, value.replace("FOLDER", folder)]);
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--quiet", CHILD_FILE, s3.endpoint],
      clearEnv: true,
      env: {
        ...ownEnvironment(),
        AWS_SHARED_CREDENTIALS_FILE: `${folder}/credentials`,
        AWS_CONFIG_FILE: `${folder}/config`,
        ...Object.fromEntries(words),
      },
    }).output();
    result = new TextDecoder().decode(stdout).trim();
  });
  return { result, identities: [...new Set(identities)] };
}

/** The environment without what the AWS tools read. */
function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("AWS_")));
}

Deno.test("S3 store: credentials and region come from the environment", CHILD, async () => {
  const keys = { AWS_ACCESS_KEY_ID: "FROMENV", AWS_SECRET_ACCESS_KEY: "secret", AWS_SESSION_TOKEN: "a-token" };
  assert.deepEqual(await open({ environment: { ...keys, AWS_REGION: REGION } }), {
    result: "stored",
    identities: [`FROMENV/DAY/${REGION} a-token`],
  });
});

Deno.test("S3 store: credentials and region come from a profile in the shared files", CHILD, async () => {
  const files = {
    credentials: "[default]\naws_access_key_id = DEFAULT\naws_secret_access_key = secret\n" +
      "[boats]\naws_access_key_id = BOATS\naws_secret_access_key = secret\n",
    config: `[profile boats]\nregion = ${REGION}\n`,
  };
  assert.deepEqual(await open({ files }), { result: "stored", identities: ["DEFAULT/DAY/us-east-1 no token"] });
  assert.deepEqual(await open({ files, environment: { AWS_PROFILE: "boats" } }), {
    result: "stored",
    identities: [`BOATS/DAY/${REGION} no token`],
  });
});

Deno.test("S3 store: credentials come from a profile's own program, whose words are in no message", CHILD, async () => {
  const keys = '{"Version": 1, "AccessKeyId": "AKIAP", "SecretAccessKey": "process", "SessionToken": "tok"}';
  const config = `[profile bridge]\ncredential_process = echo '${keys}'\n` +
    "[profile broken]\ncredential_process = echo my-secret\n" +
    "[profile failing]\ncredential_process = echo my-secret >&2; exit 3\n";
  const openAs = (profile: string) =>
    open({ environment: { AWS_PROFILE: profile, AWS_EC2_METADATA_DISABLED: "true" }, files: { config } });
  assert.deepEqual(await openAs("bridge"), { result: "stored", identities: ["AKIAP/DAY/us-east-1 tok"] });
  for (const profile of ["broken", "failing", "none"]) {
    const { result, identities } = await openAs(profile);
    assert.match(result, /^denied: Cannot open the object store .*: found no credentials, .* credential_process /);
    assert.doesNotMatch(result, /my-secret/);
    assert.deepEqual(identities, []);
  }
});

Deno.test("S3 store: credentials come from a web identity, as in Kubernetes", CHILD, async () => {
  const asked: URLSearchParams[] = [];
  await using service = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    asked.push(new URLSearchParams(await request.text()));
    const credentials = "<Credentials><AccessKeyId>FROMROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>" +
      "<SessionToken>of-role</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials>";
    const result = `<AssumeRoleWithWebIdentityResult>${credentials}</AssumeRoleWithWebIdentityResult>`;
    return new Response(`<AssumeRoleWithWebIdentityResponse>${result}</AssumeRoleWithWebIdentityResponse>`, {
      headers: { "content-type": "text/xml" },
    });
  });
  const environment = {
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/boats",
    AWS_WEB_IDENTITY_TOKEN_FILE: "FOLDER/token",
    AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${service.addr.port}`,
    AWS_REGION: REGION,
  };
  assert.deepEqual(await open({ environment, files: { token: "a-web-token" } }), {
    result: "stored",
    identities: [`FROMROLE/DAY/${REGION} of-role`],
  });
  assert.equal(asked[0]?.get("WebIdentityToken"), "a-web-token");
});

Deno.test("S3 store: without credentials nothing is sent, and the message says so", CHILD, async () => {
  const { result, identities } = await open({ environment: { AWS_EC2_METADATA_DISABLED: "true" } });
  assert.match(
    result,
    /^denied: Cannot open the object store s3:\/\/boats at \S+: found no credentials, neither AWS_ACCESS_KEY_ID and /,
  );
  assert.deepEqual(identities, []);
});
