import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { Account, Asset, Keypair, MuxedAccount, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import {
  absent,
  accepts,
  acceptsTimes,
  bothOf,
  refuses,
  restOnly,
  rowsOf,
  type Sentence,
  same,
  strangeTypes,
  type Value,
  withFields,
  without,
} from './rows.js';

export const stellarAccount = 'GAFWCK265XMRRRZAEPMAE2PTNTQA4BMIKUNVCZ3ROGFYQC5HXVUYYXXT';
const restFields = {
  network: 'local',
  operations: [{ type: 'payment', destination: stellarAccount, amount: '1', asset: { type: 'native' } }],
};
const rpcPayment: JsonObject = { payment: { destination: stellarAccount, amount: '1', asset: { native: {} } } };
const rpcFields: JsonObject = { network: 'local', operations: [rpcPayment] };
const rest = Object.fromEntries(Object.entries(restFields).map(([name, value]) => [name, JSON.stringify(value)]));
const bases = bothOf({ on: 'stellar', rest, rpc: rpcFields });

const hash = '00ff'.repeat(16);
const hashBase64 = Buffer.from(hash, 'hex').toString('base64');
const items = (item: string, count = 32) => `[${Array.from({ length: count }, () => item).join(',')}]`;
const memo = (type: string, value: string | undefined, rpc?: JsonValue, writes?: string): Value => ({
  rest: `{"type":${JSON.stringify(type)}${value === undefined ? '' : `,"value":${value}`}}`,
  writes,
  ...(rpc === undefined ? { only: 'rest' as const } : { rpc }),
});
const payment = (field: string, value: unknown): Value => ({
  rest: JSON.stringify([{ ...restFields.operations[0], [field]: value }]),
  only: 'rest',
});

/** PUT and POST of two operations. */
const ofTwo = bothOf({
  on: 'stellar',
  rest: { ...rest, operations: JSON.stringify([restFields.operations[0], restFields.operations[0]]) },
  rpc: { ...rpcFields, operations: [rpcPayment, rpcPayment] },
});

/** The passphrase of the network on which the rows are asked. */
export const stellarPassphrase = 'The document';
const otherPassphrases = ['The Document', 'Public Global Stellar Network ; September 2015', 'Test SDF Network ; September 2015'];
const bumps = withFields(without(bases, 'operations'), { fee_bump: true });

/** A payment that another account signed for the network of this passphrase, as JSON text. */
function signedFor(passphrase: string, { isMuxed = false } = {}): string {
  const user = Keypair.random();
  const own = new Account(user.publicKey(), '41');
  const built = new TransactionBuilder(isMuxed ? new MuxedAccount(own, '7') : own, { fee: '100', networkPassphrase: passphrase })
    .addOperation(Operation.payment({ destination: stellarAccount, asset: Asset.native(), amount: '1' }))
    .setTimeout(0)
    .build();
  built.sign(user);
  return JSON.stringify(built.toXdr());
}

/** PUT and POST on Stellar. */
export const stellarSentences: readonly Sentence[] = [
  {
    says: "4.1: network is required on Stellar, a string, and names the relayer's network",
    rows: [
      ...accepts(bases, 'network', same('"local"')),
      ...refuses(bases, 'network', [...absent, ...same('""', '"other"', '"LOCAL"', '" local"')]),
      ...refuses(bases, 'network', restOnly('5', ...strangeTypes)),
    ],
  },
  {
    says: '4.1: max_fee is an integer or null, int64; contract: 0 and less are 400',
    rows: [
      ...accepts(bases, 'max_fee', [...absent, ...same('1000', '1000000', '5000000')]),
      ...accepts(bases, 'max_fee', restOnly('1000.0', '1e6', '10000e-1', '9223372036854775807')),
      ...refuses(bases, 'max_fee', same('0', '-1')),
      ...refuses(
        bases,
        'max_fee',
        restOnly('-0', '-1e3', '1000.5', '9223372036854775808', '1e19', '1e999999999', '"x"', '""', ...strangeTypes),
      ),
    ],
  },
  {
    says: '4.1: max_fee is the maximum fee in stroops; contract: too low is 400 with the minimum, which is 100 for each operation',
    rows: [
      ...accepts(ofTwo, 'max_fee', same('200', '201')),
      ...accepts(ofTwo, 'max_fee', restOnly('200.0', '2e2', '2000e-1')),
      ...refuses(ofTwo, 'max_fee', same('199', '1'), 'max_fee', '200'),
      ...refuses(ofTwo, 'max_fee', restOnly('199.0', '1.99e2', '1990e-1'), 'max_fee', '200'),
    ],
  },
  {
    says: '4.1: memo is a MemoSpec or null; type selects the variant',
    rows: [
      ...accepts(bases, 'memo', [...absent, memo('none', undefined, { none: {} }, 'none'), memo('none', 'null', undefined, 'none')]),
      ...refuses(bases, 'memo', [memo('none', '"a"'), memo('none', '0')], 'memo.value'),
      ...refuses(bases, 'memo', restOnly('5', '"text"', 'true', '[]'), 'memo'),
      ...refuses(bases, 'memo', restOnly('{}', '{"value":"a"}', '{"type":null,"value":"a"}', '{"type":5}'), 'memo.type'),
      ...refuses(
        bases,
        'memo',
        [memo('Text', '"a"'), memo('TEXT', '"a"'), memo('', '"a"'), memo('return_hash', `"${hash}"`), memo('other', '1')],
        'memo.type',
      ),
      ...refuses(bases, 'memo', restOnly('{"type":"text","value":"a","more":1}'), 'memo.more'),
    ],
  },
  {
    says: '4.1: memo text has a string; contract: at most 28 bytes in UTF-8',
    rows: [
      ...['', 'a', 'm'.repeat(28), 'é'.repeat(14), 'invoice 42', '😀'.repeat(7)].flatMap((text) =>
        accepts(bases, 'memo', [memo('text', JSON.stringify(text), { text }, `text ${Buffer.from(text).toString('hex')}`)]),
      ),
      ...['m'.repeat(29), 'é'.repeat(15), '😀'.repeat(8)].flatMap((text) =>
        refuses(bases, 'memo', [memo('text', JSON.stringify(text), { text })], 'memo.value'),
      ),
      ...refuses(
        bases,
        'memo',
        [undefined, 'null', '5', 'true', '[]', '{}', '"\\ud800"'].map((text) => memo('text', text)),
        'memo.value',
      ),
    ],
  },
  {
    says: '4.1, 8: memo id has an integer, int64, >= 0; deviation: up to 2^64-1',
    rows: [
      ...['0', '1', '42', '9007199254740993', '9223372036854775807', '18446744073709551615'].flatMap((text) =>
        accepts(bases, 'memo', [memo('id', text, { id: text }, `id ${text}`), memo('id', `"${text}"`, undefined, `id ${text}`)]),
      ),
      ...accepts(
        bases,
        'memo',
        Object.entries({ '1.0': 1, '-0': 0, '1e3': 1000, '10e-1': 1, '-0.0': 0, '4.2e1': 42 }).map(([text, id]) =>
          memo('id', text, undefined, `id ${id}`),
        ),
      ),
      ...refuses(
        bases,
        'memo',
        ['-1', '1.5', '18446744073709551616', '1e20', '1e999999999', '""', '"x"', '"-1"', '"1.0"']
          .concat(strangeTypes, ['null'])
          .map((text) => memo('id', text)),
        'memo.value',
      ),
      ...refuses(bases, 'memo', [memo('id', undefined)], 'memo.value'),
    ],
  },
  ...(['hash', 'return'] as const).map(
    (type): Sentence => ({
      says: `4.1: memo ${type} has an array of integers; contract: 32 from 0 to 255, or 64 hex digits`,
      rows: [
        ...accepts(bases, 'memo', [memo(type, `"${hash}"`, { [type === 'hash' ? 'hash' : 'return_hash']: hashBase64 }, `${type} ${hash}`)]),
        ...accepts(
          bases,
          'memo',
          [`"0x${hash}"`, `"${hash.toUpperCase()}"`, `"0x${hash.toUpperCase()}"`].map((text) =>
            memo(type, text, undefined, `${type} ${hash}`),
          ),
        ),
        ...accepts(
          bases,
          'memo',
          Object.entries({ '0': 0, '1': 1, '255': 255, '1.0': 1, '-0': 0, '255.00': 255, '1e2': 100, '2550e-1': 255, '-0.0': 0 }).map(
            ([item, byte]) => memo(type, items(item), undefined, `${type} ${Buffer.alloc(32, byte).toString('hex')}`),
          ),
        ),
        ...refuses(
          bases,
          'memo',
          ['256', '-1', '1.5', '1e3', '"1"', 'null', 'true', '[]', '{}', '1e999999999'].map((item) => memo(type, items(item))),
          'memo.value',
        ),
        ...refuses(
          bases,
          'memo',
          [0, 1, 31, 33, 64].map((count) => memo(type, items('7', count))),
          'memo.value',
        ),
        ...refuses(
          bases,
          'memo',
          [
            undefined,
            'null',
            '""',
            '"0x"',
            `"${hash}0"`,
            `"${hash}00"`,
            `"${hash.slice(2)}"`,
            `"0X${hash}"`,
            `"${'g'.repeat(64)}"`,
            `"${hashBase64}"`,
            '5',
            'true',
            '{}',
          ].map((text) => memo(type, text)),
          'memo.value',
        ),
      ],
    }),
  ),
  {
    says: '4.1: operations is an array or null, mutually exclusive with transaction_xdr, and one of both is needed',
    rows: [
      ...refuses(bases, 'operations', [...absent, ...same('[]')]),
      ...refuses(bases, 'operations', restOnly('5', '"a"', 'true', '{}')),
      ...refuses(bases, 'operations', restOnly('[5]', '["payment"]', '[true]'), 'operations[0]'),
      ...refuses(bases, 'operations', restOnly('[{}]', '[{"type":"other"}]', '[{"type":5}]'), 'operations[0].type'),
      ...refuses(bases, 'transaction_xdr', same('"AAAA"'), 'transaction_xdr'),
      ...refuses(without(bases, 'operations'), 'transaction_xdr', same('"AAAA"', '"AAA="')),
      ...refuses(without(bases, 'operations'), 'transaction_xdr', restOnly('"!"', '"AAA"', '5', ...strangeTypes)),
      ...accepts(bases, 'transaction_xdr', absent),
    ],
  },
  {
    says: 'contract: the amount of a payment is an integer of stroops from 1 to 2^63-1, as a number or a string',
    rows: [
      ...accepts(
        bases,
        'operations',
        [1, '1', '10000000', '9223372036854775807', 9007199254740991].map((amount) => payment('amount', amount)),
      ),
      ...refuses(
        bases,
        'operations',
        [0, -1, 1.5, '0', '-1', '', 'x', '1.0', '9223372036854775808', true, [], {}, null].map((amount) => payment('amount', amount)),
        'operations[0].amount',
      ),
      ...refuses(
        bases,
        'operations',
        ['', 'G', stellarAccount.toLowerCase(), `${stellarAccount}A`, stellarAccount.replace(/T$/, 'U'), 5, true, null].map((to) =>
          payment('destination', to),
        ),
        'operations[0].destination',
      ),
    ],
  },
  {
    says: '4.1: fee_bump is a boolean or null, valid only when transaction_xdr holds a signed transaction',
    rows: [
      ...accepts(bases, 'fee_bump', [...absent, ...same('false')]),
      ...refuses(bases, 'fee_bump', same('true')),
      ...refuses(bases, 'fee_bump', restOnly('"true"', '1', '0', '""', '[]', '{}')),
    ],
  },
  {
    says: '4.1: fee_bump wraps a signed transaction: true accepts one that its account signed for this network, and no other',
    rows: [
      ...accepts(
        bumps.filter(({ call }) => call === 'send'),
        'transaction_xdr',
        same(signedFor(stellarPassphrase), signedFor(stellarPassphrase, { isMuxed: true })),
      ),
      ...refuses(
        bumps,
        'transaction_xdr',
        otherPassphrases.flatMap((one) => same(signedFor(one), signedFor(one, { isMuxed: true }))),
      ),
    ],
  },
  {
    says: '4.1: source_account is a string or null',
    rows: [
      ...accepts(bases, 'source_account', absent),
      ...refuses(bases, 'source_account', same(`"${stellarAccount}"`, '"G"')),
      ...refuses(bases, 'source_account', restOnly('5', ...strangeTypes)),
    ],
  },
  {
    says: '4.1: valid_until is a string or null; contract: Stellar also takes Unix seconds; the record has it, null without one, and PUT without one keeps it',
    rows: [
      ...acceptsTimes(
        bases,
        { '"2099-01-01T00:00:00Z"': '2099-01-01T00:00:00.000Z', '"2099-01-03T01:00:00+02:00"': '2099-01-02T23:00:00.000Z' },
        { '"4102444800"': '2100-01-01T00:00:00.000Z' },
      ),
      ...refuses(bases, 'valid_until', same('"2020-01-01T00:00:00Z"')),
      ...refuses(
        bases,
        'valid_until',
        restOnly('"1577836800"', '""', '"tomorrow"', '"-1"', '"4102444800.5"', '4102444800', ...strangeTypes),
      ),
    ],
  },
  {
    says: "contract: a field that only another network's shape defines is ignored on Stellar, and told in metadata.logs",
    rows: Object.entries({
      to: '"0x"',
      value: '-1',
      data: '"x"',
      gas_limit: '1',
      gas_price: '1',
      max_fee_per_gas: '1',
      speed: '"x"',
      transaction: '"AAAA"',
    }).flatMap(([field, text]) => rowsOf(bases, field, restOnly(text), () => ({ is: 'accepted', warnsOf: field }))),
  },
  {
    says: 'contract: a field that no shape defines is 400 naming it, on Stellar',
    rows: ['netwrok', 'opertions', 'memos', 'maxFee', 'sequence'].flatMap((field) => refuses(bases, field, restOnly('1'), field)),
  },
];
