import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import type { StellarRequest } from '../../src/core/records/stellar.js';
import { type StellarRig, type StellarRigOptions, startStellarRig } from '../support/engine-rig.js';
import { payment, stellarKey } from '../support/stellar.js';
import { closeLedgers, sponsoredCall, untilReason } from '../support/stellar-calls.js';
import { createWallet } from '../support/stellar-wallet.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const receiver = stellarKey().address;
const accounts = { [receiver]: 10_000_000n };
const laterMs = (): number => Date.now() + 7_200_000;
/** What an account without entries must keep. */
const reserveStroops = 10_000_000n;
const lacksFunds = /txINSUFFICIENT_BALANCE/;

async function start(test: TestContext, options: Partial<StellarRigOptions> = {}) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts, ...options });
  test.after(() => rig.stop());
  return rig;
}

function contractCall({ node }: StellarRig): Partial<StellarRequest> {
  const args = [{ kind: 'u32', value: 1 } as const];
  const contractAddress = node.ledger.testContract;
  return { operations: [{ kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined }] };
}

/** Pays all that the relayer may spend to another account, in a transaction of that one, so that no sequence number of ours is used. */
function drain({ node, key }: StellarRig): void {
  const { ledger } = node;
  const balance = ledger.latest().state.accounts.get(key.address)?.balanceStroops ?? 0n;
  const wallet = createWallet(ledger);
  const amount = stroopsText(balance - reserveStroops);
  const pay = Operation.payment({ source: key.address, destination: wallet.keys.publicKey(), asset: Asset.native(), amount });
  const { submission } = ledger.submit(wallet.build([pay], { signers: [wallet.keys, key.keys] }).toXdr());
  assert.equal(submission.status, 'PENDING');
  ledger.close();
  assert.equal(ledger.latest().state.accounts.get(key.address)?.balanceStroops, reserveStroops);
}

function stroopsText(stroops: bigint): string {
  return `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, '0')}`;
}

/** Signs it while no node takes it, and removes the funds. */
async function signedWithoutFunds(rig: StellarRig, request: Partial<StellarRequest>): Promise<string> {
  rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
  const { transaction } = await rig.send({ ...request, ...(request.feeBump === true ? {} : { validUntilMs: laterMs() }) });
  await untilReason(rig, transaction.id, /TRY_AGAIN_LATER/);
  drain(rig);
  rig.node.setOutcome(null);
  await untilReason(rig, transaction.id, lacksFunds);
  return transaction.id;
}

describe('a signed transaction that the account can no longer pay', { concurrency: 4 }, () => {
  const kinds = {
    'a contract call': contractCall,
    'a sponsored contract call': ({ node: { ledger } }: StellarRig) => sponsoredCall(ledger, createWallet(ledger)),
  };
  for (const [name, requestOf] of Object.entries(kinds)) {
    it(`release slot: ${name} keeps its slot while the account lacks funds, and is paid once when it has them`, async (test) => {
      const rig = await start(test);
      const id = await signedWithoutFunds(rig, requestOf(rig));
      await closeLedgers(rig, 4);
      rig.clock.moveOn(600_000);
      await closeLedgers(rig, 20);
      const { transaction } = await rig.view(id);
      assert.deepEqual([transaction.status, transaction.failureReason], ['sent', null], transaction.statusReason ?? '');
      assert.match(transaction.statusReason ?? '', lacksFunds);
      rig.node.ledger.fund(rig.key.address, 1_000_000_000n);
      await rig.untilWithBlocks(id, 'confirmed');
      assert.equal((await rig.attempts(id)).length, 1);
    });
  }

  it('release slot: it makes place for another one, and the record names the funds', async (test) => {
    const rig = await start(test);
    const id = await signedWithoutFunds(rig, contractCall(rig));
    await rig.send({ operations: [payment(receiver, 2n)], validUntilMs: laterMs() });
    await closeLedgers(rig, 6);
    rig.clock.moveOn(60_000);
    await closeLedgers(rig, 2);
    rig.node.ledger.fund(rig.key.address, 1_000_000_000n);
    const { transaction } = await rig.untilWithBlocks(id, 'failed');
    assert.deepEqual(transaction.failureReason, 'insufficient_funds');
  });
});
