// Every example that the types accepted, and the registries, are at run time what schemas/ says.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import * as registry from "../../../generated/typescript/registry.ts";
import { examples } from "./build/valid.ts";

const read = (path) => JSON.parse(readFileSync(new URL(`../../../schemas/${path}`, import.meta.url), "utf8"));

assert.ok(examples.length > 0, "there are no examples");
for (const [path, value] of examples) {
  assert.deepStrictEqual(JSON.parse(JSON.stringify(value)), read(path), path);
}
assert.equal(registry.PREFIX, read("names.json").prefix);
assert.deepStrictEqual(Object.values(registry.ERROR_CODES), read("registry/error_codes.json").codes);
assert.deepStrictEqual(Object.values(registry.DISPLAY_TYPES), read("registry/display_types.json").types);
for (const key of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
  for (const table of [registry.ERROR_CODES, registry.ERROR_CATEGORIES, registry.DISPLAY_TYPES]) {
    assert.equal(table[key], undefined, `nothing is registered as ${key}`);
  }
}
console.log(`${examples.length} examples go to JSON and back unchanged`);
