import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import {
  clone,
  create,
  type DescMessage,
  equals,
  fromJson,
  fromJsonString,
  type JsonValue,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { Speed } from '../../gen/relayer/v1/evm_pb.js';
import { EvmRuleSchema, SolanaRuleSchema, StellarRuleSchema } from '../../gen/relayer/v1/rules_pb.js';
import {
  SignDataRequestSchema,
  SignTransactionRequestSchema,
  SignTypedDataRequestSchema,
} from '../../gen/relayer/v1/signing_service_pb.js';
import {
  CancelTransactionRequestSchema,
  GetTransactionRequestSchema,
  ReplaceTransactionRequestSchema,
  SendTransactionRequestSchema,
} from '../../gen/relayer/v1/transaction_service_pb.js';
import { CodecCompiler } from '../../src/codec/message-codec.js';
import { readObject } from '../../src/codec/object-codec.js';
import { Reading } from '../../src/codec/reading.js';
import { codeQuoted, restJsonOf, type SnippetRequest, shellQuoted, snippetsOf } from '../../src/console/text/snippets.js';
import { jsonFromText } from '../../src/json/json-reader.js';
import type { JsonObject } from '../../src/json/json-value.js';
import { ruleExamples } from '../support/rule-examples.js';

const origin = 'http://127.0.0.1:8080';
const text = fc.string({ unit: 'binary', maxLength: 40 });
/** Texts that end a quotation somewhere. */
const hostile = fc.oneof(
  text,
  fc.constantFrom(`'"\\`, `'; touch /tmp/x; '`, '$(id)', '`id`', '"""', '\\u0027', '\u2028', '\n', '\0', '$HOME', '-d @x'),
);
const id = fc.oneof(
  fc.uuid(),
  hostile.filter((value) => value !== ''),
);
const key = fc.option(fc.stringMatching(/^[!-~]{1,40}$/), { nil: undefined });
const digits = fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map(String);
const time = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }).map(timestampFromDate);
const bytes = fc.uint8Array({ maxLength: 40 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

/** Leaves out what is undefined. */
const set = <T extends object>(values: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;

const evm = fc.record({
  to: maybe(fc.constant('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')),
  value: digits,
  data: maybe(bytes.map((value) => `0x${Buffer.from(value).toString('hex')}`)),
  gasLimit: maybe(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })),
  maxFeePerGas: maybe(digits),
  speed: fc.constantFrom(Speed.UNSPECIFIED, Speed.FAST, Speed.SAFE_LOW),
  validUntil: maybe(time),
});
const account = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
const contract = `C${'A'.repeat(55)}`;
const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
const asset = fc.constantFrom(
  { asset: { case: 'native' as const, value: {} } },
  { asset: { case: 'credit4' as const, value: { code: 'USD', issuer: account } } },
);
const operation = fc.oneof(
  fc.record({ destination: fc.constant(account), amount: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), asset }).map((value) => ({
    operation: { case: 'payment' as const, value },
  })),
  hostile.map((value) => ({
    operation: {
      case: 'invokeContract' as const,
      value: {
        contractAddress: contract,
        functionName: 'hello',
        args: [{ value: { case: 'stringValue' as const, value } }, { value: { case: 'voidValue' as const, value: {} } }],
        auth: { auth: { case: 'sourceAccount' as const, value: {} } },
      },
    },
  })),
);
const memo = fc.oneof(
  fc.constant({ memo: { case: 'none' as const, value: {} } }),
  hostile.map((value) => ({ memo: { case: 'text' as const, value } })),
  fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => ({ memo: { case: 'id' as const, value } })),
  hash.map((value) => ({ memo: { case: 'hash' as const, value } })),
  hash.map((value) => ({ memo: { case: 'returnHash' as const, value } })),
);
const stellar = fc.record({
  network: hostile,
  operations: fc.array(operation, { maxLength: 3 }),
  transactionXdr: maybe(fc.constant('AAAA')),
  memo: maybe(memo),
  validUntil: maybe(time),
  feeBump: maybe(fc.boolean()),
  maxFee: maybe(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })),
});
const solana = fc.record({
  instructions: fc.array(
    fc.record({
      programId: fc.constant('1'.repeat(32)),
      accounts: fc.array(fc.record({ pubkey: fc.constant('1'.repeat(32)), isSigner: fc.boolean(), isWritable: fc.boolean() }), {
        maxLength: 2,
      }),
      data: bytes,
    }),
    { maxLength: 2 },
  ),
});
const content = fc.oneof(
  evm.map((value) => ({ case: 'evm' as const, value: set(value) })),
  stellar.map((value) => ({ case: 'stellar' as const, value: set(value) })),
  solana.map((value) => ({ case: 'solana' as const, value })),
);

