import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { keyKinds } from '../../src/app/key-kinds.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Ed25519Signer } from '../../src/core/ports/signer.js';
import { systemClock } from '../../src/core/work/clock.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createHostedSigner } from '../../src/signers/hosted/hosted-signer.js';
import { createProviderGate } from '../../src/signers/hosted/provider-gate.js';
import { createEd25519Signer } from '../../src/signers/local/ed25519-signer.js';
import { createPkcs11Provider } from '../../src/signers/pkcs11/provider.js';
import { type EngineRig, startSolanaRig, startStellarRig, untilReason } from '../support/engine-rig.js';
import { fixedSecrets } from '../support/fixed-secrets.js';
import { noSoftHsm, type SoftHsm, softHsm } from '../support/soft-hsm.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { payment, stellarKey } from '../support/stellar.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** The engine on a network of ed25519 keys, and sends that differ from one another. */
interface Rig extends EngineRig {
  sendOne(): Promise<string>;
  makeBlock(): unknown;
}

const networks: Readonly<Record<string, (signer: Ed25519Signer) => Promise<Rig>>> = {
  async Stellar(signer) {
    const receiver = stellarKey().address;
    const rig = await startStellarRig({ folder: await temporaryFolder(), accounts: { [receiver]: 100_000_000n }, signer });
    let amount = 0n;
    return {
      ...rig,
      makeBlock: () => rig.node.ledger.close(),
      async sendOne() {
        amount += 1n;
        return (await rig.send({ operations: [payment(receiver, amount)] })).transaction.id;
      },
    };
  },
  async Solana(signer) {
    const rig = await startSolanaRig({ folder: await temporaryFolder(), signer });
    let lamports = 5_000_000n;
    return {
      ...rig,
      makeBlock: () => rig.solana.chain.advance(),
      async sendOne() {
        lamports += 1n;
        const instruction = transferInstruction(rig.key.address, solanaKey().address, lamports);
        return (await rig.send({ instructions: [instruction] })).transaction.id;
      },
    };
  },
};

async function sendMany(rig: Rig, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await rig.sendOne());
  return ids;
}

async function openHsm(hsm: SoftHsm, test: TestContext): Promise<Ed25519Signer> {
  const { modulePath, tokenLabel, pin, labelOf } = hsm;
  const provider = createPkcs11Provider(
    {
      modulePath,
      tokenLabel,
      slot: null,
      keyLabel: labelOf('ed25519'),
      keyId: null,
      secrets: fixedSecrets({ pin }),
    },
    keyKinds.pkcs11.limits,
  );
  const time = { clock: systemClock, timers: systemTimers };
  // After the token was away, the first call finds that the module must be initialized again.
  const publicKey = await waitFor('the public key', () => provider.publicKey(AbortSignal.timeout(10_000)).catch(() => undefined));
  const gate = createProviderGate(provider.limits, time);
  const { signer, close } = createHostedSigner({ id: 's1', provider, publicKey, gate, time, log: silentLog });
  test.after(close);
  assert.ok(signer.curve === 'ed25519');
  return signer;
}

for (const [network, start] of Object.entries(networks))
  describe(`a signer that is away: ${network}`, () => {
    it(`${network}: transactions wait unsigned and say why, what is signed is confirmed, and all are sent when the signer is back`, async (test) => {
      const local = createEd25519Signer({ id: 's1', seed: randomBytes(32) });
      let isAway = false;
      let refused = 0;
      const signer: Ed25519Signer = {
        ...local,
        isHosted: true,
        async sign(message) {
          if (!isAway) return local.sign(message);
          refused += 1;
          const metadata = { signer_id: 's1' };
          throw new DomainError('unavailable', 'SIGNER_UNAVAILABLE', 'signer s1 cannot sign now: the fake is not reachable', { metadata });
        },
      };
      const rig = await start(signer);
      test.after(() => rig.stop());
      const signed = await rig.sendOne();
      await rig.until(signed, 'submitted');
      isAway = true;
      const waiting = await sendMany(rig, 3);
      await rig.untilWithBlocks(signed, 'confirmed');
      for (const id of waiting)
        await untilReason(rig, id, 'waiting: queued for signing: signer s1 cannot sign now: the fake is not reachable; retrying');
      assert.ok(refused > 0);
      for (const id of waiting) {
        const { nonce, attempts } = { ...(await rig.view(id)).transaction, attempts: await rig.attempts(id) };
        assert.deepEqual([nonce, attempts], [null, []]);
      }
      isAway = false;
      for (const id of waiting) await rig.untilWithBlocks(id, 'confirmed');
    });

    it(`${network}: a token that is removed and inserted while transactions are sent costs none of them`, {
      skip: noSoftHsm ?? false,
    }, async (test) => {
      const hsm = await softHsm();
      const rig = await start(await openHsm(hsm, test));
      test.after(() => rig.stop());
      const ids = await sendMany(rig, 3);
      await hsm.remove();
      try {
        // The module may sign with what it has read before.
        await waitFor('a transaction to wait for the HSM', async () => {
          if (ids.length < 10) ids.push(await rig.sendOne());
          rig.makeBlock();
          const reasons = await Promise.all(ids.map(async (one) => (await rig.view(one)).transaction.statusReason));
          return reasons.some((reason) => reason?.includes('signer s1 cannot sign now: the HSM is not reachable')) || undefined;
        });
        ids.push(...(await sendMany(rig, 2)));
      } finally {
        await hsm.insert();
      }
      ids.push(...(await sendMany(rig, 2)));
      for (const id of ids) await rig.untilWithBlocks(id, 'confirmed');
      for (const id of ids) assert.equal((await rig.view(id)).transaction.failureReason, null);
    });
  });
