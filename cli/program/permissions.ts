/**
 * The permissions that every program needs. Files, addresses and the programs to start (archive command,
 * credential_process) come from settings, so these permissions are not limited further. There is no FFI: native code
 * cannot be loaded; `vbg query` starts a process that can. The parser of configuration files reads the home directory when it is loaded. A missing permission
 * is an error instead of a prompt, which a service could not answer.
 */
const NAMED = ["--no-prompt", "--allow-read", "--allow-write", "--allow-net", "--allow-env", "--allow-run"];

/**
 * Deno's permission flags of each program. Tasks, packages and executables use them; a test compares.
 *
 * The boat server needs all permissions: it loads libc for SocketCAN, and reads the state of interfaces below `/proc`
 * and `/sys`, which Deno allows only with `--allow-all`.
 */
export const PERMISSIONS: Readonly<Record<"boat" | "cloud" | "vbg" | "demo", readonly string[]>> = {
  boat: ["-A"],
  cloud: [...NAMED, "--allow-sys=homedir,osRelease,osUptime,systemMemoryInfo"],
  vbg: [...NAMED, "--allow-sys=ca,homedir,hostname,networkInterfaces,osRelease,osUptime,statfs,systemMemoryInfo"],
  demo: [...NAMED, "--allow-sys=homedir,hostname,osUptime,statfs,systemMemoryInfo"],
};
