import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { type SendTransactionRequest, TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { objectOf } from '../../src/api/contract/json-body.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { compileRequestReader } from '../../src/api/rest/request-reader.js';
import { weiOf } from '../../src/api/services/transactions/evm-transaction.js';
import { compileFieldBounds } from '../../src/codec/field-bounds.js';
import { CodecCompiler } from '../../src/codec/message-codec.js';
import { Reading } from '../../src/codec/reading.js';
import { jsonFromBytes } from '../../src/json/json-reader.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type AppRig, type RestAnswer, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { runs } from '../support/runs.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const max = 340282366920938463463374607431768211455n;
const amountBound = `must be an integer from 0 to 2^128-1 (${max})`;
const sends = '/api/v1/relayers/r1/transactions';

/** The forms of amounts, and their integers. */
const accepted: readonly (readonly [token: string, digits: string])[] = [
  ['0', '0'],
  ['1', '1'],
  ['1.0', '1'],
  ['10', '10'],
  ['1e+21', '1000000000000000000000'],
  ['1E3', '1000'],
  ['120e-1', '12'],
  ['0.5e1', '5'],
  ['1.230e2', '123'],
  ['0e999999999', '0'],
  ['-0', '0'],
  ['-0.0', '0'],
  ['-0e5', '0'],
  ['0.000', '0'],
  ['9007199254740993', '9007199254740993'],
  ['1000000000000000001', '1000000000000000001'],
  ['340282366920938463463374607431768211455', String(max)],
  ['340282366920938463463374607431768211455.000', String(max)],
  ['3.40282366920938463463374607431768211455e38', String(max)],
  ['"0"', '0'],
  ['"1000000000000000001"', '1000000000000000001'],
  [`"${max}"`, String(max)],
  [`"${'0'.repeat(39)}${max}"`, String(max)],
  ['"0x0"', '0'],
  ['"0x1F"', '31'],
  [`"0x${'f'.repeat(32)}"`, String(max)],
  [`"0x${'0'.repeat(32)}${'F'.repeat(32)}"`, String(max)],
];

/** Texts that are not amounts. A string has digits only: `"-0"` is not one, though the token `-0` is 0. */
const refused: readonly string[] = [
  String(max + 1n),
  '3.40282366920938463463374607431768211456e38',
  '1e39',
  '1e999999999',
  `1e${'9'.repeat(400)}`,
  '1e-1',
  '1e-999999999',
  '-1',
  '-1e+21',
  '1.5',
  '0.1',
  'true',
  'false',
  '[]',
  '{}',
  '[1]',
  '{"value":1}',
  '""',
  '" "',
  '"abc"',
  '"1e21"',
  '"1.0"',
  '"0x"',
  '"0X1"',
  '"0xg"',
  '"+1"',
  '"-1"',
  '"-0"',
  '" 1"',
  '"1 "',
  '"1\\u0000"',
  '"1_000"',
  '"1,000"',
  '"１"',
  '"null"',
  '"Infinity"',
  `"${max + 1n}"`,
  `"0x1${'0'.repeat(32)}"`,
  `"${'0'.repeat(79)}"`,
  `"0x${'0'.repeat(65)}"`,
];

/** A valid body except that its `field` is this token. */
function bodyWith(field: string, token: string): string {
  const others: Record<string, string> = {
    value: '',
    gas_price: ',"value":1',
    max_fee_per_gas: ',"value":1,"max_priority_fee_per_gas":0',
    max_priority_fee_per_gas: `,"value":1,"max_fee_per_gas":"${max}"`,
    gas_limit: ',"value":1',
  };
  return `{"to":"${to}","${field}":${token}${others[field]}}`;
}

describe('numbers on the wire', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig();
  });

  after(() => rig?.stop());

  const post = (body: string): Promise<RestAnswer> => rig.ask('POST', sends, { body });

  function checkRefused(answer: RestAnswer, field: string, description: string): void {
    assert.equal(
      answer.text,
      JSON.stringify({ success: false, data: null, error: `${field} ${description}`, message: 'Bad Request' }),
      answer.text.slice(0, 300),
    );
    assert.equal(answer.status, 400);
    assert.equal(answer.headers['x-error-reason'], 'FIELD_INVALID');
  }

  for (const field of ['value', 'gas_price', 'max_fee_per_gas', 'max_priority_fee_per_gas']) {
    it(`${field}: every form of an integer is read exactly and shown as a decimal string`, async () => {
      for (const [token, digits] of accepted) {
        const answer = await post(bodyWith(field, token));
        assert.equal(answer.status, 200, `${token}: ${answer.text}`);
        assert.ok(answer.text.includes(`"${field}":"${digits}"`), `${token}: ${answer.text}`);
        const { id } = JSON.parse(answer.text).data;
        const stored = await rig.ask('GET', `${sends}/${id}`);
        assert.ok(stored.text.includes(`"${field}":"${digits}"`), `${token}: ${stored.text}`);
      }
    });

    it(`${field}: anything else is answered 400 with the field and its bound`, async () => {
      for (const token of refused) checkRefused(await post(bodyWith(field, token)), field, amountBound);
    });

    it(`${field}: null means absent`, async () => {
      const answer = await post(bodyWith(field, 'null'));
      if (field === 'value') checkRefused(answer, 'value', 'is required');
      else if (field === 'gas_price') assert.ok(answer.text.includes('"gas_price":null'), answer.text);
      else checkRefused(answer, field, `is required with ${field === 'max_fee_per_gas' ? 'max_priority_fee_per_gas' : 'max_fee_per_gas'}`);
    });
  }

  it('gas_limit: a number or, as protobuf JSON writes 64-bit integers, a decimal string is shown as an exact number up to 2^63-1', async () => {
    const max63 = '9223372036854775807';
    for (const [token, digits] of [
      ['21000', '21000'],
      ['21000.0', '21000'],
      ['2.1e4', '21000'],
      ['9007199254740993', '9007199254740993'],
      [max63, max63],
      [`"${max63}"`, max63],
      [`${max63}.0`, max63],
    ] as const) {
      const answer = await post(bodyWith('gas_limit', token));
      assert.ok(answer.text.includes(`"gas_limit":${digits},`), `${token}: ${answer.text}`);
      const stored = await rig.ask('GET', `${sends}/${JSON.parse(answer.text).data.id}`);
      assert.ok(stored.text.includes(`"gas_limit":${digits},`), `${token}: ${stored.text}`);
    }
    assert.ok((await post(bodyWith('gas_limit', 'null'))).text.includes('"gas_limit":null,'));
  });

  it('gas_limit: anything else is answered 400 with the field and its bound', async () => {
    const tokens = ['9223372036854775808', '"9223372036854775808"', '1e19', '1e999999999', '18446744073709551615', '-1', '"-1"'];
    for (const token of [...tokens, '1.5', '1e-1', 'true', '[]', '{}', '""', '"0x5208"', '"21000.0"', '" 21000"', '"2.1e4"', '"x"']) {
      checkRefused(await post(bodyWith('gas_limit', token)), 'gas_limit', 'must be an integer from 0 to 9223372036854775807');
    }
  });

  it('gas_limit: a value below the intrinsic gas of the transaction is refused', async () => {
    for (const token of ['0', '20999']) {
      checkRefused(await post(bodyWith('gas_limit', token)), 'gas_limit', 'must be at least 21000, the intrinsic gas of the transaction');
    }
  });

  it('a number of a megabyte is refused or read by the same rules as a short one', async () => {
    const many = 1_048_300;
    const tokens = [
      '1'.repeat(many),
      `"${'1'.repeat(many)}"`,
      `"0x${'f'.repeat(many)}"`,
      `1e${'9'.repeat(many)}`,
      `1e-${'9'.repeat(many)}`,
      `0.${'0'.repeat(many)}1`,
      `1${'0'.repeat(many)}`,
      `1.${'9'.repeat(many)}`,
    ];
    for (const token of tokens) checkRefused(await post(bodyWith('value', token)), 'value', amountBound);
    checkRefused(await post(bodyWith('gas_limit', '1'.repeat(many))), 'gas_limit', 'must be an integer from 0 to 9223372036854775807');
    for (const [token, digits] of [
      [`0.${'0'.repeat(1_000_000)}1e1000001`, '1'],
      [`7${'0'.repeat(1_000_000)}e-1000000`, '7'],
      [`5.${'0'.repeat(1_000_000)}`, '5'],
      [`8e${'0'.repeat(1_000_000)}2`, '800'],
    ] as const) {
      const answer = await post(bodyWith('value', token));
      assert.ok(answer.text.includes(`"value":"${digits}"`), answer.text.slice(0, 300));
    }
  });

  it('over RPC amounts are strings in the same form, and 64-bit integers may be strings', async () => {
    for (const asker of rpcAskers(rig.baseUrl)) {
      const ask = (evm: Record<string, string>) =>
        asker.ask(TransactionService.method.sendTransaction, { relayer_id: 'r1', evm: { to, ...evm } });
      for (const [token, digits] of accepted.filter(([token]) => token.startsWith('"'))) {
        const answer = await ask({ value: JSON.parse(token), gas_limit: '9223372036854775807' });
        assert.ok(answer.ok, asker.protocol);
        const { transaction } = answer.response as unknown as { transaction: { network: { value: { value: string; gasLimit: bigint } } } };
        assert.deepEqual([transaction.network.value.value, transaction.network.value.gasLimit], [digits, 9223372036854775807n]);
      }
      for (const token of refused.filter((token) => token.startsWith('"'))) {
        const answer = await ask({ value: JSON.parse(token) });
        assert.ok(!answer.ok, `${asker.protocol} ${token}`);
        assert.deepEqual(answer.fields, [{ field: 'evm.value', description: amountBound }], `${asker.protocol} ${token}`);
      }
      const tooLarge = await ask({ value: '1', gas_limit: '9223372036854775808' });
      assert.ok(!tooLarge.ok);
      assert.deepEqual(tooLarge.fields, [{ field: 'evm.gas_limit', description: 'must be an integer from 0 to 9223372036854775807' }]);
      asker.close();
    }
  });

  it('200 generated amounts are stored exactly or refused', async () => {
    for (const token of fc.sample(amountToken, { seed: 20_261_120, numRuns: 200 })) {
      const answer = await post(bodyWith('value', token));
      const meant = amountOf(token);
      if (meant === undefined) checkRefused(answer, 'value', amountBound);
      else assert.ok(answer.text.includes(`"value":"${meant}"`), `${token}: ${answer.text}`);
    }
  });
});

