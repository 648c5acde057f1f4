import { parentPort, workerData } from 'node:worker_threads';
import type { Curve } from '../../core/records/network.js';
import { type Cryptoki, ck, ckr, type Handle, loadCryptoki, resultOf } from './cryptoki.js';
import type { KeyPlace, ThreadAnswer, ThreadProblem, ThreadRequest, TokenPlace } from './thread-messages.js';

/*
 * A thread that calls a PKCS #11 module. Every call of a module blocks its thread, for as long as the HSM takes, so the service never calls
 * one on its own. Each thread has its own session for each key. A login is for the whole process.
 */

const modulePath = String(workerData);

/** A failure with a cause that the module has no result for. */
class Refused extends Error {}

interface OpenKey {
  readonly session: Handle;
  readonly privateKey: Handle;
  readonly curve: Curve;
  /** Of the public keys with the name of the key. */
  readonly points: readonly Buffer[];
}

let cryptoki: Cryptoki | null = null;
let generation = 0;
const keys = new Map<string, OpenKey>();

/** Public keys with one name that are tried. */
const maxPublicKeys = 16;

const secp256k1Params = Buffer.from('06052b8104000a', 'hex');
/** The curve's name, as PKCS #11 has it, or its object identifier. */
const ed25519Params = [Buffer.from('130c656477617264733235353139', 'hex'), Buffer.from('06032b6570', 'hex')];

function module(): Cryptoki {
  if (cryptoki !== null) return cryptoki;
  const loaded = loadCryptoki();
  loaded.load(modulePath);
  cryptoki = loaded;
  return loaded;
}

function initialize(again: boolean): void {
  const loaded = module();
  if (again) finalize();
  try {
    loaded.C_Initialize({ flags: ck.OS_LOCKING_OK });
  } catch (error) {
    // By another thread of this process.
    if (resultOf(error) !== ckr.ALREADY_INITIALIZED) throw error;
  }
}

function finalize(): void {
  try {
    module().C_Finalize();
  } catch (error) {
    // The last try to initialize it failed.
    if (resultOf(error) !== ckr.NOT_INITIALIZED) throw error;
  }
}

function slotOf({ tokenLabel, slot }: TokenPlace): Handle {
  const slots = module().C_GetSlotList(true);
  const found = slots.filter((one) => (slot === null ? withoutPadding(tokenAt(one).label) === tokenLabel : one.readUIntLE(0, 6) === slot));
  const [only] = found;
  const name = slot === null ? `the label ${JSON.stringify(tokenLabel)}` : `the slot ${slot}`;
  // Not a refusal: an HSM may be plugged in later.
  if (only === undefined) throw new Error(`no token with ${name} is present`);
  if (found.length > 1) throw new Refused(`${found.length} tokens have ${name}; set slot instead`);
  return only;
}

function tokenAt(slot: Handle): ReturnType<Cryptoki['C_GetTokenInfo']> {
  return module().C_GetTokenInfo(slot);
}

function withoutPadding(text: string): string {
  return text.replace(/[\s\0]+$/, '');
}

function find(place: TokenPlace): ThreadAnswer {
  const slot = slotOf(place);
  const { label, serialNumber } = tokenAt(slot);
  return { found: { slot: slot.toString('hex'), name: JSON.stringify([label, serialNumber].map(withoutPadding)) } };
}

function openSession(place: TokenPlace): Handle {
  return module().C_OpenSession(slotOf(place), ck.SERIAL_SESSION);
}

/**
 * Logs out first. The process may be logged in by an earlier use of the module, such as one that never returned, and then the token would
 * not look at the PIN: some modules report an error, others success.
 */
function login(token: TokenPlace, pin: string): void {
  const session = openSession(token);
  try {
    logOut(session);
    module().C_Login(session, ck.USER, pin);
  } catch (error) {
    module().C_CloseSession(session);
    throw error;
  }
}

function logOut(session: Handle): void {
  try {
    module().C_Logout(session);
  } catch {
    // The process is not logged in. If it is, C_Login fails.
  }
}

function findObjects(session: Handle, objectClass: number, { keyLabel, keyId }: KeyPlace, maxCount: number): readonly Handle[] {
  const by = keyId === null ? { type: ck.A_LABEL, value: keyLabel ?? '' } : { type: ck.A_ID, value: Buffer.from(keyId, 'hex') };
  module().C_FindObjectsInit(session, [{ type: ck.A_CLASS, value: objectClass }, by]);
  try {
    return module().C_FindObjects(session, maxCount);
  } finally {
    module().C_FindObjectsFinal(session);
  }
}

