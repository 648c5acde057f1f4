import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { keyKinds } from '../../src/app/key-kinds.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Ed25519Signer, Secp256k1Signer } from '../../src/core/ports/signer.js';
import type { EvmSignature } from '../../src/core/records/evm.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { systemClock } from '../../src/core/work/clock.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createHostedSigner } from '../../src/signers/hosted/hosted-signer.js';
import { createProviderGate } from '../../src/signers/hosted/provider-gate.js';
import { createPkcs11Provider } from '../../src/signers/pkcs11/provider.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, startEvmRig, startSolanaRig, startStellarRig, untilReason } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { fixedSecrets } from '../support/fixed-secrets.js';
import { noSoftHsm, softHsm } from '../support/soft-hsm.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { payment, stellarKey } from '../support/stellar.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** A hosted key whose signatures the test decides about. */
interface Hosted {
  /** Called before each signature, with the number of signatures before it; may throw or wait. */
  before: (count: number) => Promise<void> | void;
  count: number;
}

const away = new DomainError('unavailable', 'SIGNER_UNAVAILABLE', 'signer s1 cannot sign now: the fake is not reachable', {
  metadata: { signer_id: 's1' },
  retryAfterMs: 250,
});
const awayReason = 'waiting: queued for signing: signer s1 cannot sign now: the fake is not reachable; retrying';

let anvil: Anvil;
before(async () => {
  anvil = await startAnvil({ noMining: true });
});
after(() => anvil.stop());

async function startRig(test: TestContext, changedChain = (chain: Chain): Chain => chain): Promise<{ rig: EvmRig; hosted: Hosted }> {
  const hosted: Hosted = { before: () => undefined, count: 0 };
  const changedSigner = (local: Secp256k1Signer): Secp256k1Signer => ({
    ...local,
    isHosted: true,
    async signDigest(digest): Promise<EvmSignature> {
      hosted.count += 1;
      await hosted.before(hosted.count - 1);
      return local.signDigest(digest);
    },
  });
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), changedSigner, changedChain });
  test.after(async () => {
    hosted.before = () => undefined;
    await rig.stop();
  });
  return { rig, hosted };
}

async function sendMany(rig: EvmRig, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push((await rig.send({ valueWei: BigInt(index + 1) })).transaction.id);
  return ids;
}

/** The nonces of these transactions, which are all confirmed, and those that the account has on the chain. */
async function requireNoGap(rig: EvmRig, ids: readonly string[]): Promise<void> {
  const nonces: bigint[] = [];
  for (const id of ids) nonces.push((await rig.untilWithBlocks(id, 'confirmed')).transaction.nonce ?? -1n);
  assert.deepEqual(
    nonces,
    ids.map((_, index) => BigInt(index)),
  );
  for (const id of ids)
    assert.deepEqual(
      (await rig.attempts(id)).map(({ purpose }) => purpose),
      ['content'],
    );
}

/** A promise that the test resolves. */
function gate(): { readonly closed: Promise<void>; open(): void } {
  let open = (): void => {};
  const closed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { closed, open };
}

