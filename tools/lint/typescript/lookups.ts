// What a program writes on its first day with the types. Compiled under --strict alone and under stricter options.

import type { ChatEvent, ErrorInfo } from "../../../generated/typescript/chat_event.js";
import type { DisplayEnvelope, TablePayload } from "../../../generated/typescript/display_envelope.js";
import { DISPLAY_TYPES, ERROR_CATEGORIES, ERROR_CODES } from "../../../generated/typescript/registry.js";
import type { DisplayTypeEntry, ErrorCodeEntry, RegisteredErrorCode } from "../../../generated/typescript/registry.js";

// A document says a code, a category and a type as any string; that nothing is registered under it shows in the type.
export function recovery(error: ErrorInfo): string {
  const entry = ERROR_CODES[error.code];
  // @ts-expect-error an unregistered code has no entry
  entry.recovery;
  return (entry ?? ERROR_CATEGORIES[error.category])?.recovery ?? "give_up";
}
export function isReserved(envelope: DisplayEnvelope): boolean {
  // @ts-expect-error an unregistered type has no entry
  DISPLAY_TYPES[envelope.type].status;
  return DISPLAY_TYPES[envelope.type]?.status === "reserved";
}

// A registered code needs no question mark, and gives exactly what the registry says.
export const status: 404 = ERROR_CODES.NOT_FOUND.http_status;
export const statusOf = (code: RegisteredErrorCode): number => ERROR_CODES[code].http_status;

// The entries as a list, with the members that only some of them have.
export const codes: ErrorCodeEntry[] = Object.values(ERROR_CODES).filter((entry) => entry !== undefined);
export const inert = (entry: DisplayTypeEntry): readonly string[] => entry.inert?.marks ?? [];

// The names of JavaScript and of browsers keep their meaning beside an import of every type.
export function message(fault: unknown, event: ChatEvent): string | undefined {
  return fault instanceof Error ? fault.message : event.error?.message;
}

// Rows of a table: an interface has to be spread, because TypeScript gives an interface no index signature.
interface Sale {
  region: string;
  sales: number;
}
type SaleRow = { region: string; sales: number };
export const asTable = (rows: SaleRow[]): TablePayload => rows;
export const fromInterface = (rows: Sale[]): TablePayload => rows.map((row) => ({ ...row }));
// @ts-expect-error as the guide says; when this compiles, the guide can leave it out
export const refused = (rows: Sale[]): TablePayload => rows;
