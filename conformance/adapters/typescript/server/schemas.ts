/** What the server and the client take from the folder `schemas` of the specification. */
import { readFileSync } from "node:fs"

/** Of the registry of error codes. */
type Row = { code: string; category: string; retryable: boolean; aliases?: string[] }

const load = (path: string) => JSON.parse(readFileSync(new URL(`../../../../schemas/${path}`, import.meta.url), "utf8"))

/** With what all names begin that XMCP adds to MCP, and the version that they follow. */
export const { prefix: PREFIX, version: VERSION }: { prefix: string; version: string } = load("names.json")

const rows: Row[] = load("registry/error_codes.json").codes

/** The registered error codes and their aliases. */
export const CODES = new Map(rows.flatMap((row) => [row.code, ...(row.aliases ?? [])].map((code) => [code, row])))
