// Writes the types of the package to the directory `OUT`, from the schemas in the directory `SCHEMAS` and the flags in
// `packages/flags.json`.
// Usage: node generate-types.mjs SCHEMAS OUT, where `json-schema-to-typescript` is installed.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
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

/** Types that have all keys of another one, by name. */
const BASES = { ResultRun: 'RunInfo' };

/** Types of the flags that these commands have alike, and no other command has. */
const SHARED_FLAGS = {
  AgentFlags: ['run', 'resume', 'loop'],
  LimitFlags: ['run', 'resume'],
};

/** The name of the type of each command's flags. */
const COMMANDS = {
  run: 'RunFlags',
  resume: 'ResumeFlags',
  recover: 'RecoverFlags',
  cancel: 'CancelFlags',
  status: 'StatusFlags',
  cost: 'CostFlags',
  attach: 'AttachFlags',
  loop: 'LoopFlags',
};

/** Flags that are no options: the API sets them, they print something else, or all calls have them. */
const OMITTED = {
  every: ['json', 'no-config', 'no-pager', 'output-format', 'profile', 'prompt-file', 'quiet', 'verbose'],
  recover: ['detach', 'install', 'list', 'print-service', 'uninstall'],
  loop: ['detach', 'dry-run'],
  status: ['watch'],
  cost: ['csv'],
};

/** The type of each kind of value. */
const KINDS = { switch: 'boolean', number: 'Amount', duration: 'Duration', path: 'string', text: 'string' };

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

await mkdir(out, { recursive: true });
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
for (const [name, base] of Object.entries(BASES)) {
  const { properties, required, ...rest } = definitions[name];
  const isOwn = (key) => !(key in definitions[base].properties);
  const own = Object.fromEntries(Object.entries(properties).filter(([key]) => isOwn(key)));
  const bases = { extends: { $ref: `#/$defs/${base}` } };
  definitions[name] = { ...rest, ...bases, properties: own, required: required.filter(isOwn) };
}
const all = { description: 'The output of each schema.', properties: outputs, $defs: definitions };
const types = await compile(separateReferences(all), 'Outputs', {
  // Later versions add keys. A type without them still describes what is read.
  additionalProperties: false,
  bannerComment: '// Generated from docs/schemas by dev/generate-types.mjs.',
  style: { printWidth: 120, singleQuote: true },
});
await writeFile(join(out, 'outputs.d.ts'), types);

/** Returns the type of a flag's option. */
function typeOf({ kind, choices, list, key_value: isMapping, optional_value: isOptional }) {
  const type = choices?.map((choice) => `'${choice}'`).join(' | ') ?? KINDS[kind];
  const types = [isOptional && 'boolean', type, list && `${type}[]`, isMapping && 'Mapping'];
  return types.filter(Boolean).join(' | ');
}

const commands = JSON.parse(await readFile(new URL('../../flags.json', import.meta.url), 'utf8'));
const flagsOf = (command) => {
  const omitted = [...OMITTED.every, ...(OMITTED[command] ?? [])];
  return Object.entries(commands[command].flags).filter(([flag]) => !omitted.includes(flag));
};

/** Returns the type of the commands that share a flag, or `undefined` if it stands in the type of each command. */
function sharedTypeOf(flag, described) {
  const owners = Object.keys(COMMANDS).filter((command) =>
    flagsOf(command).some(([name, other]) => name === flag && isDeepStrictEqual(other, described)),
  );
  return Object.keys(SHARED_FLAGS).find((name) => isDeepStrictEqual([...SHARED_FLAGS[name]].sort(), owners.sort()));
}

/** Returns an interface with these flags. */
function interfaceOf(description, name, bases, flags) {
  const options = flags.map(([flag, described]) => {
    const option = flag.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
    return `  /** ${described.about} */\n  ${option}?: ${typeOf(described)};\n`;
  });
  const parents = bases.length === 0 ? '' : ` extends ${bases.join(', ')}`;
  return `\n/** ${description} */\nexport interface ${name}${parents} {\n${options.join('')}}\n`;
}

const shared = Object.entries(SHARED_FLAGS).map(([name, owners]) => {
  const flags = flagsOf(owners[0]).filter(([flag, described]) => sharedTypeOf(flag, described) === name);
  return interfaceOf(`Flags of ${owners.map((owner) => `\`longhaul ${owner}\``).join(', ')}.`, name, [], flags);
});
const interfaces = Object.entries(COMMANDS).map(([command, name]) => {
  const bases = Object.keys(SHARED_FLAGS).filter((base) => SHARED_FLAGS[base].includes(command));
  const flags = flagsOf(command).filter(([flag, described]) => sharedTypeOf(flag, described) === undefined);
  return interfaceOf(`Flags of \`longhaul ${command}\`.`, name, bases, flags);
});
const head = `// Generated from packages/flags.json by dev/generate-types.mjs.
import type { Amount, Duration, Mapping } from './options.js';
`;
await writeFile(join(out, 'flags.d.ts'), head + [...shared, ...interfaces].join(''));
