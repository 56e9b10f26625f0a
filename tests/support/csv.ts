/** The rows of a CSV text (RFC 4180; lines may end with LF alone), read character by character. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text.charAt(at + 1) === '"') cell += text.charAt(++at);
      else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === "," || character === "\n" || text.startsWith("\r\n", at)) {
      row.push(cell);
      cell = "";
      if (character === ",") continue;
      rows.push(row);
      row = [];
      if (character === "\r") at++;
    } else cell += character;
  }
  return rows;
}
