import { hostedTypes } from '../codec/signer-values.js';
import type { ConfiguredLimits, HostedType, SignerLimits } from '../core/signer/hosted-key.js';
import { type AddressRanges, addressRangesFrom } from '../core/text/address-ranges.js';
import { httpUrlFrom } from '../core/text/http-url.js';
import { syntaxes } from '../core/text/text-syntax.js';
import type { DelayLimits } from '../core/transaction/delays.js';

/** A setting's value, or what is wrong with its text, as a text that follows the name and a colon. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string };

/** Accepts any text. */
export function text(input: string): Parsed<string> {
  return { value: input };
}

/** Accepts any text; empty is null. */
export function optionalText(input: string): Parsed<string | null> {
  return { value: input === '' ? null : input };
}

/** Accepts the value of an HTTP header; empty is null. */
export function optionalHeader(input: string): Parsed<string | null> {
  if (input === '') return { value: null };
  return /^[!-~]+$/.test(input) ? { value: input } : { problem: 'must have only visible ASCII characters, without spaces' };
}

/** Accepts an http or https URL; empty is null. */
export function optionalHttpUrl(input: string): Parsed<string | null> {
  if (input === '') return { value: null };
  return httpUrlFrom(input) === null ? { problem: syntaxes.http_url.description } : { value: input };
}

/** Accepts a decimal integer from `min` to `max`. */
export function integer(min: number, max: number): (input: string) => Parsed<number> {
  return (input) => {
    const value = Number(input);
    if (/^\d{1,16}$/.test(input) && value >= min && value <= max) return { value };
    return { problem: `must be an integer from ${min} to ${max}` };
  };
}

/** Accepts a port; empty is none, and 0 any free one. */
export function portOrNone(input: string): Parsed<number | null> {
  return input === '' ? { value: null } : integer(0, 65_535)(input);
}

/** Accepts `true` or `false`. */
export function trueOrFalse(input: string): Parsed<boolean> {
  if (input === 'true' || input === 'false') return { value: input === 'true' };
  return { problem: 'must be true or false' };
}

/** Accepts one of these lower-case texts, in any case. */
export function oneOf<T extends string>(choices: readonly T[]): (input: string) => Parsed<T> {
  return (input) => {
    const value = choices.find((choice) => choice === input.toLowerCase());
    return value === undefined ? { problem: `must be one of ${choices.join(', ')}` } : { value };
  };
}

/** Log levels, from the most verbose. */
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error'] as const;

/** Accepts at least 32 visible ASCII characters: a header cannot carry others. */
export function apiKey(input: string): Parsed<string> {
  if (input.length < 32) return { problem: `has ${input.length} characters; at least 32 are required` };
  if (!/^[\x21-\x7e]+$/.test(input)) return { problem: 'must have only visible ASCII characters, without spaces' };
  return { value: input };
}

/** Accepts an API key, or none. */
export function optionalApiKey(input: string): Parsed<string | null> {
  return input === '' ? { value: null } : apiKey(input);
}

/** Accepts standard base64 of exactly 32 bytes. */
export function base64Key(input: string): Parsed<string> {
  const bytes = Buffer.from(input, 'base64');
  // Node's decoder skips characters that it does not know; encoding again shows whether it did.
  if (bytes.length === 32 && bytes.toString('base64') === input) return { value: input };
  return { problem: 'must be base64 of exactly 32 bytes; to create one: openssl rand -base64 32' };
}

/** Accepts `sqlite:<file>` (a file, no host) or `postgres://...`, whose parts `src/storage` checks. */
export function databaseUrl(input: string): Parsed<string> {
  if (/^sqlite:(?!\/\/[^/])(?!:memory:)./.test(input)) return { value: input };
  if (/^postgres(?:ql)?:\/\/./.test(input)) return { value: input };
  return { problem: 'must be sqlite:<file> or postgres://<user>:<password>@<host>:<port>/<database>' };
}

/** Accepts waiting times in seconds, separated by commas. */
export function secondsList(input: string): Parsed<readonly number[]> {
  const parts = listed(input);
  if (parts.length > 0 && parts.every((part) => /^\d{1,7}(?:\.\d{1,3})?$/.test(part))) return { value: parts.map(Number) };
  return { problem: 'must be seconds separated by commas, for example 5,30,120' };
}

/** Accepts web origins separated by commas; empty is none. */
export function origins(input: string): Parsed<readonly string[]> {
  const parts = listed(input);
  if (parts.every((part) => URL.canParse(part) && new URL(part).origin === part)) return { value: parts };
  return { problem: 'must be origins separated by commas, for example https://app.example.com, without a path or a trailing slash' };
}

/** The largest limits that can be configured: enough for every provider, and few enough for connections and timers. */
const maxLimits = { parallel: 1_000, perSecond: 100_000 };

/** The service itself signs with keys of type `vault`. */
const limitedTypes = hostedTypes.filter((type) => type !== 'vault');

