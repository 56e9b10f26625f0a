/** Does something and tells in which order files were synced, renamed and linked: `sync PATH`, `rename PATH`, `link PATH`. */
export async function syncsAndRenames(work: () => Promise<void>): Promise<string[]> {
  const done: string[] = [];
  const { open, rename, link } = Deno;
  Deno.open = async (path, options) => {
    const file = await open(path, options);
    for (const name of ["sync", "syncData"] as const) {
      const sync = file[name].bind(file);
      file[name] = async () => {
        await sync();
        done.push(`sync ${path}`);
      };
    }
    return file;
  };
  Deno.rename = async (from, to) => {
    await rename(from, to);
    done.push(`rename ${from}`);
  };
  Deno.link = async (from, to) => {
    await link(from, to);
    done.push(`link ${from}`);
  };
  try {
    await work();
  } finally {
    Object.assign(Deno, { open, rename, link });
  }
  return done;
}
