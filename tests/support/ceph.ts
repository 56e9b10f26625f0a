import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../../scripts/ceph.sh", import.meta.url));
/** Programs that a test with Ceph needs. */
export const CEPH_PROGRAMS = ["bash", "ceph", "ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "curl"];
/** Who may read and write, and who may only read. */
export const CEPH_WRITER = { accessKeyId: "TESTACCESSKEY", secretAccessKey: "TESTSECRETKEY" };
export const CEPH_READER = { accessKeyId: "READACCESSKEY", secretAccessKey: "READSECRETKEY" };
/** A process of it: the monitor, a store of objects, or the gateway that speaks S3. */
export type CephPart = "mon.a" | `osd.${number}` | "client.rgw.a";
const FIRST_PORT = 12_000;
const PORTS = 18_000;

/** Ceph as an S3 store of its own. It takes half a minute to start. */
export class Ceph implements AsyncDisposable {
  /** `http://127.0.0.1:PORT`. */
  readonly endpoint: string;
  readonly #folder: string;

  private constructor(endpoint: string, folder: string) {
    this.endpoint = endpoint;
    this.#folder = folder;
  }

  /**
   * Starts it in a folder of its own.
   *
   * @param options.directory that the folder is in; default that of temporary files
   * @throws {Error} it does not start
   */
  static async start({ osds = 2, directory }: { osds?: number; directory?: string } = {}): Promise<Ceph> {
    const folder = await Deno.makeTempDir({
      prefix: "vbg_test_ceph_",
      ...(directory !== undefined && { dir: directory }),
    });
    const [monitor, port] = freePorts();
    try {
      const endpoint = await script("start", folder, `${monitor}`, `${port}`, `${osds}`);
      return new Ceph(endpoint.trim(), folder);
    } catch (error) {
      await new Ceph("", folder)[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Makes an empty bucket. */
  async createBucket(name: string): Promise<void> {
    const { CreateBucketCommand, S3Client } = await import("@aws-sdk/client-s3");
    const options = { endpoint: this.endpoint, region: "us-east-1", forcePathStyle: true };
    const client = new S3Client({ ...options, credentials: CEPH_WRITER });
    await client.send(new CreateBucketCommand({ Bucket: name }));
    client.destroy();
  }

  /** Kills a part, stops it where it is, or lets it go on. */
  async signal(part: CephPart, signal: "KILL" | "STOP" | "CONT"): Promise<void> {
    await script("signal", this.#folder, part, signal);
  }

  /** Starts a part again that was killed. */
  async startPart(part: CephPart): Promise<void> {
    await script("start-part", this.#folder, part);
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await script("stop", this.#folder);
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function script(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(SCRIPT, { args, stdin: "null" }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`scripts/ceph.sh ${args.join(" ")} failed: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/** Two ports that nobody listens on, below those that a system gives to others while Ceph starts. */
function freePorts(): [number, number] {
  const find = (): number => {
    const port = FIRST_PORT + crypto.getRandomValues(new Uint32Array(1))[0]! % PORTS;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch {
      return find();
    }
  };
  const first = find();
  for (;;) {
    const second = find();
    if (second !== first) return [first, second];
  }
}