/** Accepts `<type>=<calls at once>` or `<type>=<calls at once>/<calls per second>`, separated by commas; empty is none. */
export function signerLimits(input: string): Parsed<SignerLimits> {
  const limits = new Map<HostedType, ConfiguredLimits>();
  for (const part of listed(input)) {
    const [, name, parallel, perSecond] = /^([a-z0-9_]+)=(\d{1,6})(?:\/(\d{1,6}))?$/.exec(part) ?? [];
    if (name === undefined)
      return {
        problem: `cannot parse ${JSON.stringify(part)}; expected <type>=<parallel>/<per second>, for example aws_kms=64/1000,turnkey=8/10`,
      };
    const type = limitedTypes.find((one) => one === name);
    if (type === undefined) return { problem: `has the unknown type ${JSON.stringify(name)}; must be one of ${limitedTypes.join(', ')}` };
    if (limits.has(type)) return { problem: `has the type ${JSON.stringify(type)} twice` };
    const given = { parallel: Number(parallel), perSecond: Number(perSecond ?? 1) };
    for (const key of ['parallel', 'perSecond'] as const) {
      const what = key === 'parallel' ? 'calls at once' : 'calls per second';
      if (given[key] < 1 || given[key] > maxLimits[key]) return { problem: `${what} of ${type} must be from 1 to ${maxLimits[key]}` };
    }
    limits.set(type, perSecond === undefined ? { parallel: given.parallel } : given);
  }
  return { value: limits };
}

/** How `SERVICE_IDENTITY_KEYS` names keys, by type: the place where keys are, and a key or its beginning. */
const identityKeySyntax: Readonly<Record<string, RegExp>> = {
  aws_kms: /^(?:\*|[a-z0-9-]+\/[^*]*\*?)$/,
  azure_key_vault: /^(?:\*|https?:\/\/[a-z0-9.:-]+\/[^*/]*\*?)$/,
};

/** Accepts names of keys, `<type>=<place>/<key>`, separated by commas; one that ends with `*` is the beginning of names. */
export function identityKeys(input: string): Parsed<readonly string[]> {
  const names = listed(input);
  const wrong = names.find((name) => {
    const [type = '', ...place] = name.split('=');
    return !(Object.hasOwn(identityKeySyntax, type) && identityKeySyntax[type]?.test(place.join('=')));
  });
  if (wrong === undefined) return { value: names };
  const expected = 'aws_kms=<region>/<key_id> or azure_key_vault=<vault_url>/<key_name>, where only the end may be *';
  return { problem: `cannot parse ${JSON.stringify(wrong)}; expected ${expected}` };
}

/** Twice the time after which the lane raises the fee. */
const defaultDelaySeconds: DelayLimits = { fastest: 60, fast: 120, average: 240, safeLow: 600 };
const maxDelaySeconds = 604_800;

/** Accepts `off` (null), or `<speed>=<seconds>` separated by commas, in milliseconds. */
export function delayLimits(input: string): Parsed<DelayLimits | null> {
  if (input === 'off') return { value: null };
  const seconds = new Map<string, number>();
  for (const part of listed(input)) {
    const [, name = '', text = ''] = /^([A-Za-z]+)=(\d{1,6})$/.exec(part) ?? [];
    if (name === '') return { problem: `cannot parse ${JSON.stringify(part)}; expected <speed>=<seconds>, for example fast=120, or off` };
    if (!Object.hasOwn(defaultDelaySeconds, name))
      return { problem: `has the unknown speed ${JSON.stringify(name)}; must be one of ${Object.keys(defaultDelaySeconds).join(', ')}` };
    if (seconds.has(name)) return { problem: `has the speed ${JSON.stringify(name)} twice` };
    if (Number(text) < 1 || Number(text) > maxDelaySeconds) return { problem: `seconds of ${name} must be from 1 to ${maxDelaySeconds}` };
    seconds.set(name, Number(text));
  }
  const limit = (speed: keyof DelayLimits) => 1_000 * (seconds.get(speed) ?? defaultDelaySeconds[speed]);
  return { value: { fastest: limit('fastest'), fast: limit('fast'), average: limit('average'), safeLow: limit('safeLow') } };
}

/** Accepts an amount in units of a currency with 18 decimals, in its smallest unit; 0 is null, empty is undefined. */
export function nativeAmountOrOff(input: string): Parsed<bigint | null | undefined> {
  if (input === '') return { value: undefined };
  const [, whole = '', fraction = ''] = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(input) ?? [];
  if (whole === '') return { problem: 'must be 0, or an amount with up to 18 decimals, for example 1 or 0.05' };
  const smallest = BigInt(whole + fraction.padEnd(18, '0'));
  return { value: smallest === 0n ? null : smallest };
}

/** Accepts addresses and ranges of addresses, separated by commas; empty is none. */
export function addressRanges(input: string): Parsed<AddressRanges> {
  const value = addressRangesFrom(listed(input));
  return value === null ? { problem: 'must be IP addresses or ranges such as 10.0.0.0/8, separated by commas' } : { value };
}

const maxHours = 876_000;

/** Accepts `off` (null), or hours above 0, with decimals. */
export function hoursOrOff(input: string): Parsed<number | null> {
  if (input === 'off') return { value: null };
  const value = Number(input);
  if (/^\d{1,6}(?:\.\d{1,6})?$/.test(input) && value > 0 && value <= maxHours) return { value };
  return { problem: `must be off, or a number of hours above 0 and up to ${maxHours}, for example 4 or 0.5` };
}

/** Accepts host names and addresses without ports, separated by commas. */
export function hosts(input: string): Parsed<ReadonlySet<string>> {
  const names = listed(input);
  const parsed = names.map((name) => (URL.canParse(`http://${name}`) ? new URL(`http://${name}`) : undefined));
  const isHost = (url: URL | undefined, index: number) => url !== undefined && url.hostname === names[index]?.toLowerCase();
  if (!parsed.every(isHost)) return { problem: 'must be host names without ports, separated by commas' };
  return { value: new Set(parsed.flatMap((url) => url?.hostname ?? [])) };
}

function listed(input: string): readonly string[] {
  return input
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
