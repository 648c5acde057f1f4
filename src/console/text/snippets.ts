import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  getOption,
  isFieldSet,
  type Message,
} from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import { http as httpOption } from '../../../gen/google/api/annotations_pb.js';
import {
  field as fieldOption,
  message as messageOption,
  text as textOption,
  union as unionOption,
} from '../../../gen/relayer/rest/v1/options_pb.js';
import {
  type SignDataRequest,
  SigningService,
  type SignTransactionRequest,
  type SignTypedDataRequest,
} from '../../../gen/relayer/v1/signing_service_pb.js';
import {
  type CancelTransactionRequest,
  type GetTransactionRequest,
  type ReplaceTransactionRequest,
  type SendTransactionRequest,
  TransactionService,
} from '../../../gen/relayer/v1/transaction_service_pb.js';

/** A call to copy. */
export type SnippetRequest =
  | SendTransactionRequest
  | ReplaceTransactionRequest
  | CancelTransactionRequest
  | GetTransactionRequest
  | SignTypedDataRequest
  | SignDataRequest
  | SignTransactionRequest;

/** One way to make a call. */
export interface Snippet {
  /** The name of the tool or language. */
  readonly name: string;
  /** The text to paste. It takes the API key from the environment variable `API_KEY`, and never contains it. */
  readonly text: string;
}

/**
 * Writes a call for curl, grpcurl, TypeScript and Python.
 * @param origin scheme, host and port of the service, such as `https://relayer.example:8080`
 */
export function snippetsOf(request: SnippetRequest, origin: string): readonly Snippet[] {
  const method = methodOf(request);
  const url = new URL(origin);
  return [
    { name: 'curl', text: curl(method, request, url.origin) },
    { name: 'grpcurl', text: grpcurl(method, request, url) },
    { name: 'TypeScript', text: typescript(method, request, url.origin) },
    { name: 'Python', text: python(method, request, url) },
  ];
}

/** Quotes a text for a POSIX shell. It cannot hold the character NUL. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes a message as JSON in the form of REST. */
export function restJsonOf(desc: DescMessage, message: Message): string {
  return printed(treeOf(desc, message, restValues), 0, jsonLayout);
}

/** Quotes a text for TypeScript and Python, which both read every escape that JSON writes. */
export function codeQuoted(text: string): string {
  return JSON.stringify(text);
}

function methodOf(request: SnippetRequest): DescMethod {
  const methods: readonly DescMethod[] = [...TransactionService.methods, ...SigningService.methods];
  const method = methods.find(({ input }) => input.typeName === request.$typeName);
  if (method === undefined) throw new Error(`no method takes ${request.$typeName}`);
  return method;
}

