import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, type DescMessage, equals, fromBinary, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { ApiKeySchema, CreateApiKeyRequestSchema } from '../../gen/relayer/v1/api_key_service_pb.js';
import { EvmPoliciesSchema, EvmTransactionRequestSchema, EvmTransactionSchema } from '../../gen/relayer/v1/evm_pb.js';
import { RpcUrlSchema } from '../../gen/relayer/v1/network_service_pb.js';
import {
  BalanceUnit,
  CreateRelayerRequestSchema,
  JsonRpcAnswerSchema,
  JsonRpcErrorSchema,
  RelayerBalanceSchema,
  RelayerSchema,
} from '../../gen/relayer/v1/relayer_service_pb.js';
import { CreateSignerRequestSchema } from '../../gen/relayer/v1/signer_service_pb.js';
import { SolanaTransactionRequestSchema } from '../../gen/relayer/v1/solana_pb.js';
import {
  AssetSpecSchema,
  MemoSpecSchema,
  OperationSpecSchema,
  ScValSchema,
  StellarTransactionRequestSchema,
  WasmSourceSchema,
} from '../../gen/relayer/v1/stellar_pb.js';
import { TransactionSchema } from '../../gen/relayer/v1/transaction_pb.js';
import { renderTransaction } from '../../src/api/rest/render-record.js';
import { compileFieldBounds } from '../../src/codec/field-bounds.js';
import { CodecCompiler } from '../../src/codec/message-codec.js';
import type { ValueCodec } from '../../src/codec/reading.js';
import { Reading } from '../../src/codec/reading.js';
import type { Warning } from '../../src/core/errors/errors.js';
import { jsonFromText } from '../../src/json/json-reader.js';

const G = `G${'A'.repeat(55)}`;
const C = `C${'A'.repeat(55)}`;
const program = '1'.repeat(32);
const hex32 = '01'.repeat(32);

const compiler = new CodecCompiler();

/** The codec of a message, as the field of another would have it. */
function codecOf(desc: DescMessage): ValueCodec {
  return compiler.message(desc);
}

/** The message of a JSON text at the path `x`, or the noted problems. */
function read<T extends DescMessage>(desc: T, text: string): MessageShape<T> | string {
  const warnings: Warning[] = [];
  const reading = new Reading(undefined, warnings);
  const message = codecOf(desc).read(jsonFromText(text), 'x', reading);
  const refused = reading.problem;
  if (refused !== null) return refused.message;
  // Protobuf itself can carry the message that was read.
  return fromBinary(desc, toBinary(desc, message as MessageShape<T>));
}

function write<T extends DescMessage>(desc: T, init: MessageInitShape<T>): string {
  return codecOf(desc).write(create(desc, init));
}

/** Asserts that the text is read as the message, and the message written as the text (or as `written`). */
function assertForm<T extends DescMessage>(desc: T, text: string, init: MessageInitShape<T>, written = text): void {
  const message = read(desc, text);
  assert.notEqual(typeof message, 'string', String(message));
  const expected = create(desc, init);
  assert.ok(equals(desc, message as MessageShape<T>, expected), `${text} was read as ${write(desc, message as MessageInitShape<T>)}`);
  assert.equal(write(desc, init), written);
}

const hash = Uint8Array.from({ length: 32 }, (_, index) => index);
const hashHex = '000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f';

