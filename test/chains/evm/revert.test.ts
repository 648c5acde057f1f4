import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder } from 'ethers';
import fc from 'fast-check';
import { reasonFromNodeError, reasonFromRevertData } from '../../../src/chains/evm/revert.js';
import { nodeText } from '../../../src/chains/rpc/answer.js';
import { NodeError } from '../../../src/chains/rpc/node-error.js';

const abi = AbiCoder.defaultAbiCoder();
const errorData = (text: string): string => `0x08c379a0${abi.encode(['string'], [text]).slice(2)}`;
const panicData = (code: bigint): string => `0x4e487b71${abi.encode(['uint256'], [code]).slice(2)}`;

describe('revert data', () => {
  it('revert data: Error(string) yields its text, made safe', () => {
    assert.equal(reasonFromRevertData(errorData('not owner — só')), 'not owner — só');
    assert.equal(reasonFromRevertData(errorData('a\nb\u202ec')), 'a\\u{a}b\\u{202e}c');
    assert.ok((reasonFromRevertData(errorData('x'.repeat(5000)))?.length ?? 0) <= 1024);
  });

  it('revert data: Panic yields its meaning', () => {
    assert.equal(reasonFromRevertData(panicData(0x11n)), 'panic 0x11: arithmetic overflow');
    assert.equal(reasonFromRevertData(panicData(0x99n)), 'panic 0x99');
  });

  it('revert data: a custom error yields its selector', () => {
    assert.equal(reasonFromRevertData('0xdeadbeef00'), 'custom error 0xdeadbeef');
  });

  it('revert data: yields null if empty', () => {
    assert.equal(reasonFromRevertData('0x'), null);
  });

  it('revert data: does not throw on hostile input', () => {
    assert.equal(reasonFromRevertData(`0x08c379a0${'ff'.repeat(64)}`), 'malformed Error(string)');
    fc.assert(
      fc.property(fc.constantFrom('08c379a0', '4e487b71', ''), fc.uint8Array({ maxLength: 200 }), (selector, bytes) => {
        reasonFromRevertData(`0x${selector}${Buffer.from(bytes).toString('hex')}`);
      }),
    );
  });
});

describe('reason of a node’s error', () => {
  const reason = (message: string, data: string | null = null): string | null =>
    reasonFromNodeError(new NodeError(message, { code: 3, data, isAboutNode: false, isOverload: false }));

  it('reason of a node’s error: comes from the data, else from the text after the usual prefix', () => {
    assert.equal(reason('execution reverted: other', errorData('mine')), 'mine');
    assert.equal(reason('execution reverted: not owner'), 'not owner');
    assert.equal(reason('execution reverted'), null);
    assert.equal(reason('invalid opcode: INVALID'), 'invalid opcode: INVALID');
  });
});

describe('nodeText', () => {
  it('nodeText: returns at most 1 KiB without control characters, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
        const safe = nodeText(text);
        assert.ok(Buffer.byteLength(safe) <= 1024);
        assert.doesNotMatch(safe, /[\p{Cc}\p{Cf}\p{Cs}]/u);
      }),
    );
  });

  it('nodeText: keeps harmless text unchanged', () => {
    assert.equal(nodeText('nonce too low: next nonce 8, tx nonce 7'), 'nonce too low: next nonce 8, tx nonce 7');
  });
});
