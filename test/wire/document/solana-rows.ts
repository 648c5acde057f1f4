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
  without,
} from './rows.js';

const program = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const fields = { instructions: [{ program_id: program, accounts: [], data: 'aGVsbG8=' }] };
const bases = bothOf({ on: 'solana', rest: textsOf(fields), rpc: fields });

/** PUT and POST on Solana. */
export const solanaSentences: readonly Sentence[] = [
  {
    says: '4.1: transaction is required on Solana; deviation: or instructions',
    rows: [
      ...accepts(bases, 'transaction', absent),
      ...refuses(without(bases, 'instructions'), 'transaction', [...absent, ...same('""')]),
      ...refuses(without(bases, 'instructions'), 'transaction', same('"AAAA"', `"${'A'.repeat(1648)}"`)),
      ...refuses(without(bases, 'instructions'), 'transaction', restOnly('"!"', '5', ...strangeTypes)),
      ...refuses(bases, 'instructions', restOnly('5', '"a"', 'true', '{}')),
      ...refuses(bases, 'instructions', restOnly('[5]', '[true]'), 'instructions[0]'),
    ],
  },
  {
    says: '4.1: valid_until is a string or null on Solana; contract: the record has it, null without one, and PUT without one keeps it',
    rows: [
      ...acceptsTimes(
        bases,
        { '"2099-01-01T00:00:00Z"': '2099-01-01T00:00:00.000Z', '"2099-01-03T01:00:00+02:00"': '2099-01-02T23:00:00.000Z' },
        {},
      ),
      ...refuses(bases, 'valid_until', same('"2020-01-01T00:00:00Z"')),
      ...refuses(bases, 'valid_until', restOnly('""', '"tomorrow"', '"4102444800"', '4102444800', ...strangeTypes)),
    ],
  },
  {
    says: "contract: a field that only another network's shape defines is ignored on Solana, and told in metadata.logs",
    rows: Object.entries({
      to: '"0x"',
      value: '-1',
      gas_price: '1',
      network: '5',
      memo: '5',
      max_fee: '0',
      fee_bump: 'true',
      operations: '5',
    }).flatMap(([field, text]) => rowsOf(bases, field, restOnly(text), () => ({ is: 'accepted', warnsOf: field }))),
  },
  {
    says: 'contract: a field that no shape defines is 400 naming it, on Solana',
    rows: ['transactions', 'instruction', 'blockhash'].flatMap((field) => refuses(bases, field, restOnly('1'), field)),
  },
];
