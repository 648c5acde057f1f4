import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSecondReading, type ReceiptReader, type Word } from '../../../src/chains/rpc/second-reading.js';
import type { Receipt } from '../../../src/core/ports/chain/outcomes.js';
import { silentLog } from '../../support/stored-samples.js';

const honest: Receipt = {
  hash: '0x01',
  blockNumber: 7n,
  blockHash: '0xb7',
  succeeded: true,
  facts: { gasUsed: 21_000n, feePaid: 5n, returnValueXdr: null },
};
const facts = honest.facts;

/** Two endpoints whose blocks hold the transaction; each shows its receipt. */
function secondReadingOf(shown: readonly [Receipt, Receipt]) {
  const wordOf = (by: number): ReadonlyMap<string, Word> =>
    new Map(shown[by] === undefined ? [] : [[honest.hash, { receipt: shown[by], by }]]);
  const reader: ReceiptReader = {
    async read(receipts, first) {
      if (receipts.length === 0) return new Map();
      if (first === 'head') return wordOf(0);
      assert.ok(typeof first === 'object' && 'otherThan' in first);
      const by = [0, 1].find((place) => !first.otherThan.has(place));
      return by === undefined ? new Map() : wordOf(by);
    },
    leftOutBy: async () => null,
    shownBy: async (source) => shown[source],
  };
  const rpc = { isSingle: () => false, silentForMs: () => 0 };
  return createSecondReading({ rpc, reader, log: silentLog, nowMs: () => 1_000, keepsBlocks: true });
}

describe('a receipt that one of two endpoints made up', () => {
  const lies = {
    'another result': { ...honest, succeeded: false },
    'another fee': { ...honest, facts: { gasUsed: 21_000n, feePaid: 9n, returnValueXdr: null } },
    'another amount of gas': { ...honest, facts: { gasUsed: 9n, feePaid: 5n, returnValueXdr: null } },
    'another value': { ...honest, facts: { gasUsed: 21_000n, feePaid: 5n, returnValueXdr: 'AAAA' } },
  } as const;
  const truth: Receipt = { ...honest, facts: { gasUsed: 21_000n, feePaid: 5n, returnValueXdr: 'BBBB' } };
  for (const [what, lie] of Object.entries(lies)) {
    for (const liar of [0, 1]) {
      for (const last of ['the liar', 'the other one', 'none'] as const) {
        it(`second reading: ${what} of endpoint ${liar} is not confirmed by itself, after ${last} has shown the transaction`, async () => {
          const secondReading = secondReadingOf(liar === 0 ? [lie, truth] : [truth, lie]);
          if (last !== 'none') secondReading.noteSource(lie, liar);
          if (last === 'the other one') secondReading.noteSource(truth, 1 - liar);
          const reading = (await secondReading.of([lie])).get(honest.hash);
          if (lie.succeeded !== truth.succeeded) return assert.equal(reading, 'status');
          assert.ok(typeof reading === 'object' && reading.succeeded, `${JSON.stringify(reading === undefined)}`);
          assert.ok(facts !== null && reading.facts !== null);
          const kept = (['gasUsed', 'feePaid', 'returnValueXdr'] as const).filter((fact) => reading.facts?.[fact] != null);
          for (const fact of kept) assert.equal(reading.facts[fact], truth.facts?.[fact], fact);
        });
      }
    }
  }

  it('second reading: a receipt of which both show the same is confirmed, whoever showed it last', async () => {
    const secondReading = secondReadingOf([honest, honest]);
    assert.equal((await secondReading.of([honest])).get(honest.hash), 'same');
    secondReading.noteSource(honest, 0);
    secondReading.noteSource({ ...honest }, 1);
    assert.equal((await secondReading.of([honest])).get(honest.hash), 'same');
  });
});

