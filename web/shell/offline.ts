/**
 * Keeps the page's files, so that it opens again without the network. Browsers allow that on secure origins only: HTTPS, and
 * localhost.
 */
export async function keepForOffline(): Promise<void> {
  if (!("serviceWorker" in navigator) || !isSecureContext) return;
  // Under trusted types, text becomes the address of a script only through a policy.
  const policy = trustedTypes()?.createPolicy("vbg", { createScriptURL: () => "/sw.js" });
  try {
    await navigator.serviceWorker.register(policy?.createScriptURL("") ?? "/sw.js");
  } catch {
    // Private windows refuse it: the page works without.
  }
}

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL: (text: string) => string }): {
    createScriptURL(text: string): string;
  };
}

function trustedTypes(): TrustedTypes | undefined {
  return "trustedTypes" in globalThis ? (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes : undefined;
}