function openKey(place: KeyPlace): OpenKey {
  const text = JSON.stringify(place);
  const known = keys.get(text);
  if (known !== undefined) return known;
  const session = openSession(place);
  try {
    const opened = { session, ...readKey(session, place) };
    keys.set(text, opened);
    return opened;
  } catch (error) {
    module().C_CloseSession(session);
    throw error;
  }
}

function readKey(session: Handle, place: KeyPlace): Omit<OpenKey, 'session'> {
  const name = place.keyId === null ? `the label ${JSON.stringify(place.keyLabel)}` : `the id ${place.keyId}`;
  const [privateKey, another] = findObjects(session, ck.PRIVATE_KEY, place, 2);
  if (privateKey === undefined) throw new Error(`the token has no private key with ${name}`);
  if (another !== undefined) throw new Refused(`the token has several private keys with ${name}; set key_id instead`);
  // Objects of earlier keys may still have the name.
  const objects = [...findObjects(session, ck.PUBLIC_KEY, place, maxPublicKeys), privateKey];
  const valuesOf = (type: number): readonly Buffer[] => objects.flatMap((object) => attributeOf(session, object, type) ?? []);
  // Some tokens keep the curve with the public key only.
  const params = attributeOf(session, privateKey, ck.A_EC_PARAMS) ?? valuesOf(ck.A_EC_PARAMS)[0];
  const curve = params?.equals(secp256k1Params) ? 'secp256k1' : ed25519Params.some((one) => params?.equals(one)) ? 'ed25519' : null;
  if (curve === null) throw new Refused(`the key with ${name} is on another curve; must be secp256k1 or ed25519`);
  return { privateKey, curve, points: valuesOf(ck.A_EC_POINT) };
}

function attributeOf(session: Handle, object: Handle, type: number): Buffer | null {
  try {
    const value = module().C_GetAttributeValue(session, object, [{ type }])[0]?.value;
    return value === undefined || value.length === 0 ? null : value;
  } catch {
    return null;
  }
}

function publicKeysOf({ curve, points }: OpenKey): ThreadAnswer {
  const length = curve === 'secp256k1' ? 65 : 32;
  const candidates = points
    // A DER octet string, or the point itself.
    .map((point) => (point.length === length + 2 && point[0] === 4 && point[1] === length ? point.subarray(2) : point))
    .filter((bytes) => bytes.length === length && (curve === 'ed25519' || bytes[0] === 4))
    .map((bytes) => ({ curve, bytes: Uint8Array.from(bytes) }));
  if (candidates.length === 0) throw new Refused('the token does not show the public key of the key; import it with the same label and id');
  return { candidates };
}

function sign(place: KeyPlace, bytes: Uint8Array): ThreadAnswer {
  const { session, privateKey, curve } = openKey(place);
  module().C_SignInit(session, { mechanism: curve === 'secp256k1' ? ck.M_ECDSA : ck.M_EDDSA }, privateKey);
  return { bytes: Uint8Array.from(module().C_Sign(session, Buffer.from(bytes), Buffer.alloc(128))) };
}

function answerTo(request: ThreadRequest): ThreadAnswer {
  if (request.generation !== generation) keys.clear();
  generation = request.generation;
  switch (request.kind) {
    case 'initialize':
      initialize(request.again);
      return { done: true };
    case 'finalize':
      finalize();
      return { done: true };
    case 'find':
      return find(request.token);
    case 'login':
      login(request.token, request.pin);
      return { done: true };
    case 'publicKey':
      return publicKeysOf(openKey(request.key));
    case 'sign':
      return sign(request.key, request.bytes);
  }
}

const pinResults: readonly number[] = [ckr.PIN_INCORRECT, ckr.PIN_INVALID, ckr.PIN_LEN_RANGE, ckr.PIN_EXPIRED, ckr.PIN_LOCKED];
const lastingResults: readonly number[] = [ckr.KEY_TYPE_INCONSISTENT, ckr.KEY_FUNCTION_NOT_PERMITTED, ckr.MECHANISM_INVALID];

function problemOf(error: unknown): ThreadProblem {
  const result = resultOf(error);
  if (result !== undefined && pinResults.includes(result)) return 'pin';
  if (error instanceof Refused || (result !== undefined && lastingResults.includes(result))) return 'refused';
  return cryptoki === null ? 'missing' : 'lost';
}

parentPort?.on('message', (request: ThreadRequest) => {
  let answer: ThreadAnswer;
  try {
    answer = answerTo(request);
  } catch (error) {
    answer = { problem: problemOf(error), message: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(answer);
});
