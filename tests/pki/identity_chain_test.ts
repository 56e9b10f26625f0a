import assert from "node:assert/strict";
import { IdentityCheck } from "../../src/pki/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { makeCertificate } from "../cloud/openssl.ts";

const OPENSSL = needs({ permissions: ["read", "run", "write"], programs: ["openssl"] });
const AUTHORITY = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
const CLIENT = [
  "basicConstraints=critical,CA:FALSE",
  "keyUsage=critical,digitalSignature",
  "extendedKeyUsage=clientAuth",
];

/** Who somebody is to a decide who trusts `root`, as one word and a name. */
async function decide(root: string, chain: string[]): Promise<string> {
  const check = await IdentityCheck.open(root);
  const identity = check.decide(chain, { nowMs: Date.now(), isRevoked: () => false });
  return identity.ok ? `ok ${identity.name}` : identity.reason;
}

Deno.test(
  "an authority of one's own counts, with RSA, P-384 and Ed25519 keys",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const kinds = { rsa: ["rsa:2048"], p384: ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"], ed25519: ["ed25519"] };
      for (const [kind, key] of Object.entries(kinds)) {
        const root = await makeCertificate(folder, { name: `root-${kind}`, key, extensions: AUTHORITY });
        const boat = await makeCertificate(folder, {
          name: `boat-${kind}`,
          key,
          by: `root-${kind}`,
          extensions: CLIENT,
        });
        assert.equal(await decide(root, [boat]), `ok boat-${kind}`);
      }
    }),
);

Deno.test(
  "authorities between the boat and the one that is trusted are found, and bound by what they may",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const root = await makeCertificate(folder, { name: "root", extensions: AUTHORITY });
      const middle = await makeCertificate(folder, {
        name: "middle",
        by: "root",
        extensions: ["basicConstraints=critical,CA:TRUE,pathlen:0"],
      });
      const boat = await makeCertificate(folder, { name: "boat", by: "middle", extensions: CLIENT });
      assert.equal(await decide(root, [boat, middle]), "ok boat");
      assert.equal(await decide(root, [boat, root, middle]), "ok boat");
      assert.equal(await decide(root, [boat]), "untrusted");
      assert.equal(await decide(middle, [boat]), "ok boat");

      const low = await makeCertificate(folder, { name: "low", by: "middle", extensions: AUTHORITY });
      const far = await makeCertificate(folder, { name: "far", by: "low", extensions: CLIENT });
      assert.equal(await decide(root, [far, low, middle]), "untrusted", "pathlen 0");

      const child = await makeCertificate(folder, { name: "child", by: "boat", extensions: CLIENT });
      assert.equal(await decide(root, [child, boat, middle]), "untrusted", "a boat signs nobody");
    }),
);

Deno.test("a demand that is not understood makes a certificate worthless", OPENSSL, () =>
  inFolder(async (folder) => {
    const root = await makeCertificate(folder, { name: "root", extensions: AUTHORITY });
    const bound = ["basicConstraints=critical,CA:TRUE", "nameConstraints=critical,permitted;DNS:example.com"];
    const middle = await makeCertificate(folder, { name: "middle", by: "root", extensions: bound });
    const boat = await makeCertificate(folder, { name: "boat", by: "middle", extensions: CLIENT });
    assert.equal(await decide(root, [boat, middle]), "untrusted");
    await assert.rejects(IdentityCheck.open(middle), /not that of an authority/);

    const odd = await makeCertificate(folder, {
      name: "odd",
      by: "root",
      extensions: [...CLIENT, "1.2.3.4=critical,ASN1:NULL"],
    });
    assert.equal(await decide(root, [odd]), "untrusted");
  }));

Deno.test(
  "a certificate that says nothing of its use is good for clients, one that says another is not",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const root = await makeCertificate(folder, { name: "root", extensions: AUTHORITY });
      const uses: [extensions: string[], expected: string][] = [
        [["basicConstraints=CA:FALSE"], "ok boat"],
        [["extendedKeyUsage=serverAuth,clientAuth"], "ok boat"],
        [["extendedKeyUsage=anyExtendedKeyUsage"], "ok boat"],
        [["extendedKeyUsage=serverAuth"], "wrong-usage"],
        [["extendedKeyUsage=codeSigning"], "wrong-usage"],
        [["keyUsage=keyAgreement"], "wrong-usage"],
      ];
      for (const [extensions, expected] of uses) {
        const boat = await makeCertificate(folder, { name: "boat", by: "root", extensions });
        assert.equal(await decide(root, [boat]), expected, extensions.join());
      }
    }),
);
