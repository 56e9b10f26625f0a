import { errorText } from "@vessel/gateway/base";
import type { Environment } from "../../settings/options.ts";

/** Credentials that sign requests. */
export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string | undefined;
}

/** Settings from the environment variables and files of the AWS tools. */
export interface AwsAccount {
  credentials: AwsCredentials;
  /** Region of the profile. */
  region: string | undefined;
}

type Profile = Readonly<Record<string, string>>;

/**
 * Reads credentials like the AWS tools: from environment variables, else from the profile in ~/.aws/credentials and
 * ~/.aws/config, with its keys or its `credential_process`.
 *
 * @throws {Error} there are none, or they cannot be read; messages never contain a secret
 */
export async function findAwsAccount(environment: Environment): Promise<AwsAccount> {
  const name = environment["AWS_PROFILE"] || "default";
  const profile = await readProfile(name, environment);
  const credentials = fromWords(environment["AWS_ACCESS_KEY_ID"], {
    secret: environment["AWS_SECRET_ACCESS_KEY"],
    token: environment["AWS_SESSION_TOKEN"],
  }) ?? fromWords(profile["aws_access_key_id"], {
    secret: profile["aws_secret_access_key"],
    token: profile["aws_session_token"],
  }) ?? await fromProcess(profile["credential_process"]);
  if (credentials) return { credentials, region: profile["region"] };
  throw new Error(
    `Cannot find credentials: neither AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY nor profile "${name}" ` +
      "in ~/.aws/credentials or ~/.aws/config has them",
  );
}

function fromWords(
  accessKeyId: string | undefined,
  { secret, token }: { secret: string | undefined; token: string | undefined },
): AwsCredentials | undefined {
  return accessKeyId && secret ? { accessKeyId, secretAccessKey: secret, sessionToken: token || undefined } : undefined;
}

async function readProfile(name: string, environment: Environment): Promise<Profile> {
  const home = environment["HOME"] ?? environment["USERPROFILE"] ?? "";
  const config = await readIni(environment["AWS_CONFIG_FILE"] || `${home}/.aws/config`);
  const shared = await readIni(environment["AWS_SHARED_CREDENTIALS_FILE"] || `${home}/.aws/credentials`);
  return { ...config.get(name) ?? config.get(`profile ${name}`), ...shared.get(name) };
}

/** Sections of a file with their entries; none if the file does not exist. */
async function readIni(path: string): Promise<Map<string, Profile>> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Map();
    throw new Error(`Cannot read "${path}": ${errorText(error)}`);
  }
  const sections = new Map<string, Record<string, string>>();
  let section: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const [, title] = /^\s*\[\s*(.*?)\s*\]/.exec(line) ?? [];
    const [, key, value] = /^([\w-]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (title !== undefined) sections.set(title, section = sections.get(title) ?? {});
    else if (key !== undefined && value !== undefined) section[key] = value;
  }
  return sections;
}

/** Credentials printed by the user's `credential_process`; the shell splits its words, as with the AWS tools. */
async function fromProcess(command: string | undefined): Promise<AwsCredentials | undefined> {
  if (!command) return undefined;
  const { code, stdout } = await new Deno.Command("sh", { args: ["-c", command], stdin: "null", stderr: "inherit" })
    .output();
  if (code !== 0) throw new Error(`Cannot get credentials: the credential_process ended with code ${code}`);
  let answer: unknown;
  try {
    answer = JSON.parse(new TextDecoder().decode(stdout));
  } catch {
    // The parser's message would quote the secret.
  }
  const fields: { AccessKeyId?: unknown; SecretAccessKey?: unknown; SessionToken?: unknown } =
    typeof answer === "object" && answer !== null ? answer : {};
  const word = (value: unknown) => typeof value === "string" ? value : undefined;
  const found = fromWords(word(fields.AccessKeyId), {
    secret: word(fields.SecretAccessKey),
    token: word(fields.SessionToken),
  });
  if (!found) throw new Error("Cannot get credentials: the credential_process printed none");
  return found;
}
