import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, ErrorFragment, Interface } from 'ethers';
import fc from 'fast-check';
import { knownErrors } from '../../../src/chains/evm/known-errors.js';
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
    assert.equal(reasonFromRevertData(panicData(0n)), 'panic 0x0: failed check of the compiler');
    assert.equal(reasonFromRevertData(panicData(0x99n)), 'panic 0x99');
  });

  it('revert data: a custom error yields its selector', () => {
    assert.equal(reasonFromRevertData('0xdeadbeef00'), 'custom error 0xdeadbeef');
  });

  it('revert data: a known error yields its name, its meaning and its arguments', () => {
    const account = `0x${'ab'.repeat(20)}`;
    const data = new Interface(['error ERC20InsufficientBalance(address,uint256,uint256)']).encodeErrorResult('ERC20InsufficientBalance', [
      account,
      1n,
      2n ** 256n - 1n,
    ]);
    const meaning = 'ERC20InsufficientBalance: the sender has fewer tokens than needed';
    assert.equal(reasonFromRevertData(data), `${meaning} (sender ${account}, balance 1, needed ${2n ** 256n - 1n})`);
    assert.equal(reasonFromRevertData(data.slice(0, 10)), meaning);
    assert.equal(reasonFromRevertData(data.slice(0, -2)), meaning);
    assert.equal(reasonFromRevertData('0xd93c0665'), 'EnforcedPause: the contract is paused');
    const role = `0x${'cd'.repeat(32)}`;
    const denied = `0xe2517d3f${'0'.repeat(24)}${account.slice(2)}${role.slice(2)}`;
    assert.match(reasonFromRevertData(denied) ?? '', new RegExp(`\\(account ${account}, role ${role}\\)$`));
  });

  it('revert data: each known error has the selector of its signature and arguments of one word', () => {
    for (const [selector, { signature }] of Object.entries(knownErrors)) {
      const fragment = ErrorFragment.from(`error ${signature}`);
      assert.equal(fragment.selector, `0x${selector}`, signature);
      for (const { name, type } of fragment.inputs) {
        assert.match(type, /^(address|uint256|bytes32)$/, signature);
        assert.notEqual(name, '', signature);
      }
    }
  });

  it('revert data: yields null if empty', () => {
    assert.equal(reasonFromRevertData('0x'), null);
  });

  it('revert data: does not throw on hostile input', () => {
    assert.equal(reasonFromRevertData(`0x08c379a0${'ff'.repeat(64)}`), 'malformed Error(string)');
    fc.assert(
      fc.property(
        fc.constantFrom('08c379a0', '4e487b71', ...Object.keys(knownErrors), ''),
        fc.uint8Array({ maxLength: 200 }),
        (selector, bytes) => {
          reasonFromRevertData(`0x${selector}${Buffer.from(bytes).toString('hex')}`);
        },
      ),
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