describe('a lane with a hosted key', () => {
  it('signer away: transactions wait without a nonce and say why; the signed ones are confirmed; all are sent in order when it is back', async (test) => {
    const { rig, hosted } = await startRig(test);
    const [first = ''] = await sendMany(rig, 1);
    await rig.until(first, 'submitted');
    hosted.before = () => Promise.reject(away);
    const waiting = await sendMany(rig, 5);
    for (const id of waiting) await untilReason(rig, id, awayReason);
    const [one] = waiting;
    assert.equal((await rig.view(one ?? '')).transaction.nonce, null);
    assert.equal((await rig.send()).transaction.statusReason, awayReason, 'a new one says so at once');
    await rig.untilWithBlocks(first, 'confirmed');
    hosted.before = () => undefined;
    await requireNoGap(rig, [first, ...waiting]);
  });

  it('signer away: a transaction that nodes were slow to estimate says why it waits, too', async (test) => {
    const slow = gate();
    let slowDrafts = 0;
    const { rig, hosted } = await startRig(test, (chain) => ({
      ...chain,
      async draft(request) {
        const { content } = request;
        if (content !== 'filler' && content.network === 'evm' && content.valueWei === 77n) {
          slowDrafts += 1;
          await slow.closed;
        }
        return chain.draft(request);
      },
    }));
    hosted.before = () => Promise.reject(away);
    const late = (await rig.send({ valueWei: 77n })).transaction.id;
    await waitFor('the draft to begin', async () => slowDrafts > 0 || undefined);
    const [quick = ''] = await sendMany(rig, 1);
    await untilReason(rig, quick, awayReason);
    slow.open();
    await untilReason(rig, late, awayReason);
  });

  it('a signature that fails within a batch leaves no gap: those before it are stored, those after it are signed again', async (test) => {
    const { rig, hosted } = await startRig(test);
    const hold = gate();
    // The first signature waits, so that the others become one batch.
    hosted.before = (count) => (count === 0 ? hold.closed : undefined);
    const [first = ''] = await sendMany(rig, 1);
    await waitFor('the first signature', async () => hosted.count > 0 || undefined);
    const rest = await sendMany(rig, 20);
    const failures = new Set([5, 9, 30]);
    hosted.before = (count) => (failures.delete(count) ? Promise.reject(away) : undefined);
    hold.open();
    await requireNoGap(rig, [first, ...rest]);
    assert.equal(failures.size, 0);
  });

  it('slow signer: while signatures are pending, blocks are settled, and what waits for its signature can be canceled', async (test) => {
    const { rig, hosted } = await startRig(test);
    const [first = ''] = await sendMany(rig, 1);
    await rig.until(first, 'submitted');
    const hold = gate();
    const before = hosted.count;
    hosted.before = () => hold.closed;
    const pending = await sendMany(rig, 3);
    await waitFor('the signatures to be asked for', async () => hosted.count > before || undefined);
    await rig.untilWithBlocks(first, 'confirmed');
    const [canceled = '', second = '', third = ''] = pending;
    const { transaction } = await cancelTransaction(rig.deps, rig.relayer, canceled);
    assert.equal(transaction.status, 'canceled');
    hosted.before = () => undefined;
    hold.open();
    await requireNoGap(rig, [first, second, third]);
    assert.deepEqual(await rig.attempts(canceled), [], 'the signature of a canceled transaction is not stored');
  });

  it('replace: stores no content if the relayer is paused or disabled while it is signed; a cancel is stored', async (test) => {
    const { rig, hosted } = await startRig(test);
    const [id = ''] = await sendMany(rig, 1);
    await rig.until(id, 'submitted');
    const entry = { relayer: rig.relayer, chain: rig.chain, signer: rig.directory.signerOf(rig.relayer) };
    const stops: readonly [string, () => void][] = [
      ['RELAYER_PAUSED', () => rig.directory.put({ ...entry, relayer: { ...rig.relayer, paused: true } })],
      ['RELAYER_DISABLED', () => rig.directory.setDisabled(rig.relayer.id, 'for a test')],
    ];
    for (const [reason, stop] of stops) {
      hosted.before = stop;
      await assert.rejects(replaceTransaction(rig.deps, rig.relayer, id, wanted({ valueWei: 99n })), { kind: 'inactive', reason });
      assert.equal((await rig.attempts(id)).length, 1, `${reason}: the signed content is not stored`);
      rig.directory.put(entry);
    }
    hosted.before = () => rig.directory.put({ ...entry, relayer: { ...rig.relayer, paused: true } });
    await cancelTransaction(rig.deps, rig.relayer, id);
    assert.deepEqual(
      (await rig.attempts(id)).map(({ purpose }) => purpose),
      ['content', 'cancel'],
    );
  });

  it('replace: stores no content whose valid_until passes while it is signed', async (test) => {
    const { rig, hosted } = await startRig(test);
    const [id = ''] = await sendMany(rig, 1);
    await rig.until(id, 'submitted');
    hosted.before = () => rig.clock.moveOn(61_000);
    const request = wanted({ valueWei: 99n }, rig.clock.nowMs() + 60_000);
    await assert.rejects(replaceTransaction(rig.deps, rig.relayer, id, request), {
      reason: 'FIELD_INVALID',
      message: 'valid_until must not be in the past',
    });
    hosted.before = () => undefined;
    assert.equal((await rig.attempts(id)).length, 1);
    await rig.untilWithBlocks(id, 'confirmed');
  });

  it('a self-transfer that waits for its signature holds up no other task', async (test) => {
    const { rig, hosted } = await startRig(test);
    const validUntilMs = rig.clock.nowMs() + 60_000;
    const [first = ''] = await sendMany(rig, 1);
    await rig.until(first, 'submitted');
    const expiring = (await rig.send({ valueWei: 7n }, validUntilMs)).transaction.id;
    await rig.until(expiring, 'submitted');
    const hold = gate();
    const before = hosted.count;
    hosted.before = () => hold.closed;
    rig.clock.moveOn(61_000);
    await waitFor('a signature to be asked for', async () => hosted.count > before || undefined);
    await rig.untilWithBlocks(first, 'confirmed');
    hosted.before = () => undefined;
    hold.open();
    await rig.untilWithBlocks(expiring, 'confirmed').catch(async () => {
      assert.equal((await rig.view(expiring)).transaction.status, 'expired');
    });
  });
});

describe('a lane with a key in an HSM', { skip: noSoftHsm ?? false }, () => {
  async function openHsm(test: TestContext): Promise<Ed25519Signer> {
    const { modulePath, tokenLabel, pin, labelOf } = await softHsm();
    const place = { modulePath, tokenLabel, slot: null, keyLabel: labelOf('ed25519'), keyId: null, secrets: fixedSecrets({ pin }) };
    const provider = createPkcs11Provider(place, keyKinds.pkcs11.limits);
    const time = { clock: systemClock, timers: systemTimers };
    const publicKey = await provider.publicKey(AbortSignal.timeout(10_000));
    const gate = createProviderGate(provider.limits, time);
    const { signer, close } = createHostedSigner({ id: 's1', provider, publicKey, gate, time, log: silentLog });
    test.after(close);
    assert.ok(signer.curve === 'ed25519');
    return signer;
  }

  it('Stellar: payments are confirmed on the local ledger', async (test) => {
    const receiver = stellarKey().address;
    const rig = await startStellarRig({
      folder: await temporaryFolder(),
      accounts: { [receiver]: 100_000_000n },
      signer: await openHsm(test),
    });
    test.after(() => rig.stop());
    for (const amount of [1n, 2n, 3n]) {
      const { transaction } = await rig.send({ operations: [payment(receiver, amount)] });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
    }
  });

  it('Solana: transfers are confirmed on the local cluster', async (test) => {
    const rig = await startSolanaRig({ folder: await temporaryFolder(), signer: await openHsm(test) });
    test.after(() => rig.stop());
    for (const lamports of [5_000_000n, 6_000_000n, 7_000_000n]) {
      const instruction = transferInstruction(rig.key.address, solanaKey().address, lamports);
      const { transaction } = await rig.send({ instructions: [instruction] });
      await rig.untilWithBlocks(transaction.id, 'confirmed');
    }
  });
});
