import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { compileMethodPlans } from '../../../src/api/contract/method-plan.js';

const plans = new Map(
  compileMethodPlans([TransactionService, NotificationService, RelayerService, SigningService]).map((plan) => [plan.label, plan]),
);
const planOf = (label: string) => plans.get(label) ?? assert.fail(label);

describe('plans of methods', () => {
  it('plans of methods: what sends has every option of its definition', () => {
    const { method, relayerNotFoundText, reasons, http, ...plan } = planOf('TransactionService.SendTransaction');
    assert.equal(method, TransactionService.method.sendTransaction);
    assert.deepEqual(plan, {
      rpcPath: '/relayer.v1.TransactionService/SendTransaction',
      label: 'TransactionService.SendTransaction',
      scope: 'transactions:write',
      rateLimited: true,
      maxBodyBytes: plan.maxBodyBytes,
      idempotent: true,
      answersSecret: false,
      writes: true,
      relayer: 'active',
    });
    assert.deepEqual(
      [http?.verb, http?.template, http?.hasBody, http?.responseField],
      ['POST', '/api/v1/relayers/{relayer_id}/transactions', true, 'transaction'],
    );
    assert.deepEqual(reasons, ['RECEIVER_NOT_ALLOWED', 'GAS_PRICE_CAP_EXCEEDED', 'EXTERNAL_ID_TAKEN']);
    assert.match(relayerNotFoundText('$&'), /^(?:Not found|.*\$&.*)$/);
  });

  it('plans of methods: only calls that change something or use a key are audited, by any verb', () => {
    for (const [label, isWriting] of [
      ['TransactionService.SendTransaction', true],
      ['TransactionService.CancelTransaction', true],
      ['TransactionService.GetTransaction', false],
      ['TransactionService.QuoteTransaction', false],
      ['SigningService.SignData', true],
      ['NotificationService.DeleteNotification', true],
      ['RelayerService.UpdateRelayer', true],
    ] as const)
      assert.equal(planOf(label).writes, isWriting, label);
    // A POST, since its request is large.
    assert.equal(planOf('TransactionService.QuoteTransaction').http?.verb, 'POST');
  });
});
