/** Runs the program `openssl`. Answers whether it said yes, and all that it printed. */
export async function openssl(...args: string[]): Promise<{ ok: boolean; text: string }> {
  const { success, stdout, stderr } = await new Deno.Command("openssl", { args, stdout: "piped", stderr: "piped" })
    .output();
  const decoder = new TextDecoder();
  return { ok: success, text: decoder.decode(stdout) + decoder.decode(stderr) };
}

/**
 * Makes a certificate in a folder, `{name}.pem` with `{name}.key`.
 *
 * @param options.by who signs it; nothing: it signs itself
 * @param options.key what kind of key, as `openssl req -newkey` takes it
 * @param options.extensions lines of a configuration file
 */
export async function makeCertificate(
  folder: string,
  { name, by, extensions, key = ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"] }: {
    name: string;
    by?: string;
    extensions: string[];
    key?: string[];
  },
): Promise<string> {
  const at = (file: string) => `${folder}/${file}`;
  await Deno.writeTextFile(at(`${name}.cnf`), extensions.join("\n"));
  const made = [
    await openssl(
      "req",
      "-new",
      "-newkey",
      ...key,
      "-nodes",
      "-keyout",
      at(`${name}.key`),
      "-out",
      at(`${name}.csr`),
      "-subj",
      `/CN=${name}`,
    ),
    await openssl(
      ...[
        "x509",
        "-req",
        "-in",
        at(`${name}.csr`),
        "-out",
        at(`${name}.pem`),
        "-days",
        "30",
        "-extfile",
        at(`${name}.cnf`),
      ],
      ...(by === undefined
        ? ["-signkey", at(`${name}.key`)]
        : ["-CA", at(`${by}.pem`), "-CAkey", at(`${by}.key`), "-CAcreateserial"]),
    ),
  ];
  const failed = made.find(({ ok }) => !ok);
  if (failed) throw new Error(failed.text);
  return await Deno.readTextFile(at(`${name}.pem`));
}
