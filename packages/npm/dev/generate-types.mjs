// Writes the types of the package to the file `OUT`, from the schemas in the directory `SCHEMAS`.
// Usage: node generate-types.mjs SCHEMAS OUT, where `json-schema-to-typescript` is installed.
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

/** The name of each schema's type. */
const TYPES = {
  cost: 'Cost',
  loop: 'LoopResult',
  run: 'Envelope',
  'run-detached': 'DetachedOutput',
  'run-dry-run': 'DryRun',
  show: 'Show',
  'show-workflow': 'ShowWorkflow',
  status: 'Status',
  'stream-json': 'Decision',
  'stream-result': 'RunResult',
  why: 'Why',
  'why-workflow': 'WhyWorkflow',
};

const [schemas, out] = process.argv.slice(2);
const { compile } = createRequire(join(process.cwd(), 'package.json'))('json-schema-to-typescript');

/** Moves references next to other keys into `allOf`: otherwise each becomes a type of its own. */
function separateReferences(node) {
  if (typeof node !== 'object' || node === null) {
    return node;
  }
  if (Array.isArray(node)) {
    return node.map(separateReferences);
  }
  const { $ref, ...rest } = Object.fromEntries(
    Object.entries(node).map(([key, value]) => [key, separateReferences(value)]),
  );
  if ($ref === undefined) {
    return rest;
  }
  return Object.keys(rest).length === 0 ? { $ref } : { ...rest, allOf: [{ $ref }] };
}

const definitions = {};
const outputs = {};
for (const [file, name] of Object.entries(TYPES)) {
  const { $id, $defs, ...whole } = JSON.parse(await readFile(join(schemas, `${file}.schema.json`), 'utf8'));
  for (const [definition, schema] of Object.entries({ ...$defs, [name]: { ...whole, title: name } })) {
    if (definition in definitions && !isDeepStrictEqual(definitions[definition], schema)) {
      throw new Error(`two schemas define ${definition} differently`);
    }
    definitions[definition] = schema;
  }
  outputs[file] = { $ref: `#/$defs/${name}` };
}
const all = { description: 'The output of each schema.', properties: outputs, $defs: definitions };
const types = await compile(separateReferences(all), 'Outputs', {
  // Later versions add keys. A type without them still describes what is read.
  additionalProperties: false,
  bannerComment: '// Generated from docs/schemas by dev/generate-types.mjs.',
  style: { printWidth: 120, singleQuote: true },
});
await writeFile(out, types);
