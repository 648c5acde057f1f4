import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Keypair, xdr } from '@stellar/stellar-sdk';
import { contentFromRequest } from '../../../src/chains/stellar/content.js';
import { authBytesOf } from '../../../src/chains/stellar/operations.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { StellarFields, StellarOperation } from '../../../src/core/records/stellar.js';
import { stellarNetwork, stellarRelayer, stellarRequest } from '../../support/stellar.js';

const keyOf = (seed: number) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, seed)).publicKey();
const [own, other, issuer] = [keyOf(1), keyOf(2), keyOf(3)];
const native = { kind: 'native' };
const creditOf = (code: string) => ({ kind: 'credit4', value: { code, issuer } });

function contentOf(type: string, fields: StellarFields) {
  const { policies } = stellarRelayer(own, { allowAccountChanges: ['signers'] });
  const operations: StellarOperation[] = [{ kind: 'listed', type, fields }];
  const context = { network: stellarNetwork(), account: own, policies: onNetwork('stellar', policies), nowMs: 0, earlier: null };
  const { content } = contentFromRequest(stellarRequest({ operations }), context);
  return content.kind === 'operations' ? content : assert.fail(content.kind);
}

function bodyOf(type: string, fields: StellarFields): xdr.OperationBody {
  return xdr.Operation.fromXdr(contentOf(type, fields).operations[0] ?? assert.fail(), 'base64').body;
}

/** The first field that is wrong, and why. */
function problemOf(type: string, fields: StellarFields): string {
  try {
    contentOf(type, fields);
  } catch (error) {
    assert.ok(error instanceof DomainError);
    return error.message;
  }
  return 'it is accepted';
}

const shown = (asset: xdr.Asset): string => Asset.fromOperation(asset).toString();

describe('listed operations', () => {
  it('listed operations: a path payment has each amount, asset and step in its place', () => {
    const path = [creditOf('EUR'), native];
    const receive = bodyOf('path_payment_strict_receive', {
      ...{ send_asset: native, send_max: 71n, destination: other, dest_asset: creditOf('USD'), dest_amount: 13n, path },
    });
    assert.ok(receive.type === 'pathPaymentStrictReceive');
    const { sendAsset, sendMax, destAsset, destAmount, path: steps } = receive.pathPaymentStrictReceiveOp;
    const assets = ['native', `USD:${issuer}`, `EUR:${issuer}`, 'native'];
    assert.deepEqual([sendMax, destAmount, ...[sendAsset, destAsset, ...steps].map(shown)], [71n, 13n, ...assets]);
    const send = bodyOf('path_payment_strict_send', {
      ...{ send_asset: native, send_amount: 17n, destination: other, dest_asset: creditOf('USD'), dest_min: 19n, path },
    });
    assert.ok(send.type === 'pathPaymentStrictSend');
    const sent = send.pathPaymentStrictSendOp;
    assert.deepEqual([sent.sendAmount, sent.destMin, ...[sent.sendAsset, sent.destAsset, ...sent.path].map(shown)], [17n, 19n, ...assets]);
  });

  it('listed operations: the key of a signer must be given', () => {
    const keys = 'ed25519_public_key, sha256_hash, pre_auth_tx or ed25519_signed_payload';
    assert.equal(problemOf('set_options', { signer: { weight: 1 } }), `operations[0].signer must have ${keys}`);
    const body = bodyOf('set_options', { signer: { kind: 'ed25519_public_key', value: other, weight: 7 } });
    assert.ok(body.type === 'setOptions');
    assert.equal(body.setOptionsOp.signer?.weight, 7);
  });

  it('listed operations: what must have fields is no list, no bytes and no text', () => {
    for (const asset of [[native], new Uint8Array(4), 'native', 7n])
      assert.match(problemOf('path_payment_strict_receive', { send_asset: asset }), /^operations\[0\]\.send_asset /, String(asset));
  });

  it('listed operations: what keeps entries alive declares them, and has no resource fee of its own', () => {
    const { sorobanData } = contentOf('extend_footprint_ttl', {
      extend_to: 17_280,
      keys: ['AAAAB6Gyw9Tl9gcYKTpLXG1+j5ChssPU5fYHGCk6S1xtfo+Q'],
    });
    assert.notEqual(sorobanData, null);
    const data = xdr.SorobanTransactionData.fromXdr(sorobanData ?? '', 'base64');
    assert.deepEqual([data.resourceFee, data.resources.footprint.readOnly.length, data.resources.footprint.readWrite.length], [0n, 1, 0]);
  });

  it('operations: only authorization entries that a caller gives count against the limit of their bytes', () => {
    const entries = ['AAAA', 'AAAAAAAA', 'AAA='];
    const call = { kind: 'upload_wasm', wasm: undefined } as const;
    assert.equal(authBytesOf({ ...call, auth: { kind: 'xdr', entries } }), 3 + 6 + 3);
    assert.deepEqual([authBytesOf({ ...call, auth: { kind: 'none' } }), authBytesOf({ ...call, auth: undefined })], [0, 0]);
    assert.equal(authBytesOf({ kind: 'unset' }), 0);
  });
});
