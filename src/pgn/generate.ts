/** Generates JavaScript that decodes one layout: bytes at fixed offsets, and one object literal, for one hidden class in V8. */
import { type Field, type Group, isGroup, type Item, widthOf } from "./model.ts";
import { invalidBytesOf } from "./field.ts";

/** Values the generated code refers to, as `k[0]`, `k[1]` … */
export type Constants = unknown[];

/** Enums of up to this width are compiled to an array indexed by the raw value. */
const MAX_DENSE_BITS = 11;

/** Expression of the bytes with the bits `bit` to `bit + bits` (at most 32), as a signed 32-bit number, unmasked. */
function bytesAt(base: string, bit: number, bits: number): string {
  const first = bit >>> 3;
  const shift = bit & 7;
  const count = (shift + bits + 7) >>> 3;
  const parts: string[] = [];
  for (let index = 0; index < count; index++) {
    const at = base === "" ? `d[${first + index}]` : `d[${base}+${first + index}]`;
    const by = index * 8 - shift;
    parts.push(by === 0 ? at : by > 0 ? `${at}<<${by}` : `${at}>>>${-by}`);
  }
  return parts.join("|");
}

/** Expression of an unsigned number of at most 32 bits. */
export function unsignedAt(base: string, bit: number, bits: number): string {
  const text = bytesAt(base, bit, bits);
  if (bits === 32) return `(${text})>>>0`;
  return (bit & 7) === 0 && (bits & 7) === 0 ? text : `(${text})&${2 ** bits - 1}`;
}

function signedAt(base: string, bit: number, bits: number): string {
  const text = bytesAt(base, bit, bits);
  return bits === 32 ? `(${text})|0` : `(${text})<<${32 - bits}>>${32 - bits}`;
}

/** Expression of `(raw · times + add) / per`, without operations that have no effect. */
function scaled({ times, add, per }: Field, raw: string): string {
  const product = times === 1 ? raw : `${raw}*${times}`;
  const sum = add === 0 ? product : `(${product}+${add})`;
  return per === 1 ? sum : `${sum}/${per}`;
}

/**
 * Generates the body of a function that decodes `d`, of which `n` bytes are the payload and the rest is 0xFF. Helpers are
 * `h.name(…)`, tables are `k[0]`, `k[1]` …
 */
export class CodeWriter {
  readonly #constants: Constants;
  readonly #lines: string[] = [];
  #names = 0;
  /** Variables of the last key and of the length after it. */
  #key = "undefined";
  #length = "undefined";
  /** Variable with the byte offset after the last field of variable width; "" at the start. */
  #base = "";
  /** Bits since that offset. */
  #bit = 0;

  constructor(constants: Constants) {
    this.#constants = constants;
  }

