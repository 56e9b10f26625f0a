import {
  type Definition,
  definitionsOf,
  type Field,
  type Group,
  isGroup,
  type Item,
  knownPgns,
} from "../../src/pgn/model.ts";
import { CommandedPgn, isProprietary } from "../../src/pgn/parameters.ts";
import { BitWriter } from "../../src/pgn/bit_writer.ts";
import type { Random } from "./random.ts";

const PRINTABLE = "ABCXYZ abcxyz 0189 .-/@";
const ACCENTED = "äéñø";
const WIDE = "Łódź 漢字 €";

/** Makes payloads of a definition in which everything is whole: lengths, counts and sets fit, the bits are random. */
export class WholePayloads {
  readonly #random: Random;
  readonly #pgns = knownPgns();
  /** Layout of the PGN that is commanded, whose discriminators are told. */
  #layout: Definition | undefined;
  #writer = new BitWriter();
  #raws = new Map<string, number>();
  #counts = new Map<string, number>();
  #commanded: CommandedPgn | undefined;
  #index = 0;
  #key: Field | undefined;
  #bytes: number | undefined;

  constructor(random: Random) {
    this.#random = random;
  }

  next({ items }: Definition): Uint8Array<ArrayBuffer> {
    this.#writer = new BitWriter();
    this.#raws = new Map();
    this.#counts = new Map();
    this.#commanded = this.#key = this.#bytes = undefined;
    for (const item of items) {
      if (isGroup(item)) this.#group(item);
      else this.#field(item, items);
    }
    return this.#writer.take();
  }

