import { ConnectionError } from "./errors.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const SPACE = 0x20;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const NULL = "null";

/** Splits a JSON array into its elements as it arrives, so that a long one is never in memory as a whole. */
export class JsonArray {
  /** Beginning of an incomplete element. */
  #pending = "";
  /** Number of open brackets and braces. */
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  #isEnded = false;
  /** Beginning of a `null` in place of the array. */
  #word = "";

  /** Returns the texts of the elements completed by `text`. @throws {ConnectionError} the text is not a JSON array */
  feed(text: string): string[] {
    const elements: string[] = [];
    let start = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isInText) this.#inText(code);
      else if (code === QUOTE) this.#isInText = true;
      else if (code === OPEN || code === OPEN_BRACE) {
        if (this.#depth++ === 0) start = at + 1;
        if (this.#depth === 1 && (code !== OPEN || this.#isEnded || this.#word !== "")) throw notAList();
      } else if (code === CLOSE || code === CLOSE_BRACE) {
        if (--this.#depth < 0) throw notAList();
        if (this.#depth === 0) {
          this.#isEnded = true;
          this.#element(text.slice(start, at), elements);
        }
      } else if (code === COMMA && this.#depth === 1) {
        this.#element(text.slice(start, at), elements);
        start = at + 1;
      } else if (code > SPACE && this.#depth === 0) this.#nothing(text.charAt(at));
    }
    if (this.#depth > 0) this.#pending += text.slice(start);
    return elements;
  }

  /** Checks that the array is complete. @throws {ConnectionError} it is not */
  end(): void {
    if (!this.#isEnded) throw new ConnectionError("The response is incomplete: the connection was lost");
  }

  /** Some servers send `null` for an empty array. */
  #nothing(character: string): void {
    this.#word += character;
    if (!NULL.startsWith(this.#word) || (this.#isEnded && this.#word.length === 1)) throw notAList();
    this.#isEnded = this.#word === NULL;
  }

  #inText(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#isInText = false;
  }

  #element(rest: string, elements: string[]): void {
    const element = (this.#pending + rest).trim();
    this.#pending = "";
    if (element !== "") elements.push(element);
  }
}

function notAList(): ConnectionError {
  return new ConnectionError("The response is not a JSON array");
}
