import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/core/work/clock.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createHostedSigner } from '../../src/signers/hosted/hosted-signer.js';
import { createProviderGate } from '../../src/signers/hosted/provider-gate.js';
import { createEd25519Signer } from '../../src/signers/local/ed25519-signer.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { signerContract } from '../contracts/signer.contract.js';
import { createFakeProvider } from '../support/fake-provider.js';
import { silentLog } from '../support/stored-samples.js';

signerContract({
  kind: 'local',
  curves: ['secp256k1', 'ed25519'],
  open: async (curve) =>
    curve === 'secp256k1'
      ? createLocalSigner({ id: 's', privateKey: randomBytes(32) })
      : createEd25519Signer({ id: 's', seed: randomBytes(32) }),
});

for (const form of ['fixed', 'der'] as const) {
  signerContract({
    kind: `hosted, ${form}`,
    curves: form === 'der' ? ['secp256k1'] : ['secp256k1', 'ed25519'],
    async open(curve, test) {
      const provider = createFakeProvider(curve, { form });
      const time = { clock: systemClock, timers: systemTimers };
      const gate = createProviderGate(provider.limits, time);
      const parts = { id: 's', provider, publicKey: await provider.publicKey(new AbortController().signal), gate, time, log: silentLog };
      const { signer, close } = createHostedSigner(parts);
      test.after(close);
      return signer;
    },
  });
}