describe('a receipt about which another endpoint has no word now', () => {
  /** Two endpoints, of which only one has a word at a time. */
  const start = (keepsBlocks: boolean) => {
    let ms = 0;
    let speaking = 0;
    let shown = honest;
    const reader: ReceiptReader = {
      async read(receipts, first) {
        const isAsked = first === 'head' || (typeof first === 'object' && 'otherThan' in first && !first.otherThan.has(speaking));
        return receipts.length === 0 || !isAsked ? new Map() : new Map([[honest.hash, { receipt: shown, by: speaking }]]);
      },
      leftOutBy: async () => null,
      shownBy: async () => undefined,
    };
    const rpc = { isSingle: () => false, silentForMs: () => 0 };
    const secondReading = createSecondReading({ rpc, reader, log: silentLog, nowMs: () => ms, keepsBlocks });
    return async (by: number, receipt: Receipt, passMs: number) => {
      ms += passMs;
      [speaking, shown] = [by, receipt];
      secondReading.noteSource(receipt, by);
      const reading = (await secondReading.of([receipt])).get(honest.hash);
      return typeof reading === 'string' ? reading : 'another receipt';
    };
  };
  const failed = { ...honest, succeeded: false };
  const elsewhere = { ...honest, blockNumber: 8n, blockHash: '0xb8' };

  it('second reading: another result is disputed while the word of the endpoint that has none now counts', async () => {
    const shows = start(false);
    assert.equal(await shows(0, honest, 0), 'unknown');
    for (let ms = 0; ms < 570_000; ms += 30_000) assert.equal(await shows(1, failed, 30_000), 'status');
    assert.equal(await shows(1, failed, 30_000), 'unknown');
  });

  it('second reading: another block is a contradiction only where blocks are kept', async () => {
    for (const [keepsBlocks, reading] of [
      [true, 'different'],
      [false, 'unknown'],
    ] as const) {
      const shows = start(keepsBlocks);
      assert.equal(await shows(0, honest, 0), 'unknown');
      assert.equal(await shows(1, elsewhere, 30_000), reading);
    }
  });

  it('second reading: what two have shown at different times is confirmed, whatever one of them showed before', async () => {
    const shows = start(true);
    assert.equal(await shows(0, failed, 0), 'unknown');
    assert.equal(await shows(1, honest, 30_000), 'status');
    assert.equal(await shows(0, honest, 30_000), 'same');
  });

  it('second reading: what two have shown at different times is not confirmed where blocks can be dropped', async () => {
    const shows = start(false);
    assert.equal(await shows(0, honest, 0), 'unknown');
    assert.equal(await shows(1, honest, 30_000), 'unknown');
  });
});

describe('a stored receipt whose source a restart has forgotten, which one endpoint denies while another one has no word', () => {
  const start = (keepsBlocks: boolean, deniers: readonly number[]) => {
    let ms = 0;
    const isDenier = (by: number, first: Parameters<ReceiptReader['leftOutBy']>[1]): boolean =>
      typeof first !== 'object' || ('only' in first ? first.only === by : !first.otherThan.has(by));
    const reader: ReceiptReader = {
      async read(receipts, first) {
        const by = deniers.find((place) => isDenier(place, first));
        return receipts.length === 0 || by === undefined ? new Map() : new Map([[honest.hash, { receipt: null, by }]]);
      },
      leftOutBy: async (_, first) => deniers.find((by) => isDenier(by, first)) ?? null,
      shownBy: async () => undefined,
    };
    const rpc = { isSingle: () => false, silentForMs: () => 0 };
    const secondReading = createSecondReading({ rpc, reader, log: silentLog, nowMs: () => ms, keepsBlocks });
    return async (passMs: number) => {
      ms += passMs;
      return (await secondReading.of([honest])).get(honest.hash);
    };
  };

  it('second reading: it waits for ten minutes where blocks are kept', async () => {
    const read = start(true, [1]);
    assert.equal(await read(0), 'unknown');
    for (let ms = 0; ms < 570_000; ms += 30_000) assert.equal(await read(30_000), 'unknown');
    assert.equal(await read(30_000), 'absent');
  });

  it('second reading: it is absent at once by two, or where blocks can be dropped', async () => {
    assert.equal(await start(true, [0, 1])(0), 'absent');
    assert.equal(await start(false, [1])(0), 'absent');
  });
});