describe('memos', () => {
  it('memos: have a tag and a value', () => {
    assertForm(MemoSpecSchema, '{"type":"none"}', { memo: { case: 'none', value: {} } });
    assertForm(MemoSpecSchema, '{"type":"none","value":null}', { memo: { case: 'none', value: {} } }, '{"type":"none"}');
    assertForm(MemoSpecSchema, '{"type":"text","value":"hé"}', { memo: { case: 'text', value: 'hé' } });
    assertForm(MemoSpecSchema, '{"value":"","type":"text"}', { memo: { case: 'text', value: '' } }, '{"type":"text","value":""}');
    assertForm(MemoSpecSchema, '{"type":"id","value":18446744073709551615}', { memo: { case: 'id', value: 2n ** 64n - 1n } });
    assertForm(
      MemoSpecSchema,
      '{"type":"id","value":"9223372036854775808"}',
      { memo: { case: 'id', value: 2n ** 63n } },
      '{"type":"id","value":9223372036854775808}',
    );
    assertForm(MemoSpecSchema, `{"type":"hash","value":"${hashHex}"}`, { memo: { case: 'hash', value: hash } });
    assertForm(
      MemoSpecSchema,
      `{"type":"hash","value":[${hash.join(',')}]}`,
      { memo: { case: 'hash', value: hash } },
      `{"type":"hash","value":"${hashHex}"}`,
    );
    assertForm(
      MemoSpecSchema,
      `{"type":"hash","value":[-0,1.0,20e-1,${hash.slice(3).join(',')}]}`,
      { memo: { case: 'hash', value: hash } },
      `{"type":"hash","value":"${hashHex}"}`,
    );
    assertForm(
      MemoSpecSchema,
      `{"type":"return","value":"0x${hashHex.toUpperCase()}"}`,
      { memo: { case: 'returnHash', value: hash } },
      `{"type":"return","value":"${hashHex}"}`,
    );
  });

  it('memos: any other form is refused', () => {
    assert.equal(read(MemoSpecSchema, '{}'), 'x.type is required');
    assert.equal(read(MemoSpecSchema, '{"type":null,"value":"a"}'), 'x.type is required');
    assert.equal(read(MemoSpecSchema, '{"type":"Text","value":"a"}'), 'x.type must be one of none, text, id, hash, return');
    assert.equal(read(MemoSpecSchema, '{"type":"constructor"}'), 'x.type must be one of none, text, id, hash, return');
    assert.equal(read(MemoSpecSchema, '{"type":"text"}'), 'x.value is required');
    assert.equal(read(MemoSpecSchema, '{"type":"text","value":7}'), 'x.value must be a string');
    assert.equal(read(MemoSpecSchema, '{"type":"text","value":"\\ud800"}'), 'x.value must be well-formed Unicode text');
    assert.equal(read(MemoSpecSchema, '{"type":"id","value":-1}'), 'x.value must be an integer from 0 to 18446744073709551615');
    assert.equal(read(MemoSpecSchema, '{"type":"id","value":1.5}'), 'x.value must be an integer from 0 to 18446744073709551615');
    for (const item of ['256', '256.0', '-1', '1.5', '"1"', 'null', '[]', '1e400', '0.1'])
      assert.equal(read(MemoSpecSchema, `{"type":"hash","value":[${item}]}`), 'x.value must have integers from 0 to 255 only', item);
    assert.equal(
      read(MemoSpecSchema, '{"type":"hash","value":"abc"}'),
      'x.value must be hexadecimal, with an even number of digits, or an array of integers from 0 to 255',
    );
    assert.equal(read(MemoSpecSchema, '{"type":"text","value":"a","valeu":1}'), 'x.valeu is not a known field; did you mean `value`?');
    assert.equal(
      read(MemoSpecSchema, '{"type":"text","valu":"a"}'),
      'x.valu is not a known field; did you mean `value`?; x.value is required',
    );
  });
});

