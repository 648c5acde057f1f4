import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { chainKeyFrom, createAuditChain, lineHash, linkOf } from '../../src/observability/audit-chain.js';
import { openAuditLog } from '../../src/observability/audit-log.js';
import { verifyAudit } from '../../src/observability/audit-verification.js';
import { createRandom } from '../support/seeded-random.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const storageEncryptionKey = randomBytes(32).toString('base64');
const ways = ['change', 'drop', 'swap', 'cut', 'add', 'repeat'] as const;
const { publicKey } = chainKeyFrom(storageEncryptionKey);

/** Writes audit lines as one process does, and returns what it says in its log. */
async function aRun(auditLogFile: string, { ends, between }: { readonly ends: boolean; readonly between?: () => void }): Promise<string> {
  let logged = '';
  const ignore = () => undefined;
  const info = (fields: object, msg: string) => {
    logged += `${JSON.stringify({ level: 'info', ...fields, msg })}\n`;
  };
  const settings = { auditLogFile, auditLogStdout: false, auditFail: 'closed' as const, storageEncryptionKey };
  const { audit, endAudit } = await openAuditLog(settings, { write: ignore }, { info, warn: ignore, error: ignore });
  const write = (count: number) => {
    for (let number = 0; number < count; number += 1) audit({ keyId: 'k', chain: 'evm', number, text: 'é,"signature":"' });
  };
  write(10);
  between?.();
  write(10);
  if (ends) endAudit();
  return logged;
}

/** Appends lines to a chain as an attacker can who has no key: hashed, not signed. */
function forgeLines(file: string, texts: readonly string[]): void {
  for (const text of texts) {
    const last = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
    const { chain, seq } = linkOf(last) ?? assert.fail('no link');
    appendFileSync(file, `${text},"link":"${chain}.${seq + 1}.${lineHash(last)}"}\n`);
  }
}

const forgedLine = (ms: number, fields = '') => `{"level":"audit","time":"${new Date(ms).toISOString()}"${fields},"msg":"audit"`;
const tooLong = (file: string, line: number, from = 2, first = file) => [
  { file, line, problem: `its time is not within the minute from ${first}:${from}, after which no line is signed` },
];

