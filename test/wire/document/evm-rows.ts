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
  textsOf,
  withFields,
  without,
} from './rows.js';

const most = 2n ** 128n - 1n;
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const fields = { to, value: '1' };
const bases = bothOf({ on: 'evm', rest: textsOf(fields), rpc: fields });

/** JSON integers of REST and what they are. */
const integers: Readonly<Record<string, string>> = {
  '0': '0',
  '-0': '0',
  '-0.0': '0',
  '1': '1',
  '1.0': '1',
  '1.000e3': '1000',
  '1e+21': '1000000000000000000000',
  '120e-1': '12',
  '9007199254740993': '9007199254740993',
  '1000000000000000001': '1000000000000000001',
  [String(most)]: String(most),
};
/** Strings, in REST and RPC, and what they are. */
const strings: Readonly<Record<string, string>> = {
  '"0"': '0',
  '"1"': '1',
  '"9007199254740993"': '9007199254740993',
  [`"${most}"`]: String(most),
  '"0x0"': '0',
  '"0xfF"': '255',
  [`"0x${'f'.repeat(32)}"`]: String(most),
  [`"0x${'0'.repeat(32)}${'F'.repeat(32)}"`]: String(most),
  '"007"': '7',
};
const noIntegers = ['-1', '-1e3', '1.5', '0.1', '1e-1', '1e39', '1e999999999', String(most + 1n), ...strangeTypes];
const noStrings = [
  '""',
  '"0x"',
  '"+1"',
  '"-1"',
  '"-0"',
  '"1e21"',
  '"1.0"',
  '"0X1"',
  '"0xg"',
  '" 1"',
  '"1 "',
  '"abc"',
  '"1,000"',
  '"null"',
].concat([`"${most + 1n}"`, `"0x1${'0'.repeat(32)}"`, `"${'0'.repeat(79)}"`, `"0x${'0'.repeat(65)}"`]);
const readsAs = (field: string) => (value: { readonly rest?: string | undefined }) => {
  const text = value.rest ?? '';
  return field === 'value' || field.includes('price') || field.includes('fee') ? (integers[text] ?? strings[text]) : undefined;
};

const readsAsNumber = ({ rest }: { readonly rest?: string | undefined }) => Number(rest);

/** The bases in which a price may have any value. */
const pricing: Readonly<Record<string, typeof bases>> = {
  value: bases,
  gas_price: bases,
  max_fee_per_gas: withFields(bases, { max_priority_fee_per_gas: '0' }),
  max_priority_fee_per_gas: withFields(bases, { max_fee_per_gas: String(most) }),
};

const amounts: readonly Sentence[] = Object.entries(pricing).flatMap(([field, own]): Sentence[] => [
  {
    says: `4.1, 8: ${field} is an integer >= 0, at most 2^128-1, read exactly`,
    rows: [
      ...accepts(own, field, restOnly(...Object.keys(integers)), readsAs(field)),
      ...accepts(own, field, same(...Object.keys(strings)), readsAs(field)),
    ],
  },
  {
    says: `4.1, 8: ${field} is nothing else: negative, with a fraction, too large, or no integer`,
    rows: [...refuses(own, field, restOnly(...noIntegers)), ...refuses(own, field, same(...noStrings))],
  },
]);

const intrinsicData = { data: '0x' };
const gasBases = withFields(bases, intrinsicData);

