import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { computeAddress, recoverAddress, Wallet } from 'ethers';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

it('local signer: ethers recovers its address from the signature, which has a low s and v 27 or 28', async () => {
  const vs = new Set<number>();
  for (let round = 0; round < 200; round += 1) {
    const privateKey = randomBytes(32);
    const signer = createLocalSigner({ id: 'test', privateKey });
    assert.equal(signer.address, computeAddress(`0x${privateKey.toString('hex')}`));
    const digest = randomBytes(32);
    const { r, s, v } = await signer.signDigest(digest);
    assert.match(r, /^[0-9a-f]{64}$/);
    assert.match(s, /^[0-9a-f]{64}$/);
    assert.ok(BigInt(`0x${s}`) <= order / 2n);
    assert.equal(recoverAddress(digest, { r: `0x${r}`, s: `0x${s}`, v }), signer.address);
    vs.add(v);
  }
  assert.deepEqual([...vs].sort(), [27, 28]);
});

it('local signer: signs with a copy of the key after the caller overwrites the bytes', async () => {
  const wallet = Wallet.createRandom();
  const privateKey = Buffer.from(wallet.privateKey.slice(2), 'hex');
  const signer = createLocalSigner({ id: 'test', privateKey });
  privateKey.fill(0);
  const digest = randomBytes(32);
  const { r, s, v } = await signer.signDigest(digest);
  assert.equal(recoverAddress(digest, { r: `0x${r}`, s: `0x${s}`, v }), wallet.address);
});

it('local signer: does not expose its key', () => {
  const privateKey = randomBytes(32);
  const signer = createLocalSigner({ id: 'test', privateKey });
  assert.deepEqual(Object.keys(signer).sort(), ['address', 'curve', 'id', 'signDigest']);
});

it('local signer: fails at load and names the native addon if it is missing', async () => {
  const module = new URL('../../../src/signers/local/local-signer.js', import.meta.url).href;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `await import(${JSON.stringify(module)})`], {
    // The addon's loader looks in this folder, which has no addon.
    env: { ...process.env, SECP256K1_PREBUILD: fileURLToPath(new URL('.', import.meta.url)) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.notEqual(code, 0);
  assert.match(stderr, /the native addon of secp256k1 is missing for this platform/);
});

it('local signer: rejects bytes that are not a key without quoting them', () => {
  for (const bytes of [new Uint8Array(32), new Uint8Array(31).fill(1), new Uint8Array(32).fill(255)]) {
    assert.throws(() => createLocalSigner({ id: 'test', privateKey: bytes }), { message: 'the private key is not a secp256k1 key' });
  }
});
