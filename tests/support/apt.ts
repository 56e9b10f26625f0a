import assert from "node:assert/strict";

/** Runs a program with the words of C. */
export async function run(program: string, args: string[], env: Record<string, string> = {}) {
  const settings = { args, env: { LC_ALL: "C.UTF-8", ...env } };
  const { code, stdout, stderr } = await new Deno.Command(program, settings).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

/** A signing key in a keyring of its own. */
export class Signer implements AsyncDisposable {
  readonly home: string;
  readonly fingerprint: string;

  private constructor(home: string, fingerprint: string) {
    this.home = home;
    this.fingerprint = fingerprint;
  }

  static async make(home: string): Promise<Signer> {
    await Deno.mkdir(home, { mode: 0o700 });
    const flags = ["--homedir", home, "--batch", "--quiet", "--passphrase", ""];
    const made = await run("gpg", [
      ...flags,
      "--quick-gen-key",
      "Releases <releases@vessel.example>",
      "ed25519",
      "sign",
      "1y",
    ]);
    assert.equal(made.code, 0, made.err);
    const { out } = await run("gpg", ["--homedir", home, "--with-colons", "--list-keys"]);
    return new Signer(home, /^fpr:+([0-9A-F]+):/m.exec(out)?.[1] ?? "");
  }

  /** Signs a release as the person does whose keyring it is. */
  async sign(release: string): Promise<void> {
    const { code, err } = await run("sh", [`${release}/sign.sh`, this.fingerprint], { GNUPGHOME: this.home });
    assert.equal(code, 0, err);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("gpgconf", ["--homedir", this.home, "--kill", "gpg-agent"]);
  }
}

/** A machine's apt, with a root folder of its own. */
export class Apt {
  readonly #folder: string;
  readonly #arch: string;
  readonly #env: Record<string, string>;

  private constructor(folder: string, arch: string) {
    this.#folder = folder;
    this.#arch = arch;
    this.#env = { APT_CONFIG: `${folder}/apt.conf`, DEBIAN_FRONTEND: "noninteractive" };
  }

  /** @param options.url of the repository; left out: none is set up yet */
  static async make(
    folder: string,
    { url, keyring, arch }: { url?: string; keyring?: string; arch: string },
  ): Promise<Apt> {
    for (
      const each of [
        "etc/preferences.d",
        "lists/partial",
        "cache/archives/partial",
        "root/var/lib/dpkg/updates",
        "root/var/lib/dpkg/info",
      ]
    ) {
      await Deno.mkdir(`${folder}/${each}`, { recursive: true });
    }
    await Deno.writeTextFile(`${folder}/root/var/lib/dpkg/status`, "");
    const source = url === undefined ? "" : `deb [signed-by=${keyring}] ${url} stable main\n`;
    await Deno.writeTextFile(`${folder}/sources.list`, source);
    const settings = [
      `Dir::Etc "${folder}/etc"; Dir::Etc::SourceList "${folder}/sources.list"; Dir::Etc::SourceParts "/dev/null";`,
      `Dir::State "${folder}"; Dir::State::Lists "${folder}/lists"; Dir::Cache "${folder}/cache"; Dir::Log "${folder}";`,
      `Dir::State::Status "${folder}/root/var/lib/dpkg/status"; APT::Sandbox::User "root"; Acquire::Languages "none";`,
      `APT::Architecture "${arch}"; APT::Architectures { "${arch}"; }; APT::Install-Recommends "false";`,
      `Dpkg::Options { "--root=${folder}/root"; "--log=${folder}/dpkg.log"; "--force-not-root"; "--force-bad-path"; };`,
      `Debug::NoLocking "true"; Acquire::http::Proxy "DIRECT";`,
    ];
    await Deno.writeTextFile(`${folder}/apt.conf`, `${settings.join("\n")}\n`);
    return new Apt(folder, arch);
  }

  /** Its list of repositories. */
  get sources(): string {
    return `${this.#folder}/sources.list`;
  }

  /** Runs a program that finds this machine's apt. */
  run(program: string, ...args: string[]): ReturnType<typeof run> {
    return run(program, args, this.#env);
  }

  get(...args: string[]): ReturnType<typeof run> {
    return this.run("apt-get", "-y", "-q", ...args);
  }

  /** Version that is installed, as its file says. */
  installed(): Promise<string> {
    return Deno.readTextFile(`${this.#folder}/root/usr/share/vbg/version`);
  }

  /** Names of the packages that were downloaded. */
  downloaded(): string[] {
    return [...Deno.readDirSync(`${this.#folder}/cache/archives`)].map(({ name }) => name).filter((name) =>
      name.endsWith(`${this.#arch}.deb`)
    );
  }
}