describe('the chain of the audit log', () => {
  let folder: string;
  let files: readonly string[];
  let contents: readonly string[];
  const verified = async (given: readonly string[]) => {
    const { problems, chains } = await verifyAudit(given, ['00'.repeat(32), publicKey]);
    return { problems, chains: chains.map(({ lines, signedTo, end }) => [lines, signedTo, end].join(' ')).sort() };
  };

  before(async () => {
    folder = await temporaryFolder();
    const path = join(folder, 'audit.log');
    const logs = [
      await aRun(path, { ends: true }),
      await aRun(path, { ends: false }),
      await aRun(path, { ends: true, between: () => renameSync(path, `${path}.1`) }),
      await aRun(path, { ends: true }),
    ];
    writeFileSync(join(folder, 'service.log'), `${logs.join('')}{"level":"info","msg":"listening"}\n`);
    files = [path, `${path}.1`, join(folder, 'service.log')];
    contents = files.map((file) => readFileSync(file, 'utf8'));
  });

  it('chain: whole files verify in any order, over restarts, a kill and a rotation', async () => {
    const chains = ['21 1 continued', '22 22 ended', '22 22 ended', '22 22 ended'];
    for (const order of [files, [...files].reverse(), files.slice(0, 2)]) assert.deepEqual(await verified(order), { problems: [], chains });
  });

  it('chain: a part of a line that a killed process left is none of the problems, and what another writes there is one', async () => {
    const path = join(folder, 'part.log');
    await aRun(path, { ends: false });
    appendFileSync(path, '{"level":"audit","time":"20');
    await aRun(path, { ends: true });
    assert.deepEqual(await verified([path]), { problems: [], chains: ['21 1 continued', '22 22 ended'] });
    const lines = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [...lines.slice(0, 5), 'something', ...lines.slice(5)].join('\n'));
    assert.deepEqual((await verified([path])).problems, [{ file: path, line: 6, problem: 'it is not a line of the audit log' }]);
    const whole = lines.filter((line) => linkOf(line) !== null);
    writeFileSync(path, whole.flatMap((line) => [`${line}\n`, 'text of another process\n']).join(''));
    // One before the first line of a chain, and one at the end, may be parts.
    const problem = `it and ${whole.length - 3} more are not lines of the audit log`;
    assert.deepEqual((await verified([path])).problems, [{ file: path, line: 2, problem }]);
  });

  it('chain: one that somebody else signed, or nobody, is found', async () => {
    const path = join(folder, 'forged.log');
    const forger = createAuditChain(chainKeyFrom(randomBytes(32).toString('base64')));
    writeFileSync(path, `${forger.linkSigned('audit log begins')}\n${forger.link('{"level":"audit"')}\n`);
    const problem = 'its signature is wrong, or of another key';
    assert.deepEqual((await verified([path])).problems, [{ file: path, line: 1, problem }]);
    const unsigned = createAuditChain(chainKeyFrom(storageEncryptionKey));
    writeFileSync(path, `${unsigned.link('{"level":"audit"')}\n`);
    assert.deepEqual((await verified([path])).problems, [{ file: path, line: 1, problem: 'its chain has no signature' }]);
    writeFileSync(path, '{"level":"audit","msg":"audit"}\n');
    assert.deepEqual((await verified([path])).problems, [{ file: path, line: 1, problem: 'no line of the file is in a chain' }]);
  });

  it('chain: new lines instead of those that nobody had signed yet are found by the chain that follows, and by the log', async () => {
    const path = join(folder, 'replaced.log');
    await aRun(path, { ends: false });
    const before = readFileSync(path, 'utf8').trimEnd().split('\n');
    const last = linkOf(before.at(-2) ?? '');
    await aRun(path, { ends: true });
    const next = readFileSync(path, 'utf8').trimEnd().split('\n').slice(before.length);
    const forge = (text: string, prev: string, seq: number) => `${text},"link":"${last?.chain}.${seq}.${prev}"}`;
    const kept = before.slice(0, -2);
    const one = forge('{"level":"audit","forged":1', lineHash(kept.at(-1) ?? ''), 20);
    const two = forge('{"level":"audit","forged":2', lineHash(one), 21);
    const three = forge('{"level":"audit","forged":3', lineHash(two), 22);
    for (const forged of [[one], [one, two], [one, two, three]]) {
      writeFileSync(path, `${[...kept, ...forged, ...next].join('\n')}\n`);
      assert.equal((await verified([path])).problems.length, 1, `${forged.length} forged lines`);
    }
  });

  it('chain: one cut back to a signed line, with unsigned lines of more than a minute after it, is found', async () => {
    const path = join(folder, 'cut-back.log');
    const begin = async (): Promise<void> => {
      writeFileSync(path, '');
      await aRun(path, { ends: true });
      writeFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`);
    };
    const now = Date.now();
    const after = (...seconds: number[]) => seconds.map((second) => forgedLine(now + second * 1_000));
    const cases: [string, readonly string[], number | null][] = [
      ['eight lines of 70 seconds', after(0, 10, 20, 30, 40, 50, 60, 70), 9],
      ['a clock that goes back', after(0, 50, -1, 10), 4],
      ['times that go on from another start', after(0, 60, 120), 4],
      ['the time twice', [...after(0), forgedLine(now, `,"time":"${new Date(now + 90_000).toISOString()}"`)], 3],
      ['the time twice, its name escaped', [...after(0), forgedLine(now, `,"tim\\u0065":"${new Date(now + 90_000).toISOString()}"`)], 3],
      ['no time', [...after(0), '{"level":"audit","msg":"audit"'], 3],
      ['no time in the first', ['{"level":"audit","msg":"audit"', ...after(0)], 2],
      ['what is no JSON', [...after(0), '{"level":"audit",'], 3],
      ['no more than a minute', after(0, 10, 20, 30, 40, 50, 59, 60), null],
      ['forged times that are all within the minute', after(...Array(100).fill(30)), null],
    ];
    for (const [what, lines, found] of cases) {
      await begin();
      forgeLines(path, lines);
      const { problems, chains } = await verified([path]);
      assert.deepEqual(problems, found === null ? [] : tooLong(path, found), what);
      assert.deepEqual(chains, [`${lines.length + 1} 1 open`], what);
    }
    writeFileSync(path, '');
    await aRun(path, { ends: true });
    forgeLines(path, after(0));
    assert.deepEqual(await verified([path]), { problems: [], chains: ['23 22 open'] }, 'a line after the end');
    await begin();
    forgeLines(path, after(0, 40));
    const rotated = join(folder, 'cut-back.log.1');
    renameSync(path, rotated);
    writeFileSync(path, readFileSync(rotated, 'utf8'));
    forgeLines(path, after(60, 80));
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(3).join('\n'));
    for (const order of [
      [path, rotated],
      [rotated, path],
    ])
      assert.deepEqual((await verified(order)).problems, tooLong(path, 2, 2, rotated), 'rotated');
    await begin();
    forgeLines(path, after(0, 70));
    await aRun(path, { ends: true });
    assert.deepEqual((await verified([path])).problems, tooLong(path, 3), 'a restart after it');
  });

  it('chain: the service signs before a line that is more than a minute after the first unsigned one, whatever its clock does', async (t) => {
    const path = join(folder, 'clock.log');
    let now = Date.now();
    t.mock.method(Date, 'now', () => now);
    const ignore = () => undefined;
    const settings = { auditLogFile: path, auditLogStdout: false, auditFail: 'closed' as const, storageEncryptionKey };
    const { audit } = await openAuditLog(settings, { write: ignore }, { info: ignore, warn: ignore, error: ignore });
    const signedAfter = (seconds: number): boolean => {
      const before = readFileSync(path, 'utf8').split('\n').length;
      now += seconds * 1_000;
      audit({ keyId: 'k' });
      return readFileSync(path, 'utf8').split('\n').length === before + 2;
    };
    const steps = [3_600, 30, 30, 0.001, 60, -30, -30, -0.001, 86_400, -86_400];
    assert.deepEqual(steps.map(signedAfter), [false, false, false, true, false, false, false, true, true, true]);
    assert.deepEqual(await verified([path]), { problems: [], chains: ['15 14 open'] });
    for (let line = 0; line < 50; line += 1) signedAfter(7);
    assert.deepEqual((await verified([path])).problems, []);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    const cut = join(folder, 'clock-cut.log');
    for (let length = 1; length <= lines.length; length += 1) {
      writeFileSync(cut, `${lines.slice(0, length).join('\n')}\n`);
      assert.deepEqual((await verified([cut])).problems, [], `the first ${length} lines, as a kill may leave them`);
    }
  });

  it('chain: a rotated file without a signed line goes on with the chain of the file before, in any order', async () => {
    const path = join(folder, 'quiet.log');
    await aRun(path, { ends: false, between: () => renameSync(path, `${path}.1`) });
    await aRun(path, { ends: true });
    for (const order of [
      [path, `${path}.1`],
      [`${path}.1`, path],
    ])
      assert.deepEqual(await verified(order), { problems: [], chains: ['21 1 continued', '22 22 ended'] });
  });

  it('chain: a field with the name of the signature is none', async () => {
    const path = join(folder, 'field.log');
    const ignore = () => undefined;
    const settings = { auditLogFile: path, auditLogStdout: false, auditFail: 'closed' as const, storageEncryptionKey };
    const { audit, endAudit } = await openAuditLog(settings, { write: ignore }, { info: ignore, warn: ignore, error: ignore });
    audit({ keyId: 'k', signature: 'a'.repeat(128) });
    audit({ keyId: 'k', changed: { of: 1, signature: '' } });
    endAudit();
    assert.deepEqual(await verified([path]), { problems: [], chains: ['4 4 ended'] });
  });

  it('chain: each of 1,000 random changes is found', async () => {
    const random = createRandom(46_001);
    const changed = join(folder, 'changed.log');
    for (let round = 0; round < 1_000; round += 1) {
      const which = random.between(0, 1);
      const lines = (contents[which] ?? '').trimEnd().split('\n');
      const at = random.between(0, lines.length - 1);
      const what = ways[random.between(0, ways.length - 1)];
      const line = lines[at] ?? '';
      if (what === 'change') {
        const character = random.between(0, line.length - 1);
        lines[at] = `${line.slice(0, character)}${line[character] === 'x' ? 'y' : 'x'}${line.slice(character + 1)}`;
      } else if (what === 'drop') lines.splice(at, random.between(1, 3));
      else if (what === 'swap') {
        const other = (at + 1 + random.between(0, 5)) % lines.length;
        lines[at] = lines[other] ?? '';
        lines[other] = line;
      } else if (what === 'cut') lines.splice(at, lines.length, line.slice(0, random.between(0, line.length - 1)));
      else if (what === 'add') lines.splice(at, 0, line.replace('"k"', '"another"'));
      else lines.splice(at, 0, line);
      const text = `${lines.join('\n')}${what === 'cut' ? '' : '\n'}`;
      if (text === contents[which]) continue;
      writeFileSync(changed, text);
      const { problems } = await verifyAudit(
        files.map((file, index) => (index === which ? changed : file)),
        [publicKey],
      );
      assert.notDeepEqual(problems, [], `round ${round}: ${what} at ${at} of file ${which}`);
    }
  });
});