describe('operations and assets', () => {
  const native = { asset: { case: 'native' as const, value: {} } };

  it('operations and assets: have a tag beside their fields', () => {
    assertForm(OperationSpecSchema, `{"type":"payment","destination":"${G}","amount":"10000000","asset":{"type":"native"}}`, {
      operation: { case: 'payment', value: { destination: G, amount: 10_000_000n, asset: native } },
    });
    assertForm(
      OperationSpecSchema,
      `{"destination":"${G}","amount":9223372036854775807,"asset":{"type":"native"},"type":"payment"}`,
      { operation: { case: 'payment', value: { destination: G, amount: 2n ** 63n - 1n, asset: native } } },
      `{"type":"payment","destination":"${G}","amount":"9223372036854775807","asset":{"type":"native"}}`,
    );
    assertForm(
      OperationSpecSchema,
      `{"type":"invoke_contract","contract_address":"${C}","function_name":"f","args":[{"u32":7},"void"],"auth":{"type":"xdr","entries":["AA=="]}}`,
      {
        operation: {
          case: 'invokeContract',
          value: {
            contractAddress: C,
            functionName: 'f',
            args: [{ value: { case: 'u32', value: 7 } }, { value: { case: 'voidValue', value: {} } }],
            auth: { auth: { case: 'xdr', value: { entries: ['AA=='] } } },
          },
        },
      },
    );
    assertForm(
      OperationSpecSchema,
      `{"type":"create_contract","source":{"from":"address","address":"${G}"},"wasm_hash":"${hashHex}","constructor_args":[],"auth":{"type":"source_account"}}`,
      {
        operation: {
          case: 'createContract',
          value: {
            source: { source: { case: 'address', value: { address: G } } },
            wasmHash: hash,
            auth: { auth: { case: 'sourceAccount', value: {} } },
          },
        },
      },
    );
    assertForm(OperationSpecSchema, '{"type":"upload_wasm","wasm":{"base64":"AGFzbQ=="}}', {
      operation: { case: 'uploadWasm', value: { wasm: { source: { case: 'base64', value: Uint8Array.of(0, 0x61, 0x73, 0x6d) } } } },
    });
    assertForm(
      OperationSpecSchema,
      `{"type":"upload_wasm","wasm":{"hex":"0061736d","type":"hex"},"auth":{"type":"addresses","signers":["${G}"]}}`,
      {
        operation: {
          case: 'uploadWasm',
          value: {
            wasm: { source: { case: 'hex', value: Uint8Array.of(0, 0x61, 0x73, 0x6d) } },
            auth: { auth: { case: 'addresses', value: { signers: [G] } } },
          },
        },
      },
      `{"type":"upload_wasm","wasm":{"hex":"0061736d"},"auth":{"type":"addresses","signers":["${G}"]}}`,
    );
  });

  it('operations and assets: have keys that only REST has: ignored, unsupported, or a copy of a field', () => {
    assert.equal(read(WasmSourceSchema, '{"hex":"00","type":1}'), 'x.type must be a string');
    assert.equal(read(WasmSourceSchema, '{"hex":"00","typ":"hex"}'), 'x.typ is not a known field; did you mean `type`?');
    assertForm(EvmPoliciesSchema, '{"max_in_flight":1,"private_transactions":false}', { maxInFlight: 1 }, '{"max_in_flight":1}');
    assertForm(EvmPoliciesSchema, '{"private_transactions":null}', {}, '{}');
    assert.equal(
      read(EvmPoliciesSchema, '{"private_transactions":true}'),
      'x.private_transactions must be false: private transactions are not supported',
    );
    assert.equal(read(EvmPoliciesSchema, '{"private_transactions":"no"}'), 'x.private_transactions must be true or false');
    assert.equal(
      write(JsonRpcErrorSchema, { code: 3, message: 'm', data: '"0x"' }),
      '{"code":3,"message":"m","description":"m","data":"0x"}',
    );
    assert.equal(read(JsonRpcErrorSchema, '{"description":"m"}'), 'x.description is not a known field');
  });

  it('operations and assets: accept the tags of other clients', () => {
    const credit4 = { asset: { case: 'credit4' as const, value: { code: 'USDC', issuer: G } } };
    assertForm(AssetSpecSchema, `{"type":"credit4","code":"USDC","issuer":"${G}"}`, credit4);
    assertForm(
      AssetSpecSchema,
      `{"type":"credit_alphanum4","code":"USDC","issuer":"${G}"}`,
      credit4,
      `{"type":"credit4","code":"USDC","issuer":"${G}"}`,
    );
    assertForm(
      AssetSpecSchema,
      `{"type":"credit_alphanum12","code":"LONGER","issuer":"${G}"}`,
      { asset: { case: 'credit12', value: { code: 'LONGER', issuer: G } } },
      `{"type":"credit12","code":"LONGER","issuer":"${G}"}`,
    );
  });

  it('operations and assets: are refused if a field is not theirs', () => {
    assert.equal(read(OperationSpecSchema, '{"type":"payment","contract_address":"C"}'), 'x.contract_address is not a field of payment');
    assert.equal(read(OperationSpecSchema, '{"type":"payment","amonut":1}'), 'x.amonut is not a known field; did you mean `amount`?');
    assert.equal(read(OperationSpecSchema, '{"type":"payment","amoun":1}'), 'x.amoun is not a known field; did you mean `amount`?');
    assert.match(
      read(OperationSpecSchema, '{"type":"pay"}') as string,
      /^x\.type must be one of payment, invoke_contract, create_contract, upload_wasm, create_account, [a-z_, ]+, restore_footprint$/,
    );
    assert.equal(read(OperationSpecSchema, `{"destination":"${G}"}`), 'x.type is required');
    assert.equal(
      read(OperationSpecSchema, '{"type":"payment","asset":{"type":"native","code":"X"}}'),
      'x.asset.code is not a field of native',
    );
    assert.equal(
      read(OperationSpecSchema, '{"type":"payment","amount":"12a"}'),
      'x.amount must be an integer from 1 to 9223372036854775807',
    );
    assert.equal(read(OperationSpecSchema, '"payment"'), 'x must be an object');
    assert.equal(
      read(OperationSpecSchema, '{"type":"upload_wasm","wasm":{"hex":"00","base64":"AA=="}}'),
      'x.wasm.base64 conflicts with another field; set only one of hex, base64',
    );
  });
});