/** PUT and POST on EVM. */
export const evmSentences: readonly Sentence[] = [
  ...amounts,
  { says: '4.1: value is required on EVM', rows: refuses(bases, 'value', absent) },
  {
    says: '4.1: gas_price, the other prices and speed are not required, and null means absent',
    rows: ['gas_price', 'max_fee_per_gas', 'max_priority_fee_per_gas', 'speed', 'gas_limit', 'valid_until', 'data'].flatMap((field) =>
      accepts(bases, field, absent),
    ),
  },
  {
    says: '4.1: gas_limit is an integer or null, int64, >= 0; 2.2: shown as an integer',
    rows: [
      ...accepts(gasBases, 'gas_limit', restOnly('21000.0', '3e4', '1000000e-1', '30000.00'), readsAsNumber),
      ...accepts(gasBases, 'gas_limit', same('21000', '30000', '1000000', '16777216'), readsAsNumber),
      ...accepts(gasBases, 'gas_limit', absent, () => null),
      ...refuses(gasBases, 'gas_limit', restOnly('-1', '1.5', '21000.5', '1e19', '18446744073709551616', '""', '"abc"', ...strangeTypes)),
      ...refuses(gasBases, 'gas_limit', [{ rest: '9223372036854775808', rpc: '9223372036854775808' }]),
    ],
  },
  {
    says: 'contract: a gas_limit below the intrinsic gas is 400',
    rows: refuses(bases, 'gas_limit', same('0', '1', '20999')),
  },
  {
    says: '4.1: speed is one of fastest, fast, average, safeLow',
    rows: [
      ...['fastest', 'fast', 'average', 'safeLow'].flatMap((text) =>
        accepts(bases, 'speed', [{ rest: `"${text}"`, rpc: `SPEED_${text === 'safeLow' ? 'SAFE_LOW' : text.toUpperCase()}` }], () => text),
      ),
      ...refuses(bases, 'speed', restOnly('"FAST"', '"Fast"', '"safe_low"', '"slow"', '""', '"SPEED_FAST"', '1', '0', ...strangeTypes)),
    ],
  },
  {
    says: 'contract: to is 0x and 40 hex digits, and mixed case must match EIP-55; shown so',
    rows: [
      ...accepts(bases, 'to', same(`"${to}"`, `"${to.toLowerCase()}"`, `"0x${to.slice(2).toUpperCase()}"`), () => to),
      ...refuses(
        bases,
        'to',
        same(
          '"0x70997970C51812dc3A010C7d01b50e0d17dc79c8"',
          `"0X${to.slice(2)}"`,
          `"${to.slice(2)}"`,
          `"${to}0"`,
          `"${to.slice(0, -1)}"`,
          '"0x"',
        ).concat(same('"XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS"', `" ${to}"`, `"${to} "`, '"vitalik.eth"', `"0x${'g'.repeat(40)}"`)),
      ),
      ...refuses(bases, 'to', restOnly('5', '0', ...strangeTypes)),
    ],
  },
  {
    says: 'contract: one of to and data must be there',
    rows: [
      ...accepts(withFields(without(bases, 'to'), { data: '0x6001' }), 'to', absent, () => null),
      ...refuses(without(bases, 'to'), 'data', absent, 'to'),
    ],
  },
  {
    says: 'contract: data is hex digits, their number even, 0x optional; shown in lower case with 0x',
    rows: [
      ...[
        ['"0xABcd"', '0xabcd'],
        ['"abcd"', '0xabcd'],
        ['"00"', '0x00'],
        [`"0x${'ab'.repeat(1000)}"`, `0x${'ab'.repeat(1000)}`],
      ].flatMap(([text = '', held]) => accepts(bases, 'data', same(text), () => held)),
      ...refuses(bases, 'data', same('"0x1"', '"abc"', '"0X00"', '"zz"', '"0xzz"', '" 00"', '"00 "', '"é0"')),
      ...refuses(bases, 'data', restOnly('5', ...strangeTypes)),
    ],
  },
  {
    says: '4.1: valid_until is a string or null: a time that has not passed; contract: the record has it, null without one, and PUT without one keeps it',
    rows: [
      ...acceptsTimes(
        bases,
        {
          '"2099-01-01T00:00:00Z"': '2099-01-01T00:00:00.000Z',
          '"2099-01-02T00:00:00.5Z"': '2099-01-02T00:00:00.500Z',
          '"2099-01-03T01:00:00+02:00"': '2099-01-02T23:00:00.000Z',
        },
        { '"2099-12-31T23:59:59.123456789Z"': '2099-12-31T23:59:59.123Z', '"2099-01-04t00:00:00z"': '2099-01-04T00:00:00.000Z' },
      ),
      ...refuses(bases, 'valid_until', same('"2020-01-01T00:00:00Z"', '"1970-01-01T00:00:00Z"')),
      ...refuses(
        bases,
        'valid_until',
        restOnly(
          '""',
          '"tomorrow"',
          '"2099-01-01"',
          '"2099-02-30T00:00:00Z"',
          '"2099-01-01T00:00:00"',
          '"2099-01-01T25:00:00Z"',
          '"4102444800"',
        ),
      ),
      ...refuses(bases, 'valid_until', restOnly('4102444800', ...strangeTypes)),
    ],
  },
  {
    says: 'contract: at most one way of pricing, and both EIP-1559 prices, the priority not above the maximum',
    rows: [
      ...refuses(withFields(bases, { gas_price: '5' }), 'speed', [{ rest: '"fast"', rpc: 'SPEED_FAST' }], 'gas_price'),
      ...refuses(withFields(bases, { max_priority_fee_per_gas: '1' }), 'max_fee_per_gas', absent, 'max_fee_per_gas'),
      ...refuses(withFields(bases, { max_fee_per_gas: '1' }), 'max_priority_fee_per_gas', absent, 'max_priority_fee_per_gas'),
      ...refuses(withFields(bases, { max_fee_per_gas: '1' }), 'max_priority_fee_per_gas', same('"2"')),
      ...accepts(withFields(bases, { max_fee_per_gas: '2' }), 'max_priority_fee_per_gas', same('"2"', '"0"')),
    ],
  },
  {
    says: "contract: a field that only another network's shape defines is ignored, and told in metadata.logs",
    rows: Object.entries({
      network: '"local"',
      operations: '[]',
      memo: '{"type":"none"}',
      transaction_xdr: '"AAAA"',
      fee_bump: 'true',
      max_fee: '1',
      source_account: '"G"',
      transaction: '"AAAA"',
      instructions: '[]',
    }).flatMap(([field, text]) => rowsOf(bases, field, restOnly(text), () => ({ is: 'accepted', warnsOf: field }))),
  },
  {
    says: 'contract: a field that no shape defines is 400 naming it',
    rows: ['vallue', 'valu', 'gasLimit', 'from', 'nonce', 'chain_id', '__proto__', 'constructor', 'VALUE'].flatMap((field) =>
      refuses(bases, field, restOnly('1'), field),
    ),
  },
];
