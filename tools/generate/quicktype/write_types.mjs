// Write the types of a language with quicktype: node write_types.mjs SCHEMAS OUT LANGUAGE OPTIONS
//
// SCHEMAS is a folder of JSON Schemas that refer to each other by file name, OPTIONS a JSON object for quicktype.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { InputData, JSONSchemaInput, JSONSchemaStore, quicktypeMultiFile } from "quicktype-core";

const [schemas, out, lang, options] = process.argv.slice(2);
const read = (name) => JSON.parse(readFileSync(join(schemas, name), "utf-8"));

class Folder extends JSONSchemaStore {
  async fetch(address) {
    return read(address);
  }
}

const input = new JSONSchemaInput(new Folder());
for (const name of readdirSync(schemas).sort()) {
  await input.addSource({ name: read(name).title, uris: [name] });
}
const inputData = new InputData();
inputData.addInput(input);
const { outputFilename, ...rendererOptions } = JSON.parse(options);
const files = await quicktypeMultiFile({ inputData, lang, outputFilename, rendererOptions });
mkdirSync(out, { recursive: true });
for (const [name, { lines }] of files) {
  writeFileSync(join(out, name), lines.map((line) => line.trimEnd()).join("\n"));
}
