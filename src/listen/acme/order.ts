import { Agent, get } from "node:https";
import { errorText, importLate } from "../../base/mod.ts";
import { AcmeError, type ChallengeAnswer } from "./challenge.ts";

/** An order of a certificate. */
export interface AcmeOrder {
  domain: string;
  /** Contact address for the authority; setting it accepts the authority's terms. */
  email: string;
  /** ACME directory of the authority, https. */
  directoryUrl: string;
  /** Root certificates for the authority's HTTPS, PEM; undefined: the public roots. */
  ca: string | undefined;
  /** PEM. */
  accountKey: string;
  answer: ChallengeAnswer;
}

type AcmePackage = typeof import("./acme_package.ts");
type Client = InstanceType<AcmePackage["Client"]>;
type Authorization = Awaited<ReturnType<Client["getAuthorizations"]>>[number];

const REQUEST_TIMEOUT_MS = 30_000;
/** Polling of the authority: 1, 2, 4 … seconds apart, for about two minutes. */
const POLLING = { backoffAttempts: 12, backoffMin: 1000, backoffMax: 15_000 };

function loadAcme(): Promise<AcmePackage> {
  return importLate<AcmePackage>(new URL("./acme_package.ts", import.meta.url));
}

/** Creates an account key, PEM. */
export async function newAccountKey(): Promise<string> {
  const { crypto } = await loadAcme();
  return String(await crypto.createPrivateEcdsaKey("P-256"));
}

/**
 * Obtains a certificate with a new key, PEM.
 *
 * @throws {AcmeError} the authority refuses or is unreachable, or the challenge cannot be answered
 */
export async function orderCertificate(order: AcmeOrder): Promise<{ cert: string; key: string }> {
  const { domain, email, directoryUrl, ca, accountKey, answer } = order;
  try {
    await reach(directoryUrl, ca);
    const acme = await loadAcme();
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
  // The authority still accepts an earlier challenge.
  if (authorization.status === "valid") return;
  const challenge = authorization.challenges.find(({ type }) => type === answer.kind);
  if (!challenge) throw new AcmeError(`the authority does not offer ${answer.kind}`);
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

/** Checks that the authority can be reached: the library's own error does not say why it cannot. */
function reach(directoryUrl: string, ca: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(directoryUrl, { timeout: REQUEST_TIMEOUT_MS, ...ca !== undefined && { ca } }, (response) => {
      response.resume();
      const { statusCode = 0 } = response;
      if (statusCode < 300) resolve();
      else reject(new AcmeError(`${directoryUrl} answers ${statusCode}`));
    });
    request.on("timeout", () => request.destroy(new AcmeError("the authority does not answer")));
    request.on("error", (error: Error & { code?: string }) => {
      // The message is empty if every address of the host name has failed.
      reject(error.message === "" ? new AcmeError(`the authority cannot be reached: ${error.code}`) : error);
    });
  });
}
