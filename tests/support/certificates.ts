import { connect, type TLSSocket } from "node:tls";

/** Files of a certificate and its key. */
export interface CertificateFiles {
  certPath: string;
  keyPath: string;
}

/** An authority that lives in a folder and gives out certificates for this machine. Needs the program `openssl`. */
export class TestAuthority {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Makes one. */
  static async make(folder: string): Promise<TestAuthority> {
    const authority = new TestAuthority(folder);
    const { certPath, keyPath } = authority.files("authority");
    await openssl("req", "-x509", ...NEW_KEY, "-keyout", keyPath, "-out", certPath, "-subj", "/CN=authority");
    return authority;
  }

  /** Its own certificate, PEM. */
  get pem(): string {
    return Deno.readTextFileSync(this.files("authority").certPath);
  }

  /** Where a certificate of this name is, or will be. */
  files(name: string): CertificateFiles {
    return { certPath: `${this.#folder}/${name}.crt`, keyPath: `${this.#folder}/${name}.key` };
  }

  /** Gives out a certificate for localhost and 127.0.0.1. Its common name is `name`. */
  async issue(name: string, { days = 90 }: { days?: number } = {}): Promise<CertificateFiles> {
    const { certPath, keyPath } = this.files(name);
    const [request, names] = [`${this.#folder}/${name}.csr`, `${this.#folder}/names.cnf`];
    await Deno.writeTextFile(names, "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
    await openssl("req", ...NEW_KEY, "-keyout", keyPath, "-out", request, "-subj", `/CN=${name}`);
    const { certPath: ca, keyPath: caKey } = this.files("authority");
    const signed = ["-CA", ca, "-CAkey", caKey, "-CAcreateserial", "-days", String(days), "-extfile", names];
    await openssl("x509", "-req", "-in", request, "-out", certPath, ...signed);
    return { certPath, keyPath };
  }

  /** Common name of the certificate that a server shows to a new connection. */
  nameAt(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket: TLSSocket = connect({ host: "127.0.0.1", port, ca: [this.pem] }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on("error", reject);
    });
  }
}

const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

async function openssl(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("openssl", { args, stdout: "null", stderr: "piped" }).output();
  if (!success) throw new Error(`openssl ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
