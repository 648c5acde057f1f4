import { spawnSync } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Curve } from '../../src/core/records/network.js';
import { type Cryptoki, ck, resultOf } from '../../src/signers/pkcs11/cryptoki.js';
import { waitFor } from './wait-for.js';

const modulePath = '/usr/lib/softhsm/libsofthsm2.so';
const pin = '48213907';
const tokenLabel = 'relayer';
const alreadyInitialized = 0x191;
const alreadyLoggedIn = 0x100;

/** Why SoftHSM cannot be used on this machine; undefined: it can. */
export const noSoftHsm = existsSync(modulePath) ? withoutPackage() : 'skipped: softhsm2 is not installed';

function withoutPackage(): string | undefined {
  try {
    createRequire(import.meta.url).resolve('pkcs11js');
    return undefined;
  } catch {
    return 'skipped: pkcs11js is not built';
  }
}

/** A key whose bytes are known. */
export interface KnownKey {
  readonly curve: Curve;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** A token of SoftHSM, a software HSM, which holds one key on each curve. */
export interface SoftHsm {
  readonly modulePath: string;
  readonly tokenLabel: string;
  readonly pin: string;
  /** The label of the key on this curve. */
  readonly labelOf: (curve: Curve) => string;
  /** The fields of a signer's configuration in the file. */
  readonly configOf: (curve: Curve, changes?: object) => object;
  /** Changes the PIN of the user. A process that is logged in stays so. */
  changePin(from: string, to: string): void;
  /** Puts a key on the token under this label, and under the label another public key if one is given. */
  addKey(label: string, key: KnownKey, wrongPublicKey?: Uint8Array): void;
  /** Gives each key of the first label the second one. */
  relabel(from: string, to: string): void;
  /** The id of the token's slot. */
  slot(): number;
  /** Logs this process in to the token without the service's knowledge, and keeps the library loaded. */
  logIn(): void;
  /** Whether this process is logged in to the token. */
  isLoggedIn(): boolean;
  /** Takes the token out of its slot. */
  remove(): Promise<void>;
  /** Lets the module hang when it is initialized. */
  hang(): { hangs(): Promise<void>; goOn(): Promise<void> };
  /** Does something while the module cannot be initialized. */
  whileBroken(task: () => Promise<unknown>): Promise<void>;
  /** Puts it back. */
  insert(): Promise<void>;
}

let prepared: Promise<SoftHsm> | null = null;

/** Makes the token. All tests of a process share it, since a process can use only one set of tokens of SoftHSM. It is removed when the process ends. */
export function softHsm(): Promise<SoftHsm> {
  prepared ??= makeToken();
  return prepared;
}

interface KeyMaker extends Cryptoki {
  C_GetSessionInfo(session: Buffer): { readonly state: number };
  C_CreateObject(session: Buffer, template: object[]): Buffer;
  C_SetAttributeValue(session: Buffer, object: Buffer, template: object[]): void;
  C_SetPIN(session: Buffer, from: string, to: string): void;
  C_GenerateKeyPair(session: Buffer, mechanism: { mechanism: number }, publicKey: object[], privateKey: object[]): unknown;
}

async function makeToken(): Promise<SoftHsm> {
  const folder = await mkdtemp(join(tmpdir(), 'relayer-hsm-'));
  const [tokens, away] = [join(folder, 'tokens'), join(folder, 'away')];
  await mkdir(tokens);
  await writeFile(join(folder, 'softhsm2.conf'), `directories.tokendir = ${tokens}\nobjectstore.backend = file\nlog.level = ERROR\n`);
  // The library reads the variable of the process itself.
  process.env.SOFTHSM2_CONF = join(folder, 'softhsm2.conf');
  process.once('exit', () => spawnSync('rm', ['-rf', folder]));
  const made = spawnSync('softhsm2-util', ['--init-token', '--free', '--label', tokenLabel, '--pin', pin, '--so-pin', pin]);
  if (made.status !== 0) throw new Error(`softhsm2-util: ${made.stderr}`);
  makeKeys();
  const labelOf = (curve: Curve) => `key-${curve}`;
  return {
    modulePath,
    tokenLabel,
    pin,
    labelOf,
    configOf: (curve, changes = {}) => ({
      module_path: modulePath,
      token_label: tokenLabel,
      key_label: labelOf(curve),
      pin: { type: 'plain', value: pin },
      ...changes,
    }),
    changePin,
    addKey,
    relabel,
    slot: () => openToken().slot.readUIntLE(0, 6),
    logIn() {
      loaded.push(openLoggedIn());
    },
    isLoggedIn() {
      const { module, session } = openToken();
      const { state } = module.C_GetSessionInfo(session);
      module.C_CloseSession(session);
      return state === readWriteUserFunctions;
    },
    remove: () => rename(tokens, away).then(() => mkdir(tokens)),
    hang() {
      const [config, pipe] = [join(folder, 'softhsm2.conf'), join(folder, 'pipe')];
      if (spawnSync('mkfifo', [pipe]).status !== 0) throw new Error('mkfifo failed');
      process.env.SOFTHSM2_CONF = pipe;
      let writer: FileHandle | null = null;
      return {
        // Without a reader the pipe cannot be opened.
        async hangs() {
          writer = await waitFor('the module to read its configuration', () =>
            open(pipe, constants.O_WRONLY | constants.O_NONBLOCK).catch(() => undefined),
          );
        },
        async goOn() {
          process.env.SOFTHSM2_CONF = config;
          await writer?.writeFile(await readFile(config));
          await writer?.close();
          await rm(pipe);
        },
      };
    },
    async whileBroken(task) {
      await rename(tokens, away);
      try {
        await task();
      } finally {
        await rename(away, tokens);
      }
    },
    insert: () => rm(tokens, { recursive: true }).then(() => rename(away, tokens)),
  };
}

interface OpenToken {
  readonly module: KeyMaker;
  readonly slot: Buffer;
  readonly session: Buffer;
}

/** A library stays loaded as long as something refers to it. */
const loaded: OpenToken[] = [];
const readWriteUserFunctions = 3;

function openToken(): OpenToken {
  const { PKCS11 } = createRequire(import.meta.url)('pkcs11js') as { PKCS11: new () => KeyMaker };
  const module = new PKCS11();
  module.load(modulePath);
  try {
    module.C_Initialize({ flags: ck.OS_LOCKING_OK });
  } catch (error) {
    if (resultOf(error) !== alreadyInitialized) throw error;
  }
  const slot = module.C_GetSlotList(true).find((one) => module.C_GetTokenInfo(one).label.trim() === tokenLabel);
  if (slot === undefined) throw new Error('the token was not made');
  const readWrite = 0x02;
  return { module, slot, session: module.C_OpenSession(slot, ck.SERIAL_SESSION | readWrite) };
}

function openLoggedIn(): OpenToken {
  const token = openToken();
  try {
    token.module.C_Login(token.session, ck.USER, pin);
  } catch (error) {
    if (resultOf(error) !== alreadyLoggedIn) throw error;
  }
  return token;
}

function addKey(label: string, { curve, privateKey, publicKey }: KnownKey, wrongPublicKey?: Uint8Array): void {
  const { module, session } = openLoggedIn();
  const params = curve === 'secp256k1' ? '06052b8104000a' : '130c656477617264733235353139';
  const parts = [
    { type: 0x001, value: true },
    { type: ck.A_LABEL, value: label },
    { type: 0x100, value: curve === 'secp256k1' ? 0x03 : 0x40 },
    { type: ck.A_EC_PARAMS, value: Buffer.from(params, 'hex') },
  ];
  for (const point of [wrongPublicKey, publicKey]) {
    if (point === undefined) continue;
    const value = Buffer.concat([Buffer.of(4, point.length), point]);
    module.C_CreateObject(session, [{ type: ck.A_CLASS, value: ck.PUBLIC_KEY }, ...parts, { type: ck.A_EC_POINT, value }]);
  }
  const own = [
    { type: 0x002, value: true },
    { type: 0x103, value: true },
    { type: 0x108, value: true },
    { type: 0x011, value: Buffer.from(privateKey) },
  ];
  module.C_CreateObject(session, [{ type: ck.A_CLASS, value: ck.PRIVATE_KEY }, ...parts, ...own]);
  module.C_CloseSession(session);
}

function relabel(from: string, to: string): void {
  const { module, session } = openLoggedIn();
  module.C_FindObjectsInit(session, [{ type: ck.A_LABEL, value: from }]);
  const objects = module.C_FindObjects(session, 10);
  module.C_FindObjectsFinal(session);
  for (const object of objects) module.C_SetAttributeValue(session, object, [{ type: ck.A_LABEL, value: to }]);
  module.C_CloseSession(session);
}

function changePin(from: string, to: string): void {
  const { module, session } = openToken();
  module.C_SetPIN(session, from, to);
  module.C_CloseSession(session);
}

function makeKeys(): void {
  const { module, session } = openToken();
  module.C_Login(session, ck.USER, pin);
  for (const [curve, mechanism, params] of [
    ['secp256k1', 0x1040, '06052b8104000a'],
    ['ed25519', 0x1055, '130c656477617264733235353139'],
  ] as const) {
    const named = [
      { type: 0x001, value: true },
      { type: ck.A_LABEL, value: `key-${curve}` },
      { type: ck.A_ID, value: Buffer.from(curve) },
    ];
    module.C_GenerateKeyPair(
      session,
      { mechanism },
      [...named, { type: ck.A_EC_PARAMS, value: Buffer.from(params, 'hex') }],
      // Private, sensitive, for signing.
      [...named, { type: 0x002, value: true }, { type: 0x103, value: true }, { type: 0x108, value: true }],
    );
  }
  module.C_CloseSession(session);
  module.C_Finalize();
}
