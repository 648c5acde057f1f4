import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Account, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import type { StellarOperation } from '../../src/core/records/stellar.js';
import { openStore } from '../../src/storage/open-store.js';
import { type StellarRig, startStellarRig } from '../support/engine-rig.js';
import { noFiles } from '../support/no-files.js';
import { payment, stellarKey } from '../support/stellar.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const instance = { version: '1.0.0', files: noFiles };
const receiver = stellarKey().address;
const pays = payment(receiver, 5_000_000n);

/** A call of a contract whose auth the simulation gives. */
function callOf({ node, key }: StellarRig): StellarOperation {
  const args = [{ kind: 'address', value: key.address } as const];
  return { kind: 'invoke_contract', contractAddress: node.ledger.testContract, functionName: 'greet', args, auth: undefined };
}

/** A transaction that waits because the account has nothing to spend; then the service has stopped, and the account has enough. */
async function startWaiting(test: TestContext, operationOf: (rig: StellarRig) => StellarOperation, isFirst = false) {
  const folder = await temporaryFolder();
  const fundsStroops = isFirst ? 10_000_000n : 10_000_101n;
  const rig = await startStellarRig({ folder, fundsStroops, accounts: { [receiver]: 10_000_000n } });
  const { ledger } = rig.node;
  if (!isFirst) {
    const before = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWithBlocks(before.transaction.id, 'confirmed');
  }
  const operations = [operationOf(rig)];
  const { id } = (await rig.send({ operations })).transaction;
  await waitFor('it to wait for funds', async () => /balance/.test((await rig.view(id)).transaction.statusReason ?? '') || undefined);
  const { transaction } = await rig.view(id);
  await rig.stop();
  ledger.fund(rig.key.address, 1_000_000_000n);
  const { content } = transaction;
  assert.ok(content.network === 'stellar' && content.kind === 'operations');
  const file = join(folder, 'relayer.db');
  return {
    id,
    rig,
    ledger,
    file,
    operations: content.operations.map((text) => xdr.Operation.fromXdr(text, 'base64')),
    async restart() {
      const { store, lost } = await openStore(`sqlite:${file}`, { log: silentLog, instance });
      const next = await startStellarRig({ folder, signer: rig.key.signer, ledger, store });
      test.after(() => next.stop());
      let reason: string | null = null;
      void lost.then(({ message }) => {
        reason = message;
      });
      return { ...next, lostBecause: () => reason };
    },
  };
}

/** An unsigned envelope of the relayer's account with its next number, as a caller of sign-transaction makes it. */
function envelopeOf(
  { rig, ledger }: Pick<Awaited<ReturnType<typeof startWaiting>>, 'rig' | 'ledger'>,
  operations: readonly xdr.Operation[],
  changed: (builder: TransactionBuilder) => unknown = () => undefined,
): string {
  const sequence = ledger.latest().state.accounts.get(rig.key.address)?.sequence ?? 0n;
  const builder = new TransactionBuilder(new Account(rig.key.address, String(sequence)), {
    fee: '100',
    networkPassphrase: ledger.passphrase,
  });
  for (const operation of operations) builder.addOperation(operation);
  builder.setTimebounds(0, 0);
  changed(builder);
  return builder.build().toXdr();
}

describe('a Stellar transaction of our own key that no stored attempt explains', { concurrency: 4 }, () => {
  for (const [name, operationOf, isFirst] of [
    ['a payment', () => pays, false],
    ['a call of a contract', callOf, false],
    ['the first payment of the account', () => pays, true],
  ] as const)
    it(`shows that the database lacks an attempt if the service has sent it: ${name} is not made again`, async (test) => {
      const waiting = await startWaiting(test, operationOf, isFirst);
      const { id, rig, ledger, file, restart } = waiting;
      await copyFile(file, `${file}.before`);
      const paying = await restart();
      await paying.untilWithBlocks(id, 'confirmed');
      await paying.stop();
      await copyFile(`${file}.before`, file);
      const sequence = () => ledger.latest().state.accounts.get(rig.key.address)?.sequence;
      const sent = sequence();
      const restored = await restart();
      const found = await waitFor('the finding', () => {
        ledger.close();
        return restored.lostBecause() ?? undefined;
      });
      assert.match(found, /run relayer restore$/);
      for (let closed = 0; closed < 5; closed += 1) ledger.close();
      assert.equal(sequence(), sent);
    });

  it('shows nothing if sign-transaction signed it for a caller: a payment with the same content is made', async (test) => {
    const waiting = await startWaiting(test, () => pays);
    const { id, rig, ledger, restart } = waiting;
    const signed = await rig.chain.signForeign?.sign(envelopeOf(waiting, waiting.operations), rig.relayer, rig.key.signer);
    ledger.submit(signed?.transaction ?? '');
    ledger.close();
    const next = await restart();
    await next.untilWithBlocks(id, 'confirmed');
    assert.equal(next.lostBecause(), null);
    assert.equal(await next.chain.balanceOf(receiver), 20_000_001n);
  });

  it('sign-transaction signs nothing that could be a transaction that the service sends', async (test) => {
    const waiting = await startWaiting(test, () => pays);
    const { rig } = waiting;
    const check = (text: string) => rig.chain.signForeign?.check(text, rig.relayer);
    check(envelopeOf(waiting, waiting.operations));
    check(envelopeOf(waiting, waiting.operations, (builder) => builder.setLedgerbounds(1, 1_000_000)));
    check(envelopeOf(waiting, waiting.operations, (builder) => builder.setLedgerbounds(2, 0)));
    const reason = /: unsigned_xdr has a minimum ledger of 1 and no maximum ledger, which marks transactions that the service sends/;
    const mark = (builder: TransactionBuilder) => builder.setLedgerbounds(1, 0);
    assert.throws(() => check(envelopeOf(waiting, waiting.operations, mark)), reason);
  });
});