describe('contract values', () => {
  const value = (init: MessageInitShape<typeof ScValSchema>['value']): MessageInitShape<typeof ScValSchema> => ({ value: init as never });

  it('contract values: are an object with one key, or a bare case', () => {
    assertForm(ScValSchema, '{"bool":false}', value({ case: 'boolValue', value: false }));
    assertForm(ScValSchema, '"void"', value({ case: 'voidValue', value: {} }));
    assertForm(ScValSchema, '{"void":{}}', value({ case: 'voidValue', value: {} }), '"void"');
    assertForm(ScValSchema, '{"u32":4294967295}', value({ case: 'u32', value: 4_294_967_295 }));
    assertForm(ScValSchema, '{"i32":-2147483648}', value({ case: 'i32', value: -2_147_483_648 }));
    assertForm(
      ScValSchema,
      '{"u64":18446744073709551615}',
      value({ case: 'u64', value: 2n ** 64n - 1n }),
      '{"u64":"18446744073709551615"}',
    );
    assertForm(ScValSchema, '{"i64":"-9223372036854775808"}', value({ case: 'i64', value: -(2n ** 63n) }));
    assertForm(ScValSchema, '{"timepoint":"1"}', value({ case: 'timepoint', value: 1n }));
    assertForm(ScValSchema, '{"duration":"0"}', value({ case: 'duration', value: 0n }));
    assertForm(ScValSchema, '{"bytes":"00ff"}', value({ case: 'bytesValue', value: Uint8Array.of(0, 255) }));
    assertForm(ScValSchema, '{"string":""}', value({ case: 'stringValue', value: '' }));
    assertForm(ScValSchema, '{"symbol":"s"}', value({ case: 'symbol', value: 's' }));
    assertForm(ScValSchema, `{"address":"${G}"}`, value({ case: 'address', value: G }));
  });

  it('contract values: have big integers as a decimal or in parts', () => {
    const u128 = (2n ** 128n - 1n).toString();
    assertForm(ScValSchema, `{"u128":${u128}}`, value({ case: 'u128', value: { decimal: u128 } }));
    assertForm(ScValSchema, `{"u128":"${u128}"}`, value({ case: 'u128', value: { decimal: u128 } }), `{"u128":${u128}}`);
    assertForm(ScValSchema, '{"u128":{"hi":"1","lo":"2"}}', value({ case: 'u128', value: { hi: 1n, lo: 2n } }));
    assertForm(
      ScValSchema,
      '{"i128":-1e30}',
      value({ case: 'i128', value: { decimal: `-1${'0'.repeat(30)}` } }),
      `{"i128":-1${'0'.repeat(30)}}`,
    );
    assertForm(
      ScValSchema,
      '{"i128":{"hi":-1,"lo":0}}',
      value({ case: 'i128', value: { hi: -1n, lo: 0n } }),
      '{"i128":{"hi":"-1","lo":"0"}}',
    );
    assertForm(
      ScValSchema,
      '{"u256":{"hi_hi":"1","hi_lo":"2","lo_hi":"3","lo_lo":"4"}}',
      value({ case: 'u256', value: { hiHi: 1n, hiLo: 2n, loHi: 3n, loLo: 4n } }),
    );
    assertForm(ScValSchema, '{"i256":{"decimal":"-5"}}', value({ case: 'i256', value: { decimal: '-5' } }), '{"i256":-5}');
  });

  it('contract values: can contain contract values', () => {
    const inner = { value: { case: 'symbol' as const, value: 'k' } };
    assertForm(
      ScValSchema,
      '{"vec":[{"symbol":"k"},{"vec":[]},"void"]}',
      value({
        case: 'vec',
        value: { values: [inner, { value: { case: 'vec', value: {} } }, { value: { case: 'voidValue', value: {} } }] },
      }),
    );
    assertForm(
      ScValSchema,
      '{"map":[{"key":{"symbol":"k"},"val":{"map":[]}}]}',
      value({ case: 'mapValue', value: { entries: [{ key: inner, val: { value: { case: 'mapValue', value: {} } } }] } }),
    );
    assertForm(
      ScValSchema,
      '{"vec":{"values":["void"]}}',
      value({ case: 'vec', value: { values: [{ value: { case: 'voidValue', value: {} } }] } }),
      '{"vec":["void"]}',
    );
  });

  it('contract values: any other form is refused', () => {
    assert.equal(read(ScValSchema, '"nothing"'), 'x must be an object or "void"');
    assert.equal(read(ScValSchema, '7'), 'x must be an object or "void"');
    assert.equal(read(ScValSchema, '{"u32":4294967296}'), 'x.u32 must be an integer from 0 to 4294967295');
    assert.equal(read(ScValSchema, '{"u32":"7"}'), 'x.u32 must be an integer from 0 to 4294967295');
    assert.equal(
      read(ScValSchema, '{"u32":1,"i32":1}'),
      'x.i32 conflicts with another field; set only one of bool, void, u32, i32, u64, i64, timepoint, duration, u128, i128, u256, i256, bytes, string, symbol, address, vec, map',
    );
    assert.equal(read(ScValSchema, '{"vec":"a"}'), 'x.vec must be an array or an object');
    assert.equal(read(ScValSchema, '{"vec":[{"u32":"a"}]}'), 'x.vec[0].u32 must be an integer from 0 to 4294967295');
    assert.equal(read(ScValSchema, '{"vec":[null]}'), 'x.vec[0] must be an object or "void"');
    assert.equal(read(ScValSchema, '{"u128":1.5}'), 'x.u128 must be an integer');
    assert.equal(read(ScValSchema, '{"toString":1}'), 'x.toString is not a known field');
    assert.equal(read(ScValSchema, '{"__proto__":1}'), 'x.__proto__ is not a known field');
  });
});

