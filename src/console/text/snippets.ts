import { type DescEnum, type DescField, type DescMessage, type DescMethod, getOption, isFieldSet, type Message } from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { type Timestamp, TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import { http as httpOption } from '../../../gen/google/api/annotations_pb.js';
import { field as fieldOption } from '../../../gen/relayer/rest/v1/options_pb.js';
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
import { hexOf, restJsonOf } from './rest-json.js';

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
  const body = restJsonOf(method.input, request);
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    delete body[name];
    const field = method.input.fields.find((one) => one.name === name);
    return encodeURIComponent(String(properties[field?.localName ?? ''] ?? ''));
  });
  const lines = [
    `curl --fail-with-body -X ${verb.toUpperCase()} ${shellQuoted(`${origin}${path}`)}`,
    '-H "Authorization: Bearer $API_KEY"',
  ];
  for (const { header, value } of headersOf(method.input, request)) lines.push(`-H ${shellQuoted(`${header}: ${value}`)}`);
  if (verb === 'post' || verb === 'put')
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(body, null, 2))}`);
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
type Tree = string | { readonly entries: readonly (readonly [string, Tree])[] } | { readonly items: readonly Tree[] };

/** How a language writes values. */
interface Values {
  /** The name of a field in a message. */
  readonly name: (field: DescField) => string;
  /** A union that holds `field`. */
  readonly union: (name: string, field: DescField, value: Tree) => readonly [string, Tree];
  readonly enumValue: (desc: DescEnum, number: number) => Tree;
  readonly bytes: (value: Uint8Array) => Tree;
  readonly long: (value: bigint) => Tree;
  readonly bool: (value: boolean) => Tree;
  /** A time; null: write its fields. */
  readonly time: (value: Timestamp) => Tree | null;
}

function typescriptValues(use: (module: string, name: string) => string): Values {
  return {
    name: ({ localName }) => localName,
    union: (name, field, value) => [
      name,
      {
        entries: [
          ['case', codeQuoted(field.localName)],
          ['value', value],
        ],
      },
    ],
    enumValue: (desc, number) => {
      const value = desc.value[number];
      return value === undefined ? String(number) : `${use(moduleOf(desc.file.name), desc.name)}.${value.localName}`;
    },
    bytes: (value) => `Buffer.from(${codeQuoted(base64Encode(value))}, "base64")`,
    long: (value) => `${value}n`,
    bool: String,
    time: (value) => `${use('@bufbuild/protobuf/wkt', 'timestampFromDate')}(new Date(${codeQuoted(timestampDate(value).toISOString())}))`,
  };
}

/** The JSON form of Protobuf, which reflection clients read. */
const jsonValues: Values = {
  name: ({ jsonName }) => jsonName,
  union: (_, field, value) => [field.jsonName, value],
  enumValue: (desc, number) => codeQuoted(desc.value[number]?.name ?? String(number)),
  bytes: (value) => codeQuoted(base64Encode(value)),
  long: (value) => codeQuoted(String(value)),
  bool: String,
  time: (value) => codeQuoted(timestampDate(value).toISOString()),
};

const pythonValues: Values = {
  name: ({ name }) => name,
  union: (_, field, value) => [field.name, value],
  enumValue: (desc, number) => {
    const value = desc.value[number];
    return value === undefined ? String(number) : codeQuoted(value.name);
  },
  bytes: (value) => `bytes.fromhex("${hexOf(value)}")`,
  long: String,
  bool: (value) => (value ? 'True' : 'False'),
  time: () => null,
};

function moduleOf(file: string): string {
  return `./gen/${file}_pb.js`;
}

function treeOf(desc: DescMessage, message: Message, values: Values): Tree {
  const properties = message as unknown as Readonly<Record<string, unknown>>;
  const entries: (readonly [string, Tree])[] = [];
  for (const member of desc.members) {
    if (member.kind === 'field') {
      if (isFieldSet(message, member)) entries.push([values.name(member), fieldTree(member, properties[member.localName], values)]);
      continue;
    }
    const held = properties[member.localName] as { readonly case?: string; readonly value?: unknown };
    const chosen = member.fields.find(({ localName }) => localName === held.case);
    if (chosen !== undefined) entries.push(values.union(member.localName, chosen, valueTree(chosen, held.value, values)));
  }
  return { entries };
}

function fieldTree(field: DescField, value: unknown, values: Values): Tree {
  return field.fieldKind === 'list'
    ? { items: (value as readonly unknown[]).map((item) => valueTree(field, item, values)) }
    : valueTree(field, value, values);
}

function valueTree(field: DescField, value: unknown, values: Values): Tree {
  if (field.message !== undefined) {
    const time = field.message.typeName === TimestampSchema.typeName ? values.time(value as Timestamp) : null;
    return time ?? treeOf(field.message, value as Message, values);
  }
  if (field.enum !== undefined) return values.enumValue(field.enum, value as number);
  if (value instanceof Uint8Array) return values.bytes(value);
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