describe('numbers on the chain', () => {
  let anvil: Anvil;
  let rig: AppRig;

  before(async () => {
    anvil = await startAnvil();
    rig = await startAppRig({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [rig.home.address, `0x${(2n ** 131n).toString(16)}`]);
  });

  after(async () => {
    await rig?.stop();
    await anvil?.stop();
  });

  it('amounts and data arrive on the chain exactly', async () => {
    for (const [token, digits] of [
      // The maximum that this node accepts: it adds value and fee in 128 bits.
      [String(max - 10n ** 18n), String(max - 10n ** 18n)],
      ['1000000000000000001', '1000000000000000001'],
      ['1e+21', '1000000000000000000000'],
      ['1.0', '1'],
      ['"0x1F"', '31'],
    ] as const) {
      const sent = await rig.ask('POST', sends, { body: `{"to":"${to}","value":${token},"gas_limit":21001}` });
      assert.equal(sent.status, 200, sent.text);
      const { id } = JSON.parse(sent.text).data;
      const hash = await waitFor('the confirmation', async () => {
        const { data } = JSON.parse((await rig.ask('GET', `${sends}/${id}`)).text);
        return data.status === 'confirmed' ? (data.hash as string) : undefined;
      });
      const onChain = (await anvil.rpc('eth_getTransactionByHash', [hash])) as { value: string; gas: string };
      assert.deepEqual([BigInt(onChain.value), BigInt(onChain.gas)], [BigInt(digits), 21_001n], token);
    }
  });
});

/*
 * The amount that a JSON token means by the contract, worked out as a fraction; undefined: none. Written independently of how the service reads
 * them, so that the two can be compared.
 */
function amountOf(token: string): bigint | undefined {
  const amount = token.startsWith('"') ? textAmountOf(JSON.parse(token)) : numberAmountOf(token);
  return amount !== undefined && amount >= 0n && amount < 1n << 128n ? amount : undefined;
}

function textAmountOf(text: string): bigint | undefined {
  const [digits, base, longest] = text.startsWith('0x') ? [text.slice(2), 16n, 64] : [text, 10n, 78];
  if (digits.length < 1 || digits.length > longest) return undefined;
  let amount = 0n;
  for (const character of digits.toLowerCase()) {
    const digit = '0123456789abcdef'.slice(0, Number(base)).indexOf(character);
    if (digit < 0) return undefined;
    amount = amount * base + BigInt(digit);
  }
  return amount;
}

function numberAmountOf(token: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const numerator = BigInt(whole + fraction);
  if (numerator <= 0n) return numerator === 0n ? 0n : undefined;
  const power = BigInt(exponent) - BigInt(fraction.length);
  // Ten to the power of its own length is more than the numerator: no integer is left of it.
  if (power > 60n || power < BigInt(-mantissa.length)) return undefined;
  if (power >= 0n) return numerator * 10n ** power;
  const denominator = 10n ** -power;
  return numerator % denominator === 0n ? numerator / denominator : undefined;
}

const digit = fc.constantFrom(...'0123456789'.split(''));
const zeros = fc.nat({ max: 45 }).map((count) => '0'.repeat(count));
const wholePart = fc.oneof(
  fc.constant('0'),
  fc.bigInt({ min: 1n, max: 10n ** 18n }).map(String),
  fc.bigInt({ min: max - 20n, max: max + 20n }).map(String),
  fc.bigInt({ min: 1n, max: 10n ** 45n }).map(String),
  fc.tuple(fc.integer({ min: 1, max: 999 }), zeros).map(([start, end]) => start + end),
);
const fractionPart = fc.oneof(
  fc.constant(''),
  fc.constant('.0'),
  fc.tuple(fc.array(digit, { maxLength: 20 }), zeros).map(([digits, end]) => `.${digits.join('')}${end}0`),
  zeros.map((start) => `.${start}1`),
);
const exponentPart = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  { weight: 6, arbitrary: fc.integer({ min: -50, max: 50 }).map((exponent) => `e${exponent}`) },
  fc.tuple(fc.constantFrom('e+', 'E+', 'E', 'E-'), zeros, fc.nat({ max: 50 })).map((parts) => parts.join('')),
  fc.tuple(fc.constantFrom('e', 'e-'), fc.bigInt({ min: 0n, max: 10n ** 30n })).map((parts) => parts.join('')),
);
const numberToken = fc
  .tuple(fc.constantFrom('', '', '', '', '', '', '-'), wholePart, fractionPart, exponentPart)
  .map((parts) => parts.join(''));
