import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { DescMessage } from '@bufbuild/protobuf';
import { EvmPoliciesSchema, EvmTransactionRequestSchema } from '../../gen/relayer/v1/evm_pb.js';
import { SolanaPoliciesSchema, SolanaTransactionRequestSchema } from '../../gen/relayer/v1/solana_pb.js';
import {
  MemoSpecSchema,
  PaymentOperationSchema,
  StellarPoliciesSchema,
  StellarTransactionRequestSchema,
} from '../../gen/relayer/v1/stellar_pb.js';
import { helpOf } from '../../src/console/text/help.js';

const folder = 'src/console/views';
const views = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, 'utf8'));

describe('the help of the console', () => {
  it('help: is the comment of the definition, with its limits and defaults', () => {
    const { minBalance, maxTxDataSize } = SolanaPoliciesSchema.field;
    assert.equal(helpOf(maxTxDataSize), 'Maximum size in bytes, 1–1232. Default: 1232.');
    assert.equal(helpOf(minBalance), 'Minimum balance. Transactions wait if they would leave less than this.');
    assert.equal(
      helpOf(EvmTransactionRequestSchema.field.to),
      'Receiver: 0x and 40 hex digits; mixed case must be the EIP-55 checksum. Empty: data creates a contract.',
    );
  });

  it('help: of bytes states how many digits to enter', () => {
    assert.equal(helpOf(MemoSpecSchema.field.hash), 'A hash of 32 bytes. Enter 64 hex digits.');
  });

  it('help: of a list says how to separate its items', () => {
    assert.match(
      helpOf(EvmPoliciesSchema.field.whitelistReceivers),
      /^Allowed receivers, at most 10000\. .* Separate them by spaces or lines\.$/,
    );
  });

  it('help: says nothing about units and forms that only programs write', () => {
    const messages: readonly DescMessage[] = [
      EvmPoliciesSchema,
      EvmTransactionRequestSchema,
      StellarPoliciesSchema,
      StellarTransactionRequestSchema,
      PaymentOperationSchema,
      MemoSpecSchema,
      SolanaPoliciesSchema,
      SolanaTransactionRequestSchema,
    ];
    for (const { fields } of messages) {
      for (const field of fields) {
        const help = helpOf(field);
        assert.notEqual(help, '', field.toString());
        assert.doesNotMatch(help, /\bwei\b|in (stroops|lamports)|in REST|in JSON|decimal,|`|\bAbsent\b|means absent/, field.toString());
      }
    }
  });

  it('help: the bundle has the comments of all messages that views show', () => {
    const bundle = readFileSync('dist/console/console.js', 'utf8');
    const shown = new Set(views.flatMap((view) => [...view.matchAll(/(\w+)Schema\.field\b/g)].map(([, name]) => name)));
    assert.ok(shown.size >= 12, [...shown].join());
    for (const name of [...shown, 'EvmPolicies', 'StellarPolicies', 'SolanaPolicies', 'ApiKeyScope'])
      assert.ok(bundle.includes(`"relayer.v1.${name}.`), `${name} is not in the bundle`);
  });
});
