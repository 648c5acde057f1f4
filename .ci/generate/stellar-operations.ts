import { readFileSync, writeFileSync } from 'node:fs';
import { type ListedOperation, listedOperations } from '../../src/chains/stellar/operation-table.js';

/* Writes the definitions of Stellar operations from their table. The first part of `npm run generate`. */

const definitions = 'proto/relayer/v1/stellar.proto';
/** The first number of a case; those before it are written by hand. */
const firstCase = 5;

/** What languages reserve has another name in the definitions, and its own in REST. */
const reservedNames: Readonly<Record<string, string>> = { from: 'from_account' };

/** Returns the definitions with the parts that follow from the table. */
export function withOperations(text: string): string {
  const all = [...listedOperations];
  const cases = all.map(([type, { about }], index) => [
    ...commentOf(about, '    '),
    `    ${messageName(type)} ${type} = ${firstCase + index};`,
  ]);
  return withPart(withPart(text, 'cases', cases.flat(), '    '), 'operations', all.flatMap(messageOf), '');
}

function withPart(text: string, name: string, lines: readonly string[], indent: string): string {
  const [start, end] = [`${indent}// <${name}: written by "npm run generate">\n`, `${indent}// </${name}>\n`];
  const [before, after] = [text.indexOf(start), text.indexOf(end)];
  if (before === -1 || after < before) throw new Error(`the definitions have no part ${name}`);
  return `${text.slice(0, before + start.length)}${lines.map((line) => `${line}\n`).join('')}${text.slice(after)}`;
}

function messageName(type: string): string {
  return `${type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Operation`;
}

function messageOf([type, { about, fields }]: readonly [string, ListedOperation]): readonly string[] {
  const members = Object.entries(fields).flatMap(([name, field], index) => memberOf(name, field, index + 1));
  const body = members.length === 0 ? [`message ${messageName(type)} {}`] : [`message ${messageName(type)} {`, ...members, '}'];
  return ['', ...commentOf(about, ''), ...body];
}

function memberOf(name: string, { kind, about, isRequired }: ListedOperation['fields'][string], position: number): readonly string[] {
  const protoName = reservedNames[name] ?? name;
  const rules = Object.entries({ ...kind.rules, ...(protoName === name ? {} : { name }), ...(isRequired ? { required: true } : {}) });
  const written = rules.map(([key, value]) => [key, JSON.stringify(value)] as const);
  // A list has no presence of its own.
  const isOptional = !kind.type.startsWith('repeated ') && (!isRequired || kind.hasZero === true);
  const start = `  ${isOptional ? 'optional ' : ''}${kind.type} ${protoName} = ${position}`;
  const [only] = written;
  const options =
    only === undefined
      ? [`${start};`]
      : written.length === 1
        ? [`${start} [(relayer.rest.v1.field).${only[0]} = ${only[1]}];`]
        : [`${start} [(relayer.rest.v1.field) = {`, ...written.map(([key, value]) => `    ${key}: ${value}`), '  }];'];
  const sentence = [about, kind.limits, isRequired ? 'Required.' : undefined].filter((part) => part !== undefined).join(' ');
  return [...commentOf(sentence, '  '), ...options];
}

/** A comment in lines of at most 160 columns, as the definitions have. */
function commentOf(text: string, indent: string): readonly string[] {
  const lines = [`${indent}//`];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (`${lines[last]} ${word}`.length > 160) lines.push(`${indent}// ${word}`);
    else lines[last] = `${lines[last]} ${word}`;
  }
  return lines;
}

if (process.argv[1]?.endsWith('stellar-operations.js') === true)
  writeFileSync(definitions, withOperations(readFileSync(definitions, 'utf8')));