describe('requests', () => {
  const bounds = compileFieldBounds(EvmTransactionRequestSchema);

  /** The stored amount of a `value` token, or the sentence of the refusal. */
  function amountOf(token: string): string | undefined {
    const message = read(EvmTransactionRequestSchema, `{"value":${token}}`);
    if (typeof message === 'string') return message;
    return bounds?.(message)?.message ?? message.value;
  }

  it('requests: refuse a time that has no RFC 3339 text, which binary messages can hold', () => {
    const problem = (seconds: bigint, nanos = 0) =>
      bounds?.(create(EvmTransactionRequestSchema, { validUntil: { seconds, nanos } }))?.message;
    const sentence = 'valid_until must be a time from the year 1 to 9999';
    assert.equal(problem(253_402_300_800n), sentence);
    assert.equal(problem(-62_135_596_801n), sentence);
    assert.equal(problem(0n, 1_000_000_000), sentence);
    assert.equal(problem(0n, -1), sentence);
    assert.equal(problem(253_402_300_799n, 999_999_999), undefined);
  });

  it('requests: read amounts exactly', () => {
    const cases = {
      '0': '0',
      '1000000000000000001': '1000000000000000001',
      '1.0': '1',
      '-0': '0',
      '-0.0e5': '0',
      '1e+21': '1000000000000000000000',
      '"007"': '007',
      '"0xFf"': '0xFf',
    };
    for (const [token, stored] of Object.entries(cases)) assert.equal(amountOf(token), stored, token);
    const most = '340282366920938463463374607431768211455';
    assert.equal(amountOf(most), most);
    assert.equal(amountOf(`"${'0'.repeat(39)}${most}"`), '0'.repeat(39) + most);
    assert.equal(amountOf(`"0x${'f'.repeat(32)}"`), `0x${'f'.repeat(32)}`);
  });

  it('requests: refuse a value that is not an amount, naming field and bound', () => {
    const sentence = 'value must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)';
    const refused = [
      '-1',
      '1.5',
      '1e-1',
      '1e39',
      '1e999999999',
      '340282366920938463463374607431768211456',
      '""',
      '"0x"',
      '"+1"',
      '"-1"',
      '"1e21"',
      '"1.0"',
      '" 1"',
      '"0X1"',
      'true',
      '[]',
      '{}',
    ];
    for (const token of [...refused, `"0x1${'0'.repeat(32)}"`, `"${'0'.repeat(79)}"`, `"0x${'0'.repeat(65)}"`]) {
      assert.equal(amountOf(token)?.replace('x.value', 'value'), sentence, token);
    }
  });

  it('requests: read null as absent, and keep what protobuf keeps', () => {
    assertForm(
      EvmTransactionRequestSchema,
      '{"to":null,"value":5,"data":null,"gas_limit":null,"speed":"safeLow","valid_until":null}',
      { value: '5', speed: 4 },
      '{"value":"5","speed":"safeLow"}',
    );
    assertForm(EvmTransactionRequestSchema, '{"gas_limit":9223372036854775807}', { gasLimit: 2n ** 63n - 1n });
    assertForm(
      StellarTransactionRequestSchema,
      '{"network":"testnet","operations":null,"fee_bump":false,"max_fee":1}',
      { network: 'testnet', feeBump: false, maxFee: 1n },
      '{"network":"testnet","operations":[],"fee_bump":false,"max_fee":1}',
    );
    assertForm(
      SolanaTransactionRequestSchema,
      `{"instructions":[{"program_id":"${program}","accounts":[{"pubkey":"${program}","is_signer":true,"is_writable":false}],"data":"AQI="}]}`,
      {
        instructions: [
          { programId: program, accounts: [{ pubkey: program, isSigner: true, isWritable: false }], data: Uint8Array.of(1, 2) },
        ],
      },
    );
  });

  it('requests: refuse other types, naming the field by its path', () => {
    assert.equal(
      read(EvmTransactionRequestSchema, '{"gas_limit":18446744073709551616}'),
      'x.gas_limit must be an integer from 0 to 9223372036854775807',
    );
    assert.equal(read(EvmTransactionRequestSchema, '{"speed":"Fast"}'), 'x.speed must be one of fastest, fast, average, safeLow');
    assert.equal(read(EvmTransactionRequestSchema, '{"speed":2}'), 'x.speed must be one of fastest, fast, average, safeLow');
    assert.equal(read(EvmTransactionRequestSchema, '{"gasLimit":1}'), 'x.gasLimit is not a known field');
    assert.equal(
      read(StellarTransactionRequestSchema, '{"operations":[{"type":"payment","amount":1.5}]}'),
      'x.operations[0].amount must be an integer from 1 to 9223372036854775807',
    );
    assert.equal(read(StellarTransactionRequestSchema, '{"operations":{}}'), 'x.operations must be an array');
    assert.equal(read(StellarTransactionRequestSchema, '{"fee_bump":"true"}'), 'x.fee_bump must be true or false');
    assert.equal(read(SolanaTransactionRequestSchema, '{"instructions":[{"data":"AQI"}]}'), 'x.instructions[0].data must be base64');
  });

  it('requests: accept enum texts, times and bytes', () => {
    assertForm(
      CreateApiKeyRequestSchema,
      '{"name":"n","scopes":["transactions:read","sign"],"relayer_ids":[],"expires_at":"2026-11-20T10:00:00.123Z","allowed_addresses":[]}',
      {
        name: 'n',
        scopes: [1, 3],
        expiresAt: { seconds: 1_795_168_800n, nanos: 123_000_000 },
      },
    );
    const time = (text: string) => read(CreateApiKeyRequestSchema, `{"expires_at":"${text}"}`);
    assert.deepEqual(time('2026-11-20T12:30:00+02:30'), time('2026-11-20t10:00:00z'));
    for (const bad of [
      '2026-02-30T00:00:00Z',
      '2026-11-20',
      '2026-11-20T10:00:00',
      '2026-13-01T00:00:00Z',
      '2026-11-20T24:00:00Z',
      '0000-01-01T00:00:00Z',
      'now',
    ]) {
      assert.equal(time(bad), 'x.expires_at must be an RFC 3339 time, such as 2030-01-31T12:00:00Z', bad);
    }
    assertForm(
      CreateSignerRequestSchema,
      `{"type":"plain","config":{"key":"0x${hex32}","passphrase":"p"}}`,
      { config: { case: 'local', value: { secret: { case: 'key', value: new Uint8Array(32).fill(1) }, passphrase: 'p' } } },
      `{"type":"local","config":{"key":"${hex32}","passphrase":"p"}}`,
    );
  });

  it('requests: name every text whose syntax is wrong, together with other problems, in JSON and in binary messages', () => {
    assert.equal(
      read(EvmTransactionRequestSchema, '{"to":"0x12","data":"0xabc","value":"-1"}'),
      'x.to must be 0x and 40 hex digits; x.data must be an even number of hex digits; x.value must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
    );
    assert.equal(read(RpcUrlSchema, `{"url":"https://a/${'b'.repeat(2048)}"}`), 'x.url must be at most 2048 characters');
    assert.equal(
      read(MemoSpecSchema, '{"type":"hash","value":"00ff"}'),
      'x.value must be 32 bytes: 64 hex digits or an array of 32 integers',
    );
    const bounds = compileFieldBounds(CreateApiKeyRequestSchema);
    assert.equal(
      bounds?.(create(CreateApiKeyRequestSchema, { name: 'a\nb' }))?.message,
      'name must be 1 to 100 characters without control characters',
    );
    assert.match(
      String(bounds?.(create(CreateApiKeyRequestSchema, { relayerIds: ['a', ''] }))?.message),
      /^relayer_ids\[1\] must be 1 to 36/,
    );
    // Whether an absent name is allowed is decided later.
    assert.equal(bounds?.(create(CreateApiKeyRequestSchema, { name: '' })), undefined);
    const memo = compileFieldBounds(MemoSpecSchema)?.(create(MemoSpecSchema, { memo: { case: 'hash', value: Uint8Array.of(1) } }));
    assert.match(String(memo?.message), /^value must be 32 bytes/);
  });

  it('requests: choose a shape by an enum beside it', () => {
    const evm = {
      name: 'n',
      network: 'sepolia',
      networkType: 1,
      paused: false,
      signerId: 's',
      policies: { case: 'evm' as const, value: { minBalance: '1000000000000000001' } },
    };
    const text =
      '{"name":"n","network":"sepolia","network_type":"evm","paused":false,"policies":{"min_balance":1000000000000000001},"signer_id":"s","custom_rpc_urls":["https://a",{"url":"https://b","weight":5}]}';
    assertForm(CreateRelayerRequestSchema, text, { ...evm, customRpcUrls: [{ url: 'https://a' }, { url: 'https://b', weight: 5 }] });
    assert.equal(read(CreateRelayerRequestSchema, '{"policies":{}}'), 'x.network_type is required');
    assert.equal(
      read(CreateRelayerRequestSchema, '{"policies":{"min_balance":1},"network_type":"evn"}'),
      'x.network_type must be one of evm, stellar, solana',
    );
    assert.equal(
      read(CreateRelayerRequestSchema, '{"policies":{"nothing":1},"network_type":"evm"}'),
      'x.policies.nothing is not a known field',
    );
    assert.equal(read(CreateRelayerRequestSchema, '{"policies":[],"network_type":"evm"}'), 'x.policies must be an object');
    assert.equal(
      read(CreateRelayerRequestSchema, '{"policies":{"whitelist_receivers":[]},"network_type":"evm"}'),
      'x.policies.whitelist_receivers must not be empty; leave it out to allow all',
    );
  });
});