  #constant(value: unknown): string {
    return `k[${this.#constants.push(value) - 1}]`;
  }

  #let(expression: string): string {
    const name = `v${this.#names++}`;
    this.#lines.push(`const ${name}=${expression};`);
    return name;
  }

  /** Expression for the byte that the next field starts in. */
  #byte(bits = this.#bit): string {
    return this.#base === "" ? `${bits >>> 3}` : `${this.#base}+${bits >>> 3}`;
  }

  #wide(field: Field, bits: number): string {
    const low = this.#let(unsignedAt(this.#base, this.#bit, 32));
    const at = field.signed ? signedAt : unsignedAt;
    const high = this.#let(at(this.#base, this.#bit + 32, bits - 32));
    const nulls = field.nulls.map((raw) => {
      const wide = BigInt(raw);
      const top = Number(field.signed ? BigInt.asIntN(32, wide >> 32n) : wide >> 32n);
      return `${low}===${Number(wide & 0xffff_ffffn)}&&${high}===${top}`;
    });
    const value = field.type === "hex"
      ? `h.hexNumber(${low},${high})`
      : field.type === "bits"
      ? `h.bitLabels(${this.#constant(field.labels)},${low},${high})`
      : scaled(field, `(${high}*4294967296+${low})`);
    return nulls.length === 0 ? value : `${nulls.join("||")}?null:${value}`;
  }

  /** Expression of the value of a number of at most 32 bits. */
  #narrow(field: Field, bits: number, raws: Map<string, string>): string {
    const at = field.signed ? signedAt : unsignedAt;
    const raw = this.#let(at(this.#base, this.#bit, bits));
    if (field.name !== undefined) raws.set(field.name, raw);
    if (field.type === "length") this.#length = raw;
    if (field.type !== "key") return this.#meaning(field, raw, raws);
    this.#key = this.#let(`${this.#constant(field.keys)}?.get(${raw})`);
    this.#length = "undefined";
    return `${this.#key}===undefined?${raw}:${this.#key}.name`;
  }

  #meaning(field: Field, raw: string, raws: Map<string, string>): string {
    const { bits = 0, match } = field;
    if (field.type === "enum" && match !== undefined) return JSON.stringify(field.labels?.byCode.get(match) ?? match);
    if (field.type === "enum" && bits <= MAX_DENSE_BITS && !field.signed) {
      const table = Array.from(
        { length: 2 ** bits },
        (_, code) => field.nulls.includes(code) ? null : field.labels?.byCode.get(code) ?? code,
      );
      return `${this.#constant(table)}[${raw}]`;
    }
    const nulls = field.nulls.map((code) => `${raw}===${code}`).join("||");
    const value = this.#plain(field, raw, raws);
    return nulls === "" ? value : `${nulls}?null:${value}`;
  }

  #plain(field: Field, raw: string, raws: Map<string, string>): string {
    switch (field.type) {
      case "enum":
        return `${this.#constant(field.labels?.byCode)}.get(${raw})??${raw}`;
      case "indirect": {
        const { byBits } = field;
        const by = byBits ? unsignedAt("", byBits.bit, byBits.bits) : raws.get(field.by ?? "") ?? "-1";
        return `${this.#constant(field.indirect)}.get(${by})?.byCode.get(${raw})??${raw}`;
      }
      case "lookup":
        return `h.lookedUp(${this.#constant(field.labels)},${raw})`;
      case "bits":
        return `h.bitLabels(${this.#constant(field.labels)},${raw})`;
      case "hex":
        return `h.hexNumber(${raw},0)`;
      case "date":
        return `h.isoDate(${raw})`;
      case "time":
        return `h.isoTime(${raw}*${field.times},${field.per})`;
      case "float":
        return `h.float32(${raw})`;
      default:
        return scaled(field, raw);
    }
  }

  /** Reads the field at the cursor and returns the expression of its value. */
  #value(field: Field, raws: Map<string, string>): string {
    const { bits, repeat } = field;
    switch (field.type) {
      case "text":
      case "lau":
      case "lz":
        return this.#text(field);
      case "binary":
        return this.#binary(field, raws);
      case "parameters": {
        const [pgn, count] = [raws.get(field.by ?? "") ?? "0", raws.get(field.count ?? "") ?? "0"];
        const run = `{at:${this.#byte()},pgn:${pgn},count:${count}}`;
        const value = this.#let(`h.parameterList(d.subarray(0,n),${run})`);
        this.#continueAt("n");
        return value;
      }
      case "value": {
        const value = this.#let(`h.keyed(${this.#key},d,{at:${this.#byte()},n,bytes:${this.#length}})`);
        this.#continueAt(`${value}.end`);
        return `${value}.value`;
      }
      case "decimal": {
        const value = `h.decimalText(d,${this.#byte()},Math.min(n,${this.#byte(this.#bit + (bits ?? 0))}))`;
        this.#bit += bits ?? 0;
        return this.#let(value);
      }
    }
    if (bits === undefined) throw new Error(`field ${field.name} has no width`);
    if (repeat !== undefined) {
      const values = Array.from({ length: repeat }, () => {
        const value = this.#narrow(field, bits, new Map());
        this.#bit += bits;
        return value;
      });
      return `[${values.join(",")}]`;
    }
    const at = this.#byte();
    const value = bits > 32 ? this.#wide(field, bits) : this.#narrow(field, bits, raws);
    this.#bit += bits;
    return field.nullBeyond ? `${at}>=n?null:${value}` : value;
  }

  /** Moves the cursor to the byte offset of an expression. */
  #continueAt(expression: string): void {
    this.#base = this.#let(expression);
    this.#bit = 0;
  }

  #text(field: Field): string {
    const { bits = 0, type } = field;
    const at = this.#byte();
    const invalid = JSON.stringify(invalidBytesOf(field));
    const options = this.#constant({ fill: field.fill, invalid: invalidBytesOf(field) });
    if (type === "lau") {
      const value = this.#let(`h.lauText(d,${at},n,${options})`);
      this.#continueAt(`h.lauEnd(d,${at},n)`);
      return value;
    }
    if (type === "lz" && field.bits === undefined) {
      const value = this.#let(`h.lzText(d,${at},n,${invalid})`);
      this.#continueAt(`h.lzEnd(d,${at},n)`);
      return value;
    }
    const end = `Math.min(n,${this.#byte(this.#bit + bits)})`;
    this.#bit += bits;
    if (type === "lz") return this.#let(`h.lzText(d,${at},${end},${invalid})`);
    const text = `h.fixedText(d,${at},${end},${options})`;
    const { elsewhere } = field;
    if (elsewhere === undefined) return this.#let(text);
    const { byte, bytes } = elsewhere;
    return this.#let(`${text}||h.fixedText(d,${byte},Math.min(n,${byte + bytes}),${options})`);
  }

  #binary(field: Field, raws: Map<string, string>): string {
    const { bits, by } = field;
    const at = this.#byte();
    if (bits !== undefined) {
      const whole = ((bits | this.#bit) & 7) === 0;
      const end = this.#byte(this.#bit + bits);
      const bit = this.#base === "" ? `${this.#bit}` : `${this.#base}*8+${this.#bit}`;
      this.#bit += bits;
      return this.#let(
        whole ? `h.hexBytes(d,${at},Math.min(n,${end}))||null` : `${at}>=n?null:h.hexBits(d,${bit},${bits})`,
      );
    }
    const length = by === undefined ? undefined : raws.get(by) ?? "0";
    const end = this.#let(
      length === undefined ? `Math.max(n,${at})` : `Math.max(${at},Math.min(n,${at}+(${length}+7>>>3)))`,
    );
    const value = this.#let(`h.hexBytes(d,${at},Math.min(n,${end}))||null`);
    this.#continueAt(end);
    return value;
  }

  /** Ensures that `bits` bits after the cursor can be read: missing bytes are 0xFF. */
  #need(bits: number): void {
    if (this.#base === "" || bits === 0) return;
    this.#lines.push(
      `if(${this.#byte(this.#bit + bits + 7)}>d.length)d=h.padded(d,${this.#byte(this.#bit + bits + 7)});`,
    );
  }

  /** Reads fields; returns the entries of their object literal. */
  #fields(fields: readonly Field[], raws: Map<string, string>): string[] {
    const entries: string[] = [];
    let ahead = 0;
    fields.forEach((field, index) => {
      const width = widthOf(field);
      if (ahead === 0) {
        for (let next = index; next < fields.length; next++) {
          const bits = widthOf(fields[next] ?? field);
          if (bits === undefined) break;
          ahead += bits;
        }
        this.#need(ahead);
      }
      ahead = width === undefined ? 0 : ahead - width;
      const { name } = field;
      if (name === undefined) this.#bit += width ?? 0;
      else entries.push(`${JSON.stringify(name)}:${this.#let(this.#value(field, raws))}`);
    });
    return entries;
  }

  #group({ group, count, fields, partial }: Group, raws: Map<string, string>): void {
    const size = fields.reduce<number | undefined>((sum, field) => {
      const width = widthOf(field);
      return sum === undefined || width === undefined ? undefined : sum + width;
    }, 0);
    const start = this.#byte();
    const list = this.#let("[]");
    const position = `p${this.#names++}`;
    const most = count === undefined ? "Infinity" : raws.get(count) ?? "0";
    this.#lines.push(`let ${position}=${start};`);
    const whole = size === undefined || partial ? `${position}<n` : `${position}+${size / 8}<=n`;
    this.#lines.push(`while(${list}.length<${most}&&${whole}){`);
    this.#base = position;
    this.#bit = 0;
    const entries = this.#fields(fields, new Map(raws));
    const next = this.#let(this.#byte());
    this.#lines.push(`if(${partial ? "" : `${next}>n||`}${next}===${position})break;`);
    this.#lines.push(`${list}.push({${entries.join(",")}});${position}=${next};}`);
    this.#lines.push(`if(${list}.length>0)o[${JSON.stringify(group)}]=${list};`);
    this.#base = position;
    this.#bit = 0;
  }

  /** The body of a function that reads one field at byte `at`. */
  single(field: Field): string {
    this.#base = "at";
    const value = this.#value(field, new Map());
    return `const n=d.length;\n${this.#lines.join("\n")}\nreturn ${value};`;
  }

  /** The whole body: decodes `d`, of which `n` bytes are the payload. */
  body(items: readonly Item[]): string {
    const raws = new Map<string, string>();
    const first = items.findIndex((item) => isGroup(item));
    const isField = (item: Item): item is Field => !isGroup(item);
    const head = items.slice(0, first < 0 ? items.length : first).filter(isField);
    const literal = `{${this.#fields(head, raws).join(",")}}`;
    if (first < 0) return `${this.#lines.join("\n")}\nreturn ${literal};`;
    this.#lines.push(`const o=${literal};`);
    for (let index = first; index < items.length;) {
      const item = items[index];
      if (item && isGroup(item)) {
        this.#group(item, raws);
        index++;
        continue;
      }
      const next = items.findIndex((each, at) => at > index && isGroup(each));
      const fields = items.slice(index, next < 0 ? items.length : next).filter(isField);
      this.#lines.push(`Object.assign(o,{${this.#fields(fields, raws).join(",")}});`);
      index += fields.length;
    }
    return `${this.#lines.join("\n")}\nreturn o;`;
  }
}