function curl(method: DescMethod, request: Message, origin: string): string {
  const { pattern } = getOption(method, httpOption) ?? {};
  const [verb, template] = pattern?.case === undefined || pattern.case === 'custom' ? ['get', ''] : [pattern.case, pattern.value];
  const properties = request as unknown as Readonly<Record<string, unknown>>;
  const inPath = new Set<string>();
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name);
    const field = method.input.fields.find((one) => one.name === name);
    return encodeURIComponent(String(properties[field?.localName ?? ''] ?? ''));
  });
  const lines = [
    `curl --fail-with-body -X ${verb.toUpperCase()} ${shellQuoted(`${origin}${path}`)}`,
    '-H "Authorization: Bearer $API_KEY"',
  ];
  for (const { header, value } of headersOf(method.input, request)) lines.push(`-H ${shellQuoted(`${header}: ${value}`)}`);
  if (verb === 'post' || verb === 'put') {
    const entries = entriesOf(treeOf(method.input, request, restValues)).filter(([name]) => !inPath.has(name));
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(printed({ entries }, 0, jsonLayout))}`);
  }
  return lines.join(' \\\n  ');
}

/** The fields that REST takes from headers. */
function headersOf(desc: DescMessage, request: Message): readonly { readonly header: string; readonly value: string }[] {
  const properties = request as unknown as Readonly<Record<string, unknown>>;
  return desc.fields
    .filter((field) => isFieldSet(request, field) && getOption(field, fieldOption).rpcOnly)
    .map((field) =>
      getOption(field, fieldOption).ifMatch
        ? { header: 'If-Match', value: `"${properties[field.localName]}"` }
        : { header: 'Idempotency-Key', value: String(properties[field.localName]) },
    );
}

function grpcurl(method: DescMethod, request: Message, url: URL): string {
  return [
    `grpcurl${isTls(url) ? '' : ' -plaintext'} -H "Authorization: Bearer $API_KEY"`,
    `-d ${shellQuoted(printed(treeOf(method.input, request, jsonValues), 0, jsonLayout))}`,
    `${shellQuoted(targetOf(url))} ${method.parent.typeName}/${method.name}`,
  ].join(' \\\n  ');
}

function isTls({ protocol }: URL): boolean {
  return protocol === 'https:';
}

/** The target of a gRPC channel: host and port. */
function targetOf(url: URL): string {
  return `${url.hostname}:${url.port || (isTls(url) ? 443 : 80)}`;
}

function typescript(method: DescMethod, request: Message, origin: string): string {
  const imports = new Map<string, Set<string>>();
  const use = (module: string, name: string): string => {
    imports.set(module, (imports.get(module) ?? new Set()).add(name));
    return name;
  };
  use('@connectrpc/connect', 'createClient');
  use('@connectrpc/connect-node', 'createGrpcTransport');
  use(moduleOf(method.parent.file.name), method.parent.name);
  const argument = printed(treeOf(method.input, request, typescriptValues(use)), 0, typescriptLayout);
  const imported = [...imports].map(([module, names]) => `import { ${[...names].sort().join(', ')} } from ${codeQuoted(module)};`);
  return `// Generate ./gen from the service's /contract.zip with protoc-gen-es.
${imported.join('\n')}