describe('answers', () => {
  const time = { seconds: 1_795_168_800n, nanos: 5_999_999 };
  const record = { id: 't', relayerId: 'r', status: 1, createdAt: time, revision: 9n, updatedAt: time };

  it('answers: have every key of an EVM record, null if the value is unknown', () => {
    assert.equal(
      renderTransaction(create(TransactionSchema, { ...record, network: { case: 'evm', value: { fromAddress: '0xA', value: '0' } } })),
      '{"id":"t","relayer_id":"r","status":"pending","status_reason":null,"created_at":"2026-11-20T10:00:00.005Z","sent_at":null,"confirmed_at":null,"hash":null,"from":"0xA","to":null,"value":"0","data":null,"nonce":null,"gas_limit":null,"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":null,"signature":null,"is_canceled":false,"revision":9,"updated_at":"2026-11-20T10:00:00.005Z","failure_reason":null,"block_number":null,"gas_used":null,"fee_paid":null,"valid_until":null}',
    );
    assert.equal(
      write(EvmTransactionSchema, { nonce: 0n, gasLimit: 2n ** 63n, speed: 4, signature: { r: 'r', s: 's', sig: 'x', v: 27 } }),
      '{"from":"","to":null,"value":"","data":null,"nonce":0,"gas_limit":9223372036854775808,"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":"safeLow","signature":{"r":"r","s":"s","sig":"x","v":27},"is_canceled":false}',
    );
  });

  it('answers: have the fields of the other networks in the same place', () => {
    const stellar = renderTransaction(
      create(TransactionSchema, {
        ...record,
        network: { case: 'stellar', value: { sourceAccount: 'GA', fee: '340282366920938463463374607431768211455', sequenceNumber: '7' } },
      }),
    );
    assert.match(
      stellar,
      /"hash":null,"source_account":"GA","fee":340282366920938463463374607431768211455,"sequence_number":"7","transaction_result_xdr":null,"from":null,"to":null,"value":null,"data":null,"nonce":null,"gas_limit":null,"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":null,"signature":null,"revision":9,"updated_at":"2026-11-20T10:00:00.005Z","failure_reason":null,"block_number":null,"gas_used":null,"fee_paid":null,"valid_until":null\}$/,
    );
    const solana = renderTransaction(
      create(TransactionSchema, { ...record, network: { case: 'solana', value: { transaction: 'AA==', signature: 's' } } }),
    );
    assert.match(
      solana,
      /"hash":null,"transaction":"AA==","signature":"s","instructions":\[\],"from":null,"to":null,"value":null,"data":null,"nonce":null,"gas_limit":null,"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":null,"revision":9,"updated_at":"[^"]+","failure_reason":null,/,
    );
  });

  it('answers: have exact numbers, and leave out what is not set', () => {
    assert.equal(
      write(RelayerBalanceSchema, { balance: '1000000000000000000001', unit: BalanceUnit.WEI }),
      '{"balance":1000000000000000000001,"unit":"wei"}',
    );
    assert.equal(write(RelayerBalanceSchema, {}), '{"balance":0}');
    assert.throws(() => write(RelayerBalanceSchema, { balance: 'many' }));
    assert.equal(
      write(RelayerSchema, { id: 'r', networkType: 1, policies: { case: 'evm', value: { gasPriceCap: '5', eip1559Pricing: false } } }),
      '{"id":"r","name":"","network":"","network_type":"evm","paused":false,"policies":{"gas_price_cap":5,"eip1559_pricing":false},"signer_id":"","custom_rpc_urls":[],"address":"","system_disabled":false,"policies_version":0,"policies_locked":false}',
    );
    assert.equal(
      write(ApiKeySchema, { id: 'k' }),
      '{"id":"k","name":"","scopes":[],"relayer_ids":[],"expires_at":null,"created_by":null,"allowed_addresses":[],"last_used_at":null,"former_secrets_expire_at":null}',
    );
  });

  it('answers: carry JSON digit for digit', () => {
    assert.equal(
      write(JsonRpcAnswerSchema, { jsonrpc: '2.0', id: '"a"', outcome: { case: 'result', value: '{"a":1000000000000000000001}' } }),
      '{"jsonrpc":"2.0","id":"a","result":{"a":1000000000000000000001}}',
    );
    assert.equal(
      write(JsonRpcAnswerSchema, { outcome: { case: 'error', value: { code: -32000 } } }),
      '{"jsonrpc":"","id":null,"error":{"code":-32000,"message":"","description":""}}',
    );
  });
});
