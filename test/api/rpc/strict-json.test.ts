import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type DescMessage, equals, fromJsonString, type Message, type MessageShape } from '@bufbuild/protobuf';
import { UpdateRelayerRequestSchema } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SendTransactionRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import type { Call } from '../../../src/api/contract/call.js';
import { createStrictJson } from '../../../src/api/rpc/strict-json.js';
import { randomJson, requestMessages, respelled, withMistake } from '../../support/random-json.js';
import { createRandom } from '../../support/seeded-random.js';

const rounds = 40;

/** How a plain unary call is read, and how everything else is; each throws the problem of the body. */
const ways = {
  'a plain unary message': <D extends DescMessage>(desc: D, text: string): MessageShape<D> => {
    const call: Pick<Call, 'bodyProblem' | 'warnings'> = { bodyProblem: null, warnings: [] };
    const message = createStrictJson(desc, undefined).read(Buffer.from(text), call);
    if (call.bodyProblem !== null) throw call.bodyProblem;
    return message as MessageShape<D>;
  },
  'a compressed message or a stream': <D extends DescMessage>(desc: D, text: string): MessageShape<D> => {
    const { options } = createStrictJson(desc, undefined);
    const { textDecoder } = options as { readonly textDecoder: { decode(bytes: Uint8Array): string } };
    return fromJsonString(desc, textDecoder.decode(Buffer.from(text)), options);
  },
};

for (const [way, read] of Object.entries(ways)) {
  it(`JSON over RPC, ${way}: an amount is read to the last digit in every form of a number`, () => {
    const forms = [
      '9007199254740993',
      '9007199254740993.0',
      '9007199254740993e0',
      '9.007199254740993e15',
      '0.9007199254740993E+16',
      '900719925474099.3e1',
    ];
    for (const form of [...forms, '"9007199254740993"', '\n 9.007199254740993e15']) {
      const text = `{"relayer_id":"r","stellar":{"operations":[{"payment":{"amount":${form}}}]}}`;
      const { transaction } = read(SendTransactionRequestSchema, text);
      assert.ok(transaction.case === 'stellar');
      const operation = transaction.value.operations[0]?.operation;
      assert.ok(operation?.case === 'payment');
      assert.equal(operation.value.amount, 9_007_199_254_740_993n, form);
    }
  });

  it(`JSON over RPC, ${way}: refuses a number that a double would round to an integer`, () => {
    for (const form of ['1.00000000000000000001', '0.99999999999999999999', '21000.000000000000000001', '1e-400'])
      assert.throws(
        () => read(SendTransactionRequestSchema, `{"relayer_id":"r","evm":{"gas_limit":${form}}}`),
        /must be an integer from/,
        form,
      );
  });

  it(`JSON over RPC, ${way}: an empty list that would allow all is refused under every spelling of its name`, () => {
    for (const name of [
      'whitelist_receivers',
      'whitelistReceivers',
      'whitelist\\u005freceivers',
      'whitelist\\u005Freceivers',
      '\\u0077hitelistReceivers',
    ])
      assert.throws(() => read(UpdateRelayerRequestSchema, `{"relayer_id":"r","evm":{"${name}":[]}}`), /must not be empty/, name);
  });

  it(`JSON over RPC, ${way}: an update mask may have the names of proto or of JSON`, () => {
    for (const mask of ['custom_rpc_urls,name', 'customRpcUrls,name']) {
      // The list that must not be empty makes the plain way read the message against its definition, too.
      const text = `{"relayer_id":"r","updateMask":"${mask}","evm":{"whitelist_receivers":["0x"]}}`;
      const { updateMask } = read(UpdateRelayerRequestSchema, text);
      assert.deepEqual(updateMask?.paths, ['custom_rpc_urls', 'name']);
    }
  });
}

it('JSON over RPC: a message in any spelling is read as the same message both ways, or refused by both', () => {
  const random = createRandom(3);
  const [plain, compressed] = Object.values(ways);
  let [readByBoth, refusedByBoth] = [0, 0];
  for (const desc of requestMessages) {
    for (let round = 0; round < rounds; round += 1) {
      const json = randomJson(desc, random, 0);
      const text = respelled(JSON.stringify(random.chance(0.5) ? withMistake(json, random) : json), random);
      const [one, other] = [plain, compressed].map((read) => messageIf(() => read?.(desc, text)));
      const shown = `${desc.typeName} ${text}`;
      assert.equal(one === null, other === null, shown);
      if (one == null || other == null) {
        refusedByBoth += 1;
        continue;
      }
      readByBoth += 1;
      assert.ok(equals(desc, one, other), shown);
    }
  }
  assert.ok(readByBoth > 200 && refusedByBoth > 200, `${readByBoth} messages were read, ${refusedByBoth} refused`);
});

/** Returns null if the message is refused. */
function messageIf(read: () => Message | undefined): Message | null | undefined {
  try {
    return read();
  } catch {
    return null;
  }
}