  #group({ count, fields }: Group): void {
    const sets = count === undefined ? this.#random.int(4) : this.#counts.get(count) ?? 0;
    for (let set = 0; set < sets; set++) for (const field of fields) this.#field(field, fields);
  }

  /** A raw value, now and then at an end of what the width holds. */
  #bits(bits: number): void {
    const kind = this.#random.int(8);
    if (kind < 2) return this.#writer.fill(bits, kind === 0 ? 0 : 1);
    if (kind === 2) {
      // Around the highest codes, with and without a sign.
      const raw = (1n << BigInt(Math.max(0, bits - this.#random.int(2)))) - 1n - BigInt(this.#random.int(5));
      return this.#writer.raw(BigInt.asUintN(bits, raw), bits);
    }
    for (let left = bits; left > 0; left -= 8) {
      this.#writer.raw(this.#random.int(256) % 2 ** Math.min(8, left), Math.min(8, left));
    }
  }

  #number(raw: number, bits: number): number {
    this.#writer.raw(raw, bits);
    return raw;
  }

  #decided(field: Field, siblings: readonly Item[]): number | undefined {
    const { name, match, bits = 0 } = field;
    if (match !== undefined) return match;
    const next = siblings[siblings.indexOf(field) + 1];
    if (next && !isGroup(next) && next.type === "parameters") return this.#count(name, this.#random.int(4));
    for (const item of siblings) {
      if (isGroup(item) && item.count === name) return this.#count(name, this.#random.int(4));
      if (!isGroup(item) && item.by === name && item.type === "binary") {
        return this.#count(name, this.#random.int(Math.min(2 ** bits - 1, 200)));
      }
    }
    if (field.type === "pgn") return this.#random.pick(this.#pgns);
    if (field.proprietary) {
      return this.#layout?.matches.find(({ field: { name } }) => name === field.name)?.field.match;
    }
    if (field.type === "index") return this.#knownIndex();
    if (field.type === "key") return this.#random.chance(0.8) ? this.#random.pick([...field.keys!.keys()]) : undefined;
    if (field.type === "length") return this.#random.chance(0.8) ? Math.ceil((this.#key?.bits ?? 24) / 8) : undefined;
    return undefined;
  }

  #count(name: string | undefined, count: number): number {
    if (name !== undefined) this.#counts.set(name, count);
    return count;
  }

  #knownIndex(): number {
    for (let tries = 0; tries < 50; tries++) {
      const index = this.#random.between(1, 30);
      const known = this.#commanded?.field(index)?.field;
      // What runs to the end would swallow the next one.
      if (known && (known.bits !== undefined || known.type === "lau" || known.type === "lz")) return index;
    }
    return 1;
  }

  #field(field: Field, siblings: readonly Item[]): void {
    if (field.proprietary && !isProprietary(this.#raws.get("pgn") ?? 0)) return;
    const { type, name, bits, repeat = 1 } = field;
    if (type === "parameters") return this.#parameters(field, siblings);
    if (type === "variable") return this.#variable();
    if (type === "value") return this.#value();
    if (["text", "lau", "lz", "decimal", "binary"].includes(type)) return this.#run(field);
    const decided = this.#decided(field, siblings);
    const before = this.#writer.bit;
    if (decided === undefined) { for (let index = 0; index < repeat; index++) this.#bits(bits!); }
    else this.#number(decided, bits!);
    const raw = this.#written(before, bits! * repeat);
    if (name !== undefined && raw !== undefined) this.#raws.set(name, raw);
    if (type === "pgn") {
      this.#commanded = new CommandedPgn(raw!);
      this.#layout = this.#random.pick(definitionsOf(raw!));
    }
    if (field.proprietary && name !== undefined) this.#commanded?.restrict(name, raw!);
    if (type === "index") this.#index = raw!;
    if (type === "key") [this.#key, this.#bytes] = [field.keys!.get(raw!), undefined];
    if (type === "length") this.#bytes = raw!;
  }

  /** What was written since a bit, when it is a number of at most 32 bits. */
  #written(bit: number, bits: number): number | undefined {
    if (bits > 32) return undefined;
    const bytes = this.#writer.take();
    let raw = 0;
    for (let index = 0; index < bits; index++) {
      raw += ((bytes[(bit + index) >>> 3]! >>> ((bit + index) & 7)) & 1) * 2 ** index;
    }
    return raw;
  }

  #text(characters: string, most: number): string {
    return Array.from({ length: this.#random.int(most + 1) }, () => this.#random.pick([...characters])).join("");
  }

  #run(field: Field): void {
    const { type, bits, by } = field;
    const bytes = bits === undefined ? undefined : bits / 8;
    if (type === "binary") {
      const told = by === undefined ? undefined : this.#counts.get(by);
      if (bits !== undefined) return this.#bits(bits);
      return this.#writer.bytes(this.#random.bytes(told === undefined ? this.#random.int(20) : Math.ceil(told / 8)));
    }
    if (type === "decimal") {
      const digits = Array.from({ length: this.#random.int(bytes! + 1) }, () => this.#random.int(100));
      this.#writer.bytes(Uint8Array.from(digits));
      return this.#writer.fill((bytes! - digits.length) * 8);
    }
    if (type === "text") {
      const text = this.#text(
        this.#random.chance(0.9) ? PRINTABLE : ACCENTED,
        Math.floor(bytes! / 2) * (1 + this.#random.int(2)),
      );
      const whole = new TextEncoder().encode(text);
      const content = whole.length <= bytes! ? whole : new TextEncoder().encode("too long".slice(0, bytes!));
      this.#writer.bytes(content);
      return this.#writer.fill((bytes! - content.length) * 8, this.#random.chance(0.5) ? 0 : 1);
    }
    if (type === "lz") {
      const content = new TextEncoder().encode(this.#text(PRINTABLE, Math.min(30, (bytes ?? 32) - 2)));
      this.#writer.bytes(Uint8Array.of(content.length, ...content, 0));
      return this.#writer.fill(bytes === undefined ? 0 : (bytes - content.length - 2) * 8);
    }
    if (this.#random.chance(0.2)) {
      const units = [...this.#text(WIDE, 20)].flatMap((each) => [each.charCodeAt(0) & 0xff, each.charCodeAt(0) >>> 8]);
      return this.#writer.bytes(Uint8Array.of(units.length + 2, 0, ...units));
    }
    const content = new TextEncoder().encode(this.#text(this.#random.chance(0.8) ? PRINTABLE : ACCENTED, 30));
    this.#writer.bytes(Uint8Array.of(content.length + 2, 1, ...content));
  }

  #parameters(field: Field, siblings: readonly Item[]): void {
    const before = siblings[siblings.indexOf(field) - 1]!;
    this.#commanded = new CommandedPgn(this.#raws.get(field.by ?? "")!);
    const count = isGroup(before) ? 0 : this.#counts.get(before.name ?? "") ?? 0;
    for (let index = 0; index < count; index++) {
      this.#index = this.#knownIndex();
      this.#number(this.#index, 8);
      this.#variable();
    }
  }

  #variable(): void {
    const known = this.#commanded!.field(this.#index)!;
    const before = this.#writer.bit;
    const { match, bits } = known.field;
    if (match !== undefined) this.#number(match, bits!);
    else if (["text", "lau", "lz", "decimal", "binary"].includes(known.field.type)) this.#run(known.field);
    else this.#bits(bits! * (known.field.repeat ?? 1));
    this.#writer.align(0);
    const raw = ["text", "lau", "lz", "decimal", "binary"].includes(known.field.type)
      ? undefined
      : this.#written(before, bits!);
    if (raw !== undefined) this.#commanded!.restrict(this.#index, raw);
  }

  #value(): void {
    const bytes = this.#bytes ?? (this.#key?.bits === undefined ? this.#random.int(8) : this.#key.bits / 8);
    this.#bits(bytes * 8);
  }
}
