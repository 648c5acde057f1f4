import { createRequire } from 'node:module';
import { createKeccak } from 'hash-wasm';

const secp256k1 = createRequire(import.meta.url)('secp256k1/bindings') as typeof import('secp256k1');
const hasher = await createKeccak(256);
const key = Buffer.alloc(32, 0x11);

/** The minimum work to sign typed data: two hex writes, one hash, one native signature. No checks at all. */
export function signSample(domainSeparator: string, hashStructMessage: string): { r: string; s: string; v: number; sig: string } {
  const preimage = Buffer.allocUnsafe(66);
  preimage[0] = 0x19;
  preimage[1] = 0x01;
  preimage.write(domainSeparator.slice(2), 2, 'hex');
  preimage.write(hashStructMessage.slice(2), 34, 'hex');
  const { signature, recid } = secp256k1.ecdsaSign(hasher.init().update(preimage).digest('binary'), key);
  const hex = Buffer.from(signature).toString('hex');
  const v = 27 + recid;
  return { r: hex.slice(0, 64), s: hex.slice(64), v, sig: hex + v.toString(16) };
}
