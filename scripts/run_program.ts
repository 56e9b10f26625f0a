/**
 * Runs a program to its end. Returns its standard output.
 *
 * @throws {Error} it failed; the message has its standard error
 */
export async function runProgram(program: string, args: string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { ...options, args }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`Cannot run ${program}: ${text.decode(stderr).trim()}`);
  return text.decode(stdout);
}