const textToken = fc
  .oneof(
    fc.bigInt({ min: 0n, max: 2n ** 130n }).map(String),
    fc.tuple(zeros, wholePart).map((parts) => parts.join('')),
    fc.bigInt({ min: 0n, max: 2n ** 130n }).map((amount) => `0x${amount.toString(16)}`),
    fc.tuple(zeros, fc.bigInt({ min: 0n, max: 2n ** 128n })).map(([start, amount]) => `0x${start}${amount.toString(16).toUpperCase()}`),
    numberToken,
    fc.string({ maxLength: 12 }),
  )
  .map((text) => JSON.stringify(text));
const amountToken = fc.oneof({ weight: 3, arbitrary: numberToken }, { weight: 2, arbitrary: textToken });

describe('amounts in bodies', () => {
  const [plan] = compileMethodPlans([TransactionService]).filter(({ method }) => method.name === 'SendTransaction');
  assert.ok(plan);
  const readRequest = compileRequestReader(plan, new CodecCompiler());
  const bounds = compileFieldBounds(plan.method.input);

  /** How the service reads it: the body, the message, the bounds, the domain's integer. */
  function amountAsRead(token: string): bigint | undefined {
    const reading = new Reading('evm', []);
    const body = objectOf(jsonFromBytes(Buffer.from(`{"value":${token}}`)));
    const message = readRequest(
      { params: { relayer_id: 'r1' }, query: '', body, ifMatch: [], prefer: [], lastEventId: [] },
      reading,
    ) as SendTransactionRequest;
    if (reading.problem !== null || bounds?.(message) !== undefined) return undefined;
    return message.transaction.case === 'evm' ? weiOf(message.transaction.value.value) : undefined;
  }

  it('generated amounts are read as an exact reference reads them', () => {
    const count = runs(2_000);
    let amounts = 0;
    fc.assert(
      fc.property(amountToken, (token) => {
        const meant = amountOf(token);
        assert.equal(amountAsRead(token), meant, token);
        if (meant !== undefined) amounts += 1;
      }),
      { seed: 1_337, numRuns: count },
    );
    assert.ok(amounts > count / 4 && amounts < (count * 3) / 4, `${amounts} of ${count} were amounts: the others test too little`);
  });
});
