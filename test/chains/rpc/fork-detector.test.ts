import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoint } from '../../../src/chains/rpc/endpoint.js';
import { createForkDetector, type ForkDetector } from '../../../src/chains/rpc/fork-detector.js';
import { rememberingLog } from '../../support/evm.js';

type Asked = Pick<Endpoint, 'host' | 'blockAt' | 'isTripped'>;

const hashOf = (branch: string, height: bigint): string => `${branch}${height}`;

const blockOf = (branch: string, height: bigint) => ({ hash: hashOf(branch, height), parentHash: hashOf(branch, height - 1n) });

/** An endpoint that shows this branch. */
function endpointOn(branch: string, isTripped = false): Endpoint {
  const asked: Asked = { host: `${branch}.test`, blockAt: async (height) => blockOf(branch, height), isTripped: () => isTripped };
  return asked as Endpoint;
}

/** Gives the detector heads of a branch. */
function acceptHeads(detector: ForkDetector, branch: string, from: bigint, to: bigint): void {
  for (let number = from; number <= to; number += 1n) {
    detector.accept({ number, timestampMs: null, hash: hashOf(branch, number), parentHash: hashOf(branch, number - 1n) });
  }
}

function open(
  endpoints: readonly Endpoint[] = [],
  elapsedMs = () => 0,
): { readonly detector: ForkDetector; readonly lines: readonly string[] } {
  const log = rememberingLog();
  const detector = createForkDetector({
    endpoints,
    networkName: 'test',
    averageBlockTimeMs: 1_000,
    requiredConfirmations: 2,
    elapsedMs,
    log,
  });
  return { detector, lines: log.lines };
}

const at = (branch: string, number: bigint) => ({ number, timestampMs: null, hash: hashOf(branch, number) });
const away = endpointOn('a', true);

describe('fork detector', () => {
  it('fork detector: finds an endpoint on another branch although the endpoint of the heads is away, and logs it once', async () => {
    const { detector, lines } = open();
    acceptHeads(detector, 'a', 1n, 20n);
    const other = endpointOn('b');
    assert.equal(await detector.isForked(other, at('b', 30n), away), true);
    assert.equal(await detector.isForked(other, at('b', 31n), away), true);
    assert.equal(detector.has(other), true);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /"host":"b\.test"/);
  });

  it('fork detector: asks nothing about an endpoint whose newest block was a head', async () => {
    const { detector } = open();
    acceptHeads(detector, 'a', 1n, 20n);
    const silent: Asked = { host: 'a.test', isTripped: () => false, blockAt: () => assert.fail('it was asked') };
    assert.equal(await detector.isForked(silent as Endpoint, at('a', 19n), away), false);
  });

  it('fork detector: forgets heads that a reorg may have replaced while they were not polled', async () => {
    const { detector } = open();
    acceptHeads(detector, 'a', 1n, 20n);
    // The blocks from 18 on are others now, and were never the head.
    acceptHeads(detector, 'c', 21n, 26n);
    assert.equal(await detector.isForked(endpointOn('c'), at('x', 23n), away), false);
    assert.equal(await detector.isForked(endpointOn('b'), at('b', 23n), endpointOn('c')), true);
  });

  it('fork detector: takes an endpoint back that is on the branch again', async () => {
    const { detector } = open();
    acceptHeads(detector, 'a', 1n, 20n);
    let branch = 'b';
    const asked: Asked = { host: 'b.test', isTripped: () => false, blockAt: async (height) => blockOf(branch, height) };
    const other = asked as Endpoint;
    assert.equal(await detector.isForked(other, at('b', 30n), away), true);
    branch = 'a';
    assert.equal(await detector.isForked(other, at('a', 21n), away), false);
    assert.equal(detector.has(other), false);
  });

  it('fork detector: without heads to compare with, an endpoint is as it was found before', async () => {
    const { detector } = open();
    acceptHeads(detector, 'a', 1n, 20n);
    const [other, same] = [endpointOn('b'), endpointOn('a')];
    assert.equal(await detector.isForked(other, at('b', 30n), away), true);
    detector.forgetHeads();
    assert.deepEqual(
      [await detector.isForked(other, at('b', 31n), away), await detector.isForked(same, at('a', 31n), away)],
      [true, false],
    );
    // The heads of the other source are the first ones.
    acceptHeads(detector, 'b', 31n, 45n);
    assert.deepEqual(
      [await detector.isForked(other, at('b', 45n), away), await detector.isForked(same, at('a', 45n), away)],
      [false, true],
    );
  });

  for (const [what, thirdBranch, isSourceForked] of [
    ['the source of the heads is on another branch if most endpoints show other blocks', 'b', true],
    ['an endpoint is on another branch if most show the blocks of the source of the heads', 'a', false],
  ] as const)
    it(`fork detector: ${what}`, async () => {
      const [source, other, third] = [endpointOn('a'), endpointOn('b'), endpointOn(thirdBranch)];
      const { detector } = open([source, other, third]);
      acceptHeads(detector, 'a', 1n, 20n);
      assert.equal(await detector.isForked(other, at('b', 30n), source), !isSourceForked);
      assert.deepEqual([detector.has(source), detector.has(other)], [isSourceForked, !isSourceForked]);
    });

  for (const [what, shift] of [
    ['high', 7n],
    ['low', -2n],
  ] as const)
    for (const isSource of [true, false])
      it(`fork detector: of two endpoints, one that numbers all blocks but the first too ${what} is wrong (it has the heads: ${isSource})`, async () => {
        const [right, wrong] = [endpointOn('a'), renumbering(shift)];
        const [source, other] = isSource ? [wrong, right] : [right, wrong];
        const { detector } = open([source, other]);
        const numberOf = (endpoint: Endpoint, height: bigint): bigint => (endpoint === wrong ? height + shift : height);
        for (let height = 30n; height <= 50n; height += 1n)
          detector.accept({ number: numberOf(source, height), timestampMs: null, ...blockOf('a', height) });
        const position = { number: numberOf(other, 49n), timestampMs: null, hash: 'its newest' };
        assert.equal(await detector.isForked(other, position, source), other === wrong);
        assert.deepEqual([detector.has(wrong), detector.has(right)], [true, false]);
      });

  it('fork detector: what the blocks of two endpoints did not prove is searched again a minute later', async () => {
    let elapsedMs = 0;
    let isSilent = true;
    const wrong = renumbering(-2n);
    const right: Asked = {
      ...endpointOn('a'),
      blockAt: async (height) => (isSilent && height === 0n ? null : blockOf('a', height)),
    };
    const { detector } = open([wrong, right as Endpoint], () => elapsedMs);
    for (let height = 30n; height <= 50n; height += 1n)
      detector.accept({ number: height - 2n, timestampMs: null, ...blockOf('a', height) });
    const isForked = () => detector.isForked(right as Endpoint, { number: 49n, timestampMs: null, hash: 'its newest' }, wrong);
    assert.equal(await isForked(), true);
    isSilent = false;
    elapsedMs = 59_000;
    assert.equal(await isForked(), true);
    elapsedMs = 60_000;
    assert.equal(await isForked(), false);
    assert.deepEqual([detector.has(wrong), detector.has(right as Endpoint)], [true, false]);
  });
});

/** An endpoint of branch a that numbers all blocks but the first wrongly. */
function renumbering(shift: bigint): Endpoint {
  const asked: Asked = {
    host: 'wrong.test',
    isTripped: () => false,
    async blockAt(height) {
      if (height === 0n) return blockOf('a', 0n);
      return height - shift < 1n ? null : blockOf('a', height - shift);
    },
  };
  return asked as Endpoint;
}
