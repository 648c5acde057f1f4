import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { getBase58Decoder } from '@solana/kit';
import { Keypair } from '@stellar/stellar-sdk';
import { Wallet } from 'ethers';
import { openEd25519Keystore } from '../../src/signers/local/ed25519-keystore.js';
import { type CliResult, runCli, runProgram } from '../support/run-cli.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const passphrase = 'correct horse battery';
/** The key of anvil's first account, which is public. */
const key = 'ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const address = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';

/** Opens the keystore with another implementation. */
async function openWithEthers(file: string): Promise<Wallet> {
  const wallet = Wallet.fromEncryptedJsonSync(await readFile(file, 'utf8'), passphrase);
  assert.ok(wallet instanceof Wallet);
  return wallet;
}

function assertNoSecretIn(result: CliResult, ...secrets: readonly string[]): void {
  for (const secret of secrets) assert.ok(!`${result.stdout}${result.stderr}`.includes(secret));
}

test('keystore create: writes a keystore that ethers opens and only its owner can read, and prints the address', async () => {
  const file = join(await temporaryFolder(), 'new.json');
  const result = await runCli(['keystore', 'create', '--out', file, '--passphrase-env', 'PASS'], { PASS: passphrase });
  assert.equal(result.exitCode, 0, result.stderr);
  assert.equal(result.stderr, 'encrypting the key; this takes a moment\n');
  const wallet = await openWithEthers(file);
  assert.equal(result.stdout, `${wallet.address}\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assertNoSecretIn(result, passphrase, wallet.privateKey.slice(2));
});

test('keystore import: reads the key and the passphrase from environment variables', async () => {
  const file = join(await temporaryFolder(), 'imported.json');
  const args = ['keystore', 'import', '--out', file, '--key-env', 'KEY', '--passphrase-env', 'PASS'];
  const result = await runCli(args, { KEY: `0x${key}`, PASS: passphrase });
  assert.equal(result.exitCode, 0, result.stderr);
  assert.equal(result.stdout, `${address}\n`);
  assert.equal((await openWithEthers(file)).privateKey, `0x${key}`);
  assertNoSecretIn(result, passphrase, key);
});

test('keystore import: reads the key and the passphrase from two lines of standard input', async () => {
  const file = join(await temporaryFolder(), 'imported.json');
  const result = await runProgram(['keystore', 'import', '--out', file], {}, `${key}\r\n${passphrase}\n`);
  assert.equal(result.exitCode, 0, result.stderr);
  assert.equal((await openWithEthers(file)).address, address);
  assertNoSecretIn(result, passphrase, key);
});

test('keystore create --type ed25519: writes a keystore and prints the address on each network', async () => {
  const file = join(await temporaryFolder(), 'new.json');
  const result = await runCli(['keystore', 'create', '--type', 'ed25519', '--out', file, '--passphrase-env', 'PASS'], { PASS: passphrase });
  assert.equal(result.exitCode, 0, result.stderr);
  const { publicKey, privateKey: seed } = await openEd25519Keystore(await readFile(file, 'utf8'), passphrase);
  const onSolana = getBase58Decoder().decode(publicKey);
  assert.equal(result.stdout, `stellar: ${Keypair.fromRawEd25519Seed(seed).publicKey()}\nsolana: ${onSolana}\n`);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assertNoSecretIn(result, passphrase, seed.toString('hex'));
});

test('keystore import --type ed25519: accepts every common form of a seed', async () => {
  const pair = Keypair.random();
  const seed = Buffer.from(pair.rawSecretKey());
  const secretKey = Buffer.concat([seed, pair.rawPublicKey()]);
  const forms = [seed.toString('hex'), pair.secret(), getBase58Decoder().decode(secretKey), JSON.stringify([...secretKey])];
  for (const [index, form] of forms.entries()) {
    const file = join(await temporaryFolder(), 'imported.json');
    const result = await runCli(['keystore', 'import', '--type', 'ed25519', '--out', file], {}, `${form}\n${passphrase}\n`);
    assert.equal(result.exitCode, 0, `${index}: ${result.stderr}`);
    assert.equal(result.stdout.split('\n')[0], `stellar: ${pair.publicKey()}`);
    assert.deepEqual((await openEd25519Keystore(await readFile(file, 'utf8'), passphrase)).privateKey, seed);
    assertNoSecretIn(result, passphrase, form);
  }
});

test('keystore create: never overwrites a file', async () => {
  const file = join(await temporaryFolder({ 'taken.json': 'precious' }), 'taken.json');
  const result = await runCli(['keystore', 'create', '--out', file, '--passphrase-env', 'PASS'], { PASS: passphrase });
  assert.deepEqual(result, { exitCode: 1, stdout: '', stderr: `error: ${file} already exists; it is never overwritten\n` });
  assert.equal(await readFile(file, 'utf8'), 'precious');
});

test('keystore: reports a missing or wrong input in one sentence and writes no file', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'new.json');
  const zeros = '0'.repeat(64);
  const unfit = JSON.stringify(Array(64).fill(1));
  const wrong: readonly (readonly [readonly string[], string, 1 | 2, RegExp])[] = [
    [['create', '--out', file], '', 2, /^error: passphrase is missing; name its environment variable /],
    [
      ['create', '--out', file, '--passphrase-env', 'NOPE'],
      '',
      2,
      /^error: the environment variable NOPE for the passphrase is not set\n$/,
    ],
    [['create', '--out', file, '--passphrase-env', 'hunter2'], '', 2, /^error: the environment variable for the passphrase is not set\n$/],
    [
      ['create', '--out', file, '--passphrase-env', 'CORRECTHORSE'],
      '',
      2,
      /^error: the environment variable for the passphrase is not set\n$/,
    ],
    [['create', '--out', join(folder, 'no', 'where.json')], passphrase, 1, /cannot be created: its folder does not exist\n$/],
    [['import', '--out', file], `hunter2\n${passphrase}`, 2, /^error: the private key must be 64 hex digits, with or without 0x\n$/],
    [['import', '--out', file], `${zeros}\n${passphrase}`, 2, /^error: the private key is not a secp256k1 key: /],
    [
      ['import', '--type', 'ed25519', '--out', file],
      `hunter2\n${passphrase}`,
      2,
      /^error: the private key must be 64 hex digits, S\.\.\. \(Stellar\), /,
    ],
    [['import', '--type', 'ed25519', '--out', file], `${unfit}\n${passphrase}`, 2, /^error: the private key does not match the public key/],
    [['import', '--type', 'p256', '--out', file], `${key}\n${passphrase}`, 2, /'--type <curve>' argument 'p256' is invalid/],
    [['import', '--out', file], `${key}\n`, 2, /^error: passphrase is missing; name its environment variable /],
  ];
  for (const [args, input, exitCode, sentence] of wrong) {
    const result = await runCli(['keystore', ...args], {}, input);
    assert.equal(result.exitCode, exitCode, result.stderr);
    assert.equal(result.stdout, '');
    assert.match(result.stderr, sentence);
    assertNoSecretIn(result, passphrase, key, 'hunter2', '    at ');
    await assert.rejects(stat(file), { code: 'ENOENT' });
  }
});
