import { Agent, get } from "node:https";
import { errorText } from "../../base/mod.ts";
import { AcmeError } from "./error.ts";
import type { ChallengeAnswer } from "./challenge.ts";

/** What is asked of whom. */
export interface AcmeOrder {
  domain: string;
  /** Where the authority writes to; giving it agrees to the authority's terms. */
  email: string;
  /** Where the authority's services are listed, https. */
  directoryUrl: string;
  /** Who stands behind the authority's own HTTPS, PEM; nothing: those that everybody knows. */
  ca: string | undefined;
  /** PEM. */
  accountKey: string;
  answer: ChallengeAnswer;
}

type AcmePackage = typeof import("acme-client");
type Client = InstanceType<AcmePackage["Client"]>;
type Authorization = Awaited<ReturnType<Client["getAuthorizations"]>>[number];

const REQUEST_TIMEOUT_MS = 30_000;
/** How often an authority is asked whether it is done: 1, 2, 4 … seconds apart, for about two minutes. */
const POLLING = { backoffAttempts: 12, backoffMin: 1000, backoffMax: 15_000 };

/** Makes the key of an account, PEM. */
export async function newAccountKey(): Promise<string> {
  const { crypto } = await import("acme-client");
  return String(await crypto.createPrivateEcdsaKey("P-256"));
}

/**
 * Gets a certificate, PEM, with a new key.
 *
 * @throws {AcmeError} the authority says no, cannot be reached, or cannot be answered
 */
export async function orderCertificate(order: AcmeOrder): Promise<{ cert: string; key: string }> {
  const { domain, email, directoryUrl, ca, accountKey, answer } = order;
  try {
    await reach(directoryUrl, ca);
    const acme = await import("acme-client");
    Object.assign(acme.axios.defaults, {
      httpsAgent: new Agent(ca === undefined ? {} : { ca }),
      timeout: REQUEST_TIMEOUT_MS,
      acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 },
    });
    const client = new acme.Client({ directoryUrl, accountKey, ...POLLING });
    await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${email}`] });
    const placed = await client.createOrder({ identifiers: [{ type: "dns", value: domain }] });
    for (const authorization of await client.getAuthorizations(placed)) {
      await authorize(authorization, { acme, client, answer });
    }
    const key = String(await acme.crypto.createPrivateEcdsaKey("P-256"));
    const [, request] = await acme.crypto.createCsr({ altNames: [domain] }, key);
    const cert = await client.getCertificate(await client.finalizeOrder(placed, request));
    return { cert, key };
  } catch (error) {
    const { host } = new URL(directoryUrl);
    throw new AcmeError(`Cannot get a certificate for "${domain}" from ${host} by ${answer.kind}: ${errorText(error)}`);
  }
}

async function authorize(
  authorization: Authorization,
  { acme, client, answer }: { acme: AcmePackage; client: Client; answer: ChallengeAnswer },
): Promise<void> {
  // Shown to the same authority before, and not long ago.
  if (authorization.status === "valid") return;
  const challenge = authorization.challenges.find(({ type }) => type === answer.kind);
  if (!challenge) throw new AcmeError("the authority does not offer that");
  const keyAuthorization = await client.getChallengeKeyAuthorization(challenge);
  try {
    await answer.show({
      domain: authorization.identifier.value,
      token: challenge.token,
      keyAuthorization,
      makeCertificate: async () => {
        const [key, cert] = await acme.crypto.createAlpnCertificate(authorization, keyAuthorization);
        return { cert: String(cert), key: String(key) };
      },
    });
    await client.completeChallenge(challenge);
    await client.waitForValidStatus(challenge);
  } finally {
    await answer.hide();
  }
}

/** Asks for the list of services: of a server that cannot be reached, the library does not say why. */
function reach(directoryUrl: string, ca: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(directoryUrl, { timeout: REQUEST_TIMEOUT_MS, ...ca !== undefined && { ca } }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      if (statusCode < 300) resolve();
      else reject(new AcmeError(`${directoryUrl} answers ${statusCode}`));
    });
    request.on("timeout", () => request.destroy(new AcmeError("it does not answer")));
    request.on("error", (error: Error & { code?: string }) => {
      // Where every address of a name has failed, the message is empty.
      reject(error.message === "" ? new AcmeError(`it cannot be reached: ${error.code}`) : error);
    });
  });
}
