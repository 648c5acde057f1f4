import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { createFileRegistry, type FileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { compileMethodPlans } from '../../../src/api/contract/method-plan.js';
import { compileRest } from '../../../src/api/rest/gateway.js';

/** What stops the start, and the message `Request` (with what it needs) and the route that have it. */
interface Case {
  readonly name: string;
  readonly messages: string;
  readonly refused: RegExp;
  readonly route?: string;
}

/** Requests of a POST whose path has `{relayer_id}`. */
const request = (fields: string, more = '') => `${more} message Request { string relayer_id = 1; ${fields} }`;
const option = (text: string) => `[(relayer.rest.v1.field).${text}]`;

const cases: readonly Case[] = [
  { name: 'number on a bool', messages: request(`bool a = 2 ${option('number = true')};`), refused: /Request\.a has the option number/ },
  { name: 'number on 32 bits', messages: request(`uint32 a = 2 ${option('number = true')};`), refused: /the option number/ },
  { name: 'amount on an integer', messages: request(`uint64 a = 2 ${option('amount = true')};`), refused: /the option amount/ },
  { name: 'json on bytes', messages: request(`bytes a = 2 ${option('json = true')};`), refused: /the option json/ },
  { name: 'hex on a string', messages: request(`string a = 2 ${option('hex = true')};`), refused: /the option hex, which needs bytes/ },
  { name: 'bounds on a string', messages: request(`string a = 2 ${option('min = 1')};`), refused: /the option min or max/ },
  {
    name: 'a range that is none',
    messages: request('uint32 a = 2 [(relayer.rest.v1.field) = {min: 2, max: 1}];'),
    refused: /min above max/,
  },
  { name: 'nullable on a list', messages: request(`repeated string a = 2 ${option('nullable = true')};`), refused: /the option nullable/ },
  {
    name: 'nullable on an implicit field',
    messages: request(`string a = 2 ${option('nullable = true')};`),
    refused: /the option nullable/,
  },
  { name: 'tags outside a tagged union', messages: request(`string a = 2 ${option('tags = "x"')};`), refused: /the option tags/ },
  {
    name: 'a copy of a field that is not there',
    messages: request('option (relayer.rest.v1.message).rest_keys = { name: "b" copy_of: "c" }; string a = 2;'),
    refused: /has the REST key b, a copy of c/,
  },
  {
    name: 'a REST key without content',
    messages: request('option (relayer.rest.v1.message).rest_keys = { name: "b" }; string a = 2;'),
    refused: /has the REST key b without content/,
  },
  { name: 'one key twice', messages: request(`string a = 2; string b = 3 ${option('name = "a"')};`), refused: /has the key a twice/ },
  { name: 'a map', messages: request('map<string, string> a = 2;'), refused: /is a map/ },
  { name: 'a double', messages: request('double a = 2;'), refused: /of a type that has no REST form/ },
  {
    name: 'an enum without an unspecified zero',
    messages: request('E a = 2;', 'enum E { E_A = 0; E_B = 1; }'),
    refused: /no unspecified value/,
  },
  {
    name: 'two enum values with one text',
    messages: request('E a = 2;', 'enum E { E_UNSPECIFIED = 0; E_A = 1; E_B = 2 [(relayer.rest.v1.text) = "a"]; }'),
    refused: /two values with one text/,
  },
  {
    name: 'content without a tag',
    messages: request('oneof u { option (relayer.rest.v1.union).content = "c"; string a = 2; }'),
    refused: /has content, which needs a tag/,
  },
  {
    name: 'under with a tag',
    messages: request('oneof u { option (relayer.rest.v1.union) = {tag: "t", under: "c"}; M a = 2; }', 'message M {}'),
    refused: /has under, which needs/,
  },
  {
    name: 'a flattened case that is no message',
    messages: request('oneof u { option (relayer.rest.v1.union).tag = "t"; string a = 2; }'),
    refused: /flattened, which only a message can be/,
  },
  {
    name: 'a flattened key that is there already',
    messages: request('string x = 2; oneof u { option (relayer.rest.v1.union).tag = "t"; M a = 3; }', 'message M { string x = 1; }'),
    refused: /has the key x twice/,
  },
  {
    name: 'one tag twice',
    messages: request(`oneof u { option (relayer.rest.v1.union).tag = "t"; M a = 2; M b = 3 ${option('tags = "a"')}; }`, 'message M {}'),
    refused: /has the tag a twice/,
  },
  {
    name: 'two flattened unions',
    messages: request(
      'oneof u { option (relayer.rest.v1.union).tag = "t"; M a = 2; } oneof v { option (relayer.rest.v1.union).tag = "s"; M b = 3; }',
      'message M {}',
    ),
    refused: /two flattened unions/,
  },
  {
    name: 'a case that is not a network type',
    messages: request('oneof u { option (relayer.rest.v1.union).relayer_network = true; M bitcoin = 2; }', 'message M {}'),
    refused: /bitcoin, which is not a network type/,
  },
  {
    name: 'a network’s union without a relayer in the path',
    messages: request('oneof u { option (relayer.rest.v1.union).relayer_network = true; M evm = 2; }', 'message M {}'),
    route: '/a',
    refused: /no relayer_id in its path/,
  },
  {
    name: 'a sibling that is not an enum',
    messages: request('string s = 2; oneof u { option (relayer.rest.v1.union).sibling = "s"; M a = 3; }', 'message M {}'),
    refused: /chosen by s, which is not an enum/,
  },
  {
    name: 'a case that its sibling has no text for',
    messages: request(
      'E s = 2; oneof u { option (relayer.rest.v1.union).sibling = "s"; M b = 3; }',
      'enum E { E_UNSPECIFIED = 0; E_A = 1; } message M {}',
    ),
    refused: /b, which is not a text of s/,
  },
  {
    name: 'a bare case with content',
    messages: request(
      'N n = 2;',
      'message M { string x = 1; } message N { option (relayer.rest.v1.message).bare_cases = "a"; oneof u { M a = 1; } }',
    ),
    refused: /bare case a, which is not an empty message/,
  },
  {
    name: 'bare cases beside a field',
    messages: request(
      'N n = 2;',
      'message M {} message N { option (relayer.rest.v1.message).bare_cases = "a"; string x = 2; oneof u { M a = 1; } }',
    ),
    refused: /bare cases, which need one union/,
  },
  {
    name: 'a shorthand that is no field',
    messages: request('N n = 2;', 'message N { option (relayer.rest.v1.message).shorthand = "y"; string x = 1; }'),
    refused: /has the shorthand y/,
  },
  {
    name: 'a path variable that the request lacks',
    messages: request('string a = 2;'),
    route: '/{b}',
    refused: /path variable b, which is no string or integer/,
  },
  { name: 'a path variable that is a list', messages: request('repeated string a = 2;'), route: '/{a}', refused: /path variable a/ },
  { name: 'a path variable that is a message', messages: request('M a = 2;', 'message M {}'), route: '/{a}', refused: /path variable a/ },
  { name: 'a template that cannot be read', messages: request(''), route: '/{relayer_id=*}', refused: /neither a literal nor/ },
];

const source = ({ messages, route = '/{relayer_id}' }: Case, index: number) => `syntax = "proto3";
package bad${index};
import "google/api/annotations.proto";
import "relayer/rest/v1/options.proto";
service Service {
  rpc Call(Request) returns (Response) {
    option (google.api.http) = {post: "${route}", body: "*"};
    option (relayer.rest.v1.method).scope = SCOPE_ADMIN;
  }
}
message Response {}
${messages}
`;

let folder = '';
let registry: FileRegistry;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'annotations-'));
  for (const needed of ['google/api', 'relayer/rest']) await cp(join('proto', needed), join(folder, needed), { recursive: true });
  await mkdir(join(folder, 'bad'));
  await Promise.all(cases.map((one, index) => writeFile(join(folder, 'bad', `${index}.proto`), source(one, index))));
  const { stdout } = await promisify(execFile)(
    'node_modules/.bin/buf',
    ['build', folder, '--as-file-descriptor-set', '-o', '-#format=binpb'],
    {
      encoding: 'buffer',
      maxBuffer: 10_000_000,
    },
  );
  registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout));
});
after(() => rm(folder, { recursive: true }));

describe('start-up: refuses', () => {
  for (const [index, { name, refused }] of cases.entries()) {
    it(name, () => {
      const service = registry.getService(`bad${index}.Service`);
      assert.ok(service);
      assert.throws(() => compileRest(compileMethodPlans([service])), refused);
    });
  }
});
