// The parts of canboat.json that are used.

export interface CanboatField {
  Order: number;
  Id: string;
  FieldType: string;
  BitLength?: number;
  BitLengthField?: number;
  BitOffset?: number;
  Resolution?: number;
  Offset?: number;
  Signed?: boolean;
  RangeMin?: number;
  RangeMax?: number;
  Unit?: string;
  Match?: number;
  Condition?: string;
  LookupEnumeration?: string;
  LookupBitEnumeration?: string;
  LookupIndirectEnumeration?: string;
  LookupIndirectEnumerationFieldOrder?: number;
  LookupFieldTypeEnumeration?: string;
}

export interface CanboatPgn {
  PGN: number;
  Id: string;
  Type: string;
  Description: string;
  Complete: boolean;
  Fallback?: boolean;
  TransmissionInterval?: number;
  RepeatingFieldSet1Size?: number;
  RepeatingFieldSet1StartField?: number;
  RepeatingFieldSet1CountField?: number;
  RepeatingFieldSet2Size?: number;
  RepeatingFieldSet2StartField?: number;
  RepeatingFieldSet2CountField?: number;
  Fields: CanboatField[];
}

/** Type of the value after a key. */
export interface CanboatKey {
  name: string;
  value: number;
  FieldType: string;
  Resolution?: number;
  Signed?: boolean;
  Unit?: string;
  Bits?: string;
  LookupEnumeration?: string;
  LookupBitEnumeration?: string;
}

export interface Canboat {
  Version: string;
  PGNs: CanboatPgn[];
  LookupEnumerations: { Name: string; EnumValues: { Name: string; Value: number }[] }[];
  LookupBitEnumerations: { Name: string; EnumBitValues: { Name: string; Bit: number }[] }[];
  LookupIndirectEnumerations: { Name: string; EnumValues: { Name: string; Value1: number; Value2: number }[] }[];
  LookupFieldTypeEnumerations: { Name: string; EnumFieldTypeValues: CanboatKey[] }[];
}

/** Reads the canboat database from the installed package, which does not export it. */
export async function readCanboat(): Promise<Canboat> {
  const url = new URL("../canboat.json", import.meta.resolve("@canboat/ts-pgns"));
  return JSON.parse(await Deno.readTextFile(url));
}