const requests: fc.Arbitrary<SnippetRequest> = fc.oneof(
  fc
    .record({ relayerId: id, transaction: content, idempotencyKey: key })
    .map((init): SnippetRequest => create(SendTransactionRequestSchema, set(init) as never)),
  fc
    .record({
      relayerId: id,
      transactionId: id,
      transaction: content,
      idempotencyKey: key,
      expectedRevision: maybe(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
    })
    .map((init): SnippetRequest => create(ReplaceTransactionRequestSchema, set(init) as never)),
  fc.record({ relayerId: id, transactionId: id }).map((init): SnippetRequest => create(CancelTransactionRequestSchema, init)),
  fc.record({ relayerId: id, transactionId: id }).map((init): SnippetRequest => create(GetTransactionRequestSchema, init)),
  fc.record({ relayerId: id, message: hostile }).map((init): SnippetRequest => create(SignDataRequestSchema, init)),
  fc.record({ relayerId: id, domainSeparator: hash, hashStructMessage: hash }).map(
    ({ relayerId, domainSeparator, hashStructMessage }): SnippetRequest =>
      create(SignTypedDataRequestSchema, {
        relayerId,
        domainSeparator: Buffer.from(domainSeparator).toString('hex'),
        hashStructMessage: Buffer.from(hashStructMessage).toString('hex'),
      }),
  ),
  fc
    .record({ relayerId: id, unsignedXdr: fc.constant('AAAA') })
    .map(
      ({ relayerId, unsignedXdr }): SnippetRequest =>
        create(SignTransactionRequestSchema, { relayerId, transaction: { case: 'stellar', value: { unsignedXdr } } }),
    ),
);

const schemas: Readonly<Record<string, DescMessage>> = Object.fromEntries(
  [
    SendTransactionRequestSchema,
    ReplaceTransactionRequestSchema,
    CancelTransactionRequestSchema,
    GetTransactionRequestSchema,
    SignDataRequestSchema,
    SignTypedDataRequestSchema,
    SignTransactionRequestSchema,
  ].map((schema) => [schema.typeName, schema]),
);

function schemaOf(request: Message): DescMessage {
  const schema = schemas[request.$typeName];
  assert.ok(schema !== undefined);
  return schema;
}

function snippet(request: SnippetRequest, name: string, at = origin): string {
  const found = snippetsOf(request, at).find((one) => one.name === name);
  assert.ok(found !== undefined);
  return found.text;
}

/** Runs the texts in one shell each, with a command in place of `program`, and returns the arguments that it got. */
function argumentsOf(program: string, texts: readonly string[]): readonly (readonly string[])[] {
  const script = `${program}() { for argument in "$@"; do printf '%s\\0' "$argument"; done; printf '\\0'; }\nAPI_KEY=the-key\n${texts.join('\n')}\n`;
  const output = execFileSync('sh', ['-s'], { input: script, maxBuffer: 2 ** 26 }).toString();
  return output
    .split('\0\0')
    .slice(0, -1)
    .map((one) => one.split('\0'));
}

/** A page of requests, so that one process can check many. */
const samples = fc.array(requests, { minLength: 150, maxLength: 150 });
// Each run starts a process, so a failure is not shrunk.
const runs = { numRuns: 3, endOnFailure: true };
const isSame = (schema: DescMessage, actual: Message, expected: Message, hint: string) => {
  assert.ok(
    equals(schema, actual, expected),
    `${hint}\n${JSON.stringify(expected, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`,
  );
};

const compiler = new CodecCompiler();

/** Reads a REST body as the service does, and puts in what REST has in the path and in headers. */
function fromRest<T extends DescMessage>(schema: T, body: string, request: Message): MessageShape<T> {
  const pathFields = new Set(['relayer_id', 'transaction_id']);
  const held = (request as unknown as { readonly transaction?: { readonly case?: 'evm' | 'stellar' | 'solana' } }).transaction?.case;
  const reading = new Reading(held, []);
  const read = readObject(compiler.object(schema, pathFields), jsonFromText(body) as JsonObject, '', reading);
  assert.equal(reading.problem, null);
  const rest = clone(schema, read as unknown as MessageShape<T>) as unknown as Record<string, unknown>;
  for (const name of ['relayerId', 'transactionId', 'idempotencyKey', 'expectedRevision']) {
    const value = (request as unknown as Record<string, unknown>)[name];
    if (value !== undefined) rest[name] = value;
  }
  return rest as unknown as MessageShape<T>;
}

describe('calls to copy from the console', () => {
  it('shell: a quoted text is one argument with exactly that text', () => {
    fc.assert(
      fc.property(
        fc.array(
          hostile.map((value) => value.replaceAll('\0', '')),
          { minLength: 50, maxLength: 50 },
        ),
        (texts) => {
          const script = texts.map((one) => `printf '%s\\0' ${shellQuoted(one)}`).join('\n');
          assert.deepEqual(execFileSync('sh', ['-s'], { input: script }).toString().split('\0').slice(0, -1), texts);
        },
      ),
      runs,
    );
  });

  it('TypeScript: a quoted text is a string with exactly that text', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        assert.equal(JSON.parse(codeQuoted(value)), value);
        assert.equal(new Function(`return ${codeQuoted(value)}`)(), value);
      }),
    );
  });

  it('curl: the service reads the same request from path, headers and body', () => {
    fc.assert(
      fc.property(samples, (list) => {
        const calls = argumentsOf(
          'curl',
          list.map((request) => snippet(request, 'curl')),
        );
        assert.equal(calls.length, list.length);
        for (const [index, request] of list.entries()) {
          const call = calls[index] ?? [];
          const ids = request as unknown as {
            readonly relayerId: string;
            readonly transactionId?: string;
            readonly idempotencyKey?: string;
          };
          const [, , path = ''] = /^http:\/\/127\.0\.0\.1:8080(\/api\/v1\/relayers\/([^/]*)\/.*)$/.exec(call[3] ?? '') ?? [];
          assert.deepEqual(call.slice(0, 2), ['--fail-with-body', '-X']);
          assert.equal(decodeURIComponent(path), ids.relayerId);
          if (ids.transactionId !== undefined) assert.equal(decodeURIComponent(call[3]?.split('/').at(-1) ?? ''), ids.transactionId);
          assert.deepEqual(call.slice(4, 6), ['-H', 'Authorization: Bearer the-key']);
          if (ids.idempotencyKey !== undefined) assert.ok(call.includes(`Idempotency-Key: ${ids.idempotencyKey}`));
          const body = call[call.indexOf('-d') + 1] ?? '';
          if (call.includes('-d')) isSame(schemaOf(request), fromRest(schemaOf(request), body, request), request, body);
          else assert.ok(['GET', 'DELETE'].includes(call[2] ?? ''), call[2]);
        }
      }),
      runs,
    );
  });

  it('spending rules: the examples of their page are shown in a form that REST reads back', () => {
    for (const [network, schema] of [
      ['evm', EvmRuleSchema],
      ['stellar', StellarRuleSchema],
      ['solana', SolanaRuleSchema],
    ] as const) {
      const rules = ruleExamples(network).flat() as JsonValue[];
      assert.ok(rules.length >= 3, network);
      for (const rule of rules) {
        const message = fromRest(schema, JSON.stringify(rule), create(schema));
        const shown = restJsonOf(schema, message);
        isSame(schema, fromRest(schema, shown, message), message, shown);
        assert.doesNotMatch(shown, /RULE_EFFECT|"kind"/);
      }
    }
  });

  it('curl: a replacement has the expected revision in If-Match', () => {
    const request = create(ReplaceTransactionRequestSchema, {
      relayerId: 'a',
      transactionId: 'b',
      expectedRevision: 7n,
      transaction: { case: 'evm', value: { value: '1' } },
    });
    const [call = []] = argumentsOf('curl', [snippet(request, 'curl')]);
    assert.ok(call.includes('If-Match: "7"'));
  });

  it('grpcurl: the JSON is the same request', () => {
    fc.assert(
      fc.property(samples, (list) => {
        const calls = argumentsOf(
          'grpcurl',
          list.map((request) => snippet(request, 'grpcurl')),
        );
        for (const [index, request] of list.entries()) {
          const call = calls[index] ?? [];
          assert.deepEqual(call.slice(0, 3), ['-plaintext', '-H', 'Authorization: Bearer the-key']);
          isSame(schemaOf(request), fromJsonString(schemaOf(request), call[4] ?? ''), request, call[4] ?? '');
          assert.equal(call[5], '127.0.0.1:8080');
          assert.match(call[6] ?? '', /^relayer\.v1\.(TransactionService|SigningService)\/\w+$/);
        }
      }),
      runs,
    );
    const request = create(GetTransactionRequestSchema, { relayerId: 'a', transactionId: 'b' });
    const [call = []] = argumentsOf('grpcurl', [snippet(request, 'grpcurl', 'https://relayer.example')]);
    assert.equal(call[0], '-H');
    assert.equal(call[4], 'relayer.example:443');
  });

  it('TypeScript: the client gets the same request', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const code = snippet(request, 'TypeScript');
        const statements = code.replace(/^import .*$/gm, '');
        const names = [...code.matchAll(/^import \{ (.*) \}/gm)].flatMap(([, list = '']) => list.split(', '));
        const sent: Record<string, unknown>[] = [];
        const client = new Proxy({}, { get: () => (argument: Record<string, unknown>) => Promise.resolve(sent.push(argument)) });
        const known: Readonly<Record<string, unknown>> = {
          createClient: () => client,
          createGrpcTransport: () => null,
          timestampFromDate,
          Speed,
        };
        const values = names.map((name) => known[name]);
        const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as FunctionConstructor;
        await new AsyncFunction(...names, 'console', statements)(...values, { log: () => {} });
        assert.equal(sent.length, 1);
        isSame(schemaOf(request), create(schemaOf(request), sent[0]), request, code);
      }),
    );
  });

  const python = spawnSync('python3', ['--version']).status === 0 ? 'python3' : null;
  it('Python: the stub gets the same request', { skip: python === null ? 'needs python3' : false }, () => {
    // Modules in place of grpcio and the generated stubs: messages are their keyword arguments, as JSON.
    const harness = `
import base64, io, json, os, sys, types
def plain(value):
    if isinstance(value, bytes): return base64.b64encode(value).decode()
    if isinstance(value, bool): return value
    if isinstance(value, int): return str(value)
    if isinstance(value, list): return [plain(item) for item in value]
    if isinstance(value, dict): return {key: plain(item) for key, item in value.items()}
    return value
class Any:
    def __getattr__(self, name): return lambda *arguments, **options: Any()
class Messages:
    def __getattr__(self, name): return lambda **fields: sent.append(plain(fields))
package = types.ModuleType("relayer.v1")
for name in ("transaction_service_pb2", "signing_service_pb2"):
    setattr(package, name, Messages())
    setattr(package, name + "_grpc", Any())
sys.modules.update({"grpc": Any(), "relayer": types.ModuleType("relayer"), "relayer.v1": package})
os.environ["API_KEY"] = "the-key"
sent = []
out = sys.stdout
sys.stdout = io.StringIO()
for code in json.load(sys.stdin): exec(code, {})
json.dump(sent, out)
`;
    fc.assert(
      fc.property(samples, (list) => {
        const output = execFileSync('python3', ['-c', harness], {
          input: JSON.stringify(list.map((request) => snippet(request, 'Python'))),
        });
        const sent = JSON.parse(output.toString(), (_, value) => timeText(value)) as readonly JsonValue[];
        assert.equal(sent.length, list.length);
        for (const [index, request] of list.entries()) {
          isSame(schemaOf(request), fromJson(schemaOf(request), sent[index] ?? null), request, JSON.stringify(sent[index]));
        }
      }),
      runs,
    );
  });

  it('key: no call contains one', () => {
    const request = create(GetTransactionRequestSchema, { relayerId: 'a', transactionId: 'b' });
    for (const { name, text: code } of snippetsOf(request, origin))
      assert.match(code, /\$API_KEY|process\.env\.API_KEY|os\.environ\["API_KEY"\]/, name);
  });
});

/** A time that Python has as its fields, as the JSON of Protobuf has it. */
function timeText(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const { seconds, nanos, ...others } = value as { readonly seconds?: string; readonly nanos?: string };
  if ((seconds === undefined && nanos === undefined) || Object.keys(others).length > 0) return value;
  return new Date(Number(seconds ?? 0) * 1000 + Number(nanos ?? 0) / 1e6).toISOString();
}
