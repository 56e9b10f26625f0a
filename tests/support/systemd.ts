import { Child } from "./child.ts";
import { eventually } from "./eventually.ts";

/** Writes each datagram that a socket receives as a line. Line breaks in it become spaces. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\\0" + sys.argv[1][1:] if sys.argv[1][0] == "@" else sys.argv[1])
print("bound", flush=True)
while True: print(s.recv(4096).decode().strip().replace("\\n", " "), flush=True)
`;

/** The service manager's end of the socket. */
export class Manager implements AsyncDisposable {
  readonly #child: Child;

  private constructor(path: string) {
    this.#child = new Child("python3", ["-c", RECEIVER, path]);
  }

  static async at(path: string): Promise<Manager> {
    const manager = new Manager(path);
    await eventually("the socket", () => manager.#child.text.startsWith("bound\n"));
    return manager;
  }

  /** What it was told. A program that waits until it is heard also sends a barrier. */
  get told(): string[] {
    return this.#child.text.trim().split("\n").slice(1).filter((line) => line !== "BARRIER=1");
  }

  count(line: string): number {
    return this.told.filter((each) => each === line).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#child[Symbol.asyncDispose]();
  }
}