const transport = createGrpcTransport({
  baseUrl: ${codeQuoted(origin)},
  interceptors: [
    (next) => (request) => {
      request.header.set("authorization", \`Bearer \${process.env.API_KEY}\`);
      return next(request);
    },
  ],
});
const client = createClient(${method.parent.name}, transport);
const response = await client.${method.localName}(${argument});
console.log(response);
`;
}

function python(method: DescMethod, request: Message, url: URL): string {
  const target = codeQuoted(targetOf(url));
  const module = method.parent.file.name.split('/').at(-1) ?? '';
  const argument = printed(treeOf(method.input, request, pythonValues), 1, pythonLayout, pythonArguments);
  return `# Generate the modules from the service's /contract.zip with grpcio-tools.
import os

import grpc
from relayer.v1 import ${module}_pb2 as messages
from relayer.v1 import ${module}_pb2_grpc as services

channel = ${isTls(url) ? `grpc.secure_channel(${target}, grpc.ssl_channel_credentials())` : `grpc.insecure_channel(${target})`}
client = services.${method.parent.name}Stub(channel)
response = client.${method.name}(
    messages.${method.input.name}(${argument}),
    metadata=[("authorization", "Bearer " + os.environ["API_KEY"])],
)
print(response)
`;
}

/** The literal of a message in a language, before it is laid out. */
type Tree = string | { readonly entries: Entries } | { readonly items: readonly Tree[] };
type Entries = readonly (readonly [string, Tree])[];

function entriesOf(tree: Tree): Entries {
  return typeof tree === 'object' && 'entries' in tree ? tree.entries : [];
}

/** How a language writes values. */
interface Values {
  /** The name of a field in a message. Null: the language does not write the field. */
  readonly name: (field: DescField) => string | null;
  /** A union that holds `field`. */
  readonly union: (oneof: DescOneof, field: DescField, value: Tree) => Entries;
  readonly enumValue: (desc: DescEnum, number: number) => Tree;
  readonly bytes: (value: Uint8Array, field: DescField) => Tree;
  readonly long: (value: bigint) => Tree;
  readonly bool: (value: boolean) => Tree;
  /** A message with a text of its own, such as a time. Null: write its fields. */
  readonly message: (desc: DescMessage, value: Message) => Tree | null;
}

function typescriptValues(use: (module: string, name: string) => string): Values {
  return {
    name: ({ localName }) => localName,
    union: ({ localName }, field, value) => {
      const entries: Entries = [
        ['case', codeQuoted(field.localName)],
        ['value', value],
      ];
      return [[localName, { entries }]];
    },
    enumValue: (desc, number) => {
      const value = desc.value[number];
      return value === undefined ? String(number) : `${use(moduleOf(desc.file.name), desc.name)}.${value.localName}`;
    },
    bytes: (value) => `Buffer.from(${codeQuoted(base64Encode(value))}, "base64")`,
    long: (value) => `${value}n`,
    bool: String,
    message: (desc, value) => {
      const time = timeText(desc, value);
      return time && `${use('@bufbuild/protobuf/wkt', 'timestampFromDate')}(new Date(${time}))`;
    },
  };
}

/** The JSON form of Protobuf, which reflection clients read. */
const jsonValues: Values = {
  name: ({ jsonName }) => jsonName,
  union: (_, field, value) => [[field.jsonName, value]],
  enumValue: (desc, number) => codeQuoted(desc.value[number]?.name ?? String(number)),
  bytes: (value) => codeQuoted(base64Encode(value)),
  long: (value) => codeQuoted(String(value)),
  bool: String,
  message: timeText,
};

/** Returns the text of a time, quoted. Null: the message is another one. */
function timeText(desc: DescMessage, value: Message): string | null {
  return desc.typeName === TimestampSchema.typeName ? codeQuoted(timestampDate(value as Timestamp).toISOString()) : null;
}

/**
 * The JSON that REST reads, by the options of the definitions, without fields that only RPC has. It knows the options of the requests
 * that are shown, not the options of policies and of JSON text.
 */
const restValues: Values = {
  ...jsonValues,
  name: (field) => (getOption(field, fieldOption).rpcOnly ? null : restNameOf(field)),
  union(oneof, field, value) {
    const { selector, content } = getOption(oneof, unionOption);
    if (selector.case === undefined) return [[restNameOf(field), value]];
    const tag: Entries = selector.case === 'tag' ? [[selector.value, codeQuoted(getOption(field, fieldOption).tags[0] ?? field.name)]] : [];
    if (content === '') return [...tag, ...entriesOf(value)];
    // An empty message has nothing to write (`{"type":"none"}`).
    return field.message?.fields.length === 0 ? tag : [...tag, [content, value]];
  },
  enumValue: (desc, number) => {
    const value = desc.value[number];
    if (value === undefined) return String(number);
    const words = value.name.slice(desc.sharedPrefix?.length ?? 0).toLowerCase();
    return codeQuoted(getOption(value, textOption) || words.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  },
  bytes: (value, field) => (getOption(field, fieldOption).hex ? codeQuoted(hexOf(value)) : jsonValues.bytes(value, field)),
  // REST reads a 64-bit integer from digits in a string too, and JavaScript's numbers cannot hold all of them.
  long: (value) => (value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= 0n ? String(value) : codeQuoted(String(value))),
  message(desc, value) {
    const short = desc.fields.find(({ name }) => name === getOption(desc, messageOption).shorthand);
    if (short !== undefined && desc.fields.every((field) => isFieldSet(value, field) === (field === short)))
      return fieldTree(short, (value as unknown as Readonly<Record<string, unknown>>)[short.localName], restValues);
    const [held] = Object.values(value).map((one) => (one as { readonly case?: string } | null)?.case);
    const field = desc.fields.find(({ localName }) => localName === held);
    const isBare = field !== undefined && getOption(desc, messageOption).bareCases.includes(restNameOf(field));
    return isBare ? codeQuoted(restNameOf(field)) : timeText(desc, value);
  },
};

function restNameOf(field: DescField): string {
  return getOption(field, fieldOption).name || field.name;
}

/** Writes bytes as lower-case hex. */
export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

const pythonValues: Values = {
  name: ({ name }) => name,
  union: (_, field, value) => [[field.name, value]],
  enumValue: (desc, number) => {
    const value = desc.value[number];
    return value === undefined ? String(number) : codeQuoted(value.name);
  },
  bytes: (value) => `bytes.fromhex("${hexOf(value)}")`,
  long: String,
  bool: (value) => (value ? 'True' : 'False'),
  message: () => null,
};

function moduleOf(file: string): string {
  return `./gen/${file}_pb.js`;
}

function treeOf(desc: DescMessage, message: Message, values: Values): Tree {
  const properties = message as unknown as Readonly<Record<string, unknown>>;
  const entries: (readonly [string, Tree])[] = [];
  for (const member of desc.members) {
    if (member.kind === 'field') {
      const name = values.name(member);
      if (name !== null && isFieldSet(message, member)) entries.push([name, fieldTree(member, properties[member.localName], values)]);
      continue;
    }
    const held = properties[member.localName] as { readonly case?: string; readonly value?: unknown };
    const chosen = member.fields.find(({ localName }) => localName === held.case);
    if (chosen !== undefined) entries.push(...values.union(member, chosen, valueTree(chosen, held.value, values)));
  }
  return { entries };
}

function fieldTree(field: DescField, value: unknown, values: Values): Tree {
  return field.fieldKind === 'list'
    ? { items: (value as readonly unknown[]).map((item) => valueTree(field, item, values)) }
    : valueTree(field, value, values);
}

function valueTree(field: DescField, value: unknown, values: Values): Tree {
  if (field.message !== undefined)
    return values.message(field.message, value as Message) ?? treeOf(field.message, value as Message, values);
  if (field.enum !== undefined) return values.enumValue(field.enum, value as number);
  if (value instanceof Uint8Array) return values.bytes(value, field);
  if (typeof value === 'string') return codeQuoted(value);
  if (typeof value === 'boolean') return values.bool(value);
  return typeof value === 'bigint' ? values.long(value) : String(value);
}

/** How a language lays out a message. */
interface Layout {
  /** The indentation of one level. */
  readonly step: string;
  readonly key: (name: string) => string;
  readonly open: string;
  readonly close: string;
  /** What follows the last member. */
  readonly lastComma: string;
}

const typescriptLayout: Layout = { step: '  ', key: (name) => `${name}: `, open: '{', close: '}', lastComma: ',' };
const jsonLayout: Layout = { ...typescriptLayout, key: (name) => `${codeQuoted(name)}: `, lastComma: '' };
const pythonLayout: Layout = { ...typescriptLayout, step: '    ', key: (name) => `"${name}": ` };

/** Keyword arguments, between parentheses that are already there. */
const pythonArguments: Layout = { ...pythonLayout, key: (name) => `${name}=`, open: '', close: '' };

/** Lays out a literal. `outer` is the layout of the outermost message, if it differs. */
function printed(tree: Tree, depth: number, layout: Layout, outer = layout): string {
  if (typeof tree === 'string') return tree;
  const isList = 'items' in tree;
  const open = isList ? '[' : outer.open;
  const close = isList ? ']' : outer.close;
  const members = isList
    ? tree.items.map((item) => ['', item] as const)
    : tree.entries.map(([name, value]) => [outer.key(name), value] as const);
  if (members.length === 0) return `${open}${close}`;
  const lines = members.map(([key, value]) => `${layout.step.repeat(depth + 1)}${key}${printed(value, depth + 1, layout)}`);
  return `${open}\n${lines.join(',\n')}${layout.lastComma}\n${layout.step.repeat(depth)}${close}`;
}
