import { absent, accepts, type Base, refuses, restOnly, type Sentence, same, strangeTypes, textsOf } from './rows.js';

const hash = 'aB'.repeat(32);
const hashes = { domain_separator: hash, hash_struct_message: hash };
const sign: readonly Base[] = [{ call: 'sign', on: 'evm', rest: textsOf(hashes), rpc: hashes }];
const note = { url: 'https://hooks.example.com/a' };
const create: readonly Base[] = [{ call: 'create', on: 'evm', rest: textsOf(note), rpc: note }];
const update: readonly Base[] = [{ call: 'update', on: 'evm', rest: {}, rpc: {} }];
const both = [...create, ...update];

const urls = [
  'http://hooks.example.com',
  'https://hooks.example.com:8443/a/b?c=d#e',
  'HTTPS://hooks.example.com/',
  'https://8.8.8.8/hook',
  'https://example.com/'.padEnd(2048, 'x'),
];
const noUrls = [
  'x',
  'ftp://example.com/',
  'https://',
  '//example.com',
  'javascript:alert(1)',
  'https://user@example.com/',
  'https://user:secret@example.com/',
].concat([
  'https://example.com/'.padEnd(2049, 'x'),
  'http://127.0.0.1/',
  'http://10.0.0.1/',
  'http://192.168.1.1/',
  'http://169.254.169.254/latest',
  'http://[::1]/',
  'http://localhost/',
]);

/** Signing and notifications. */
export const otherSentences: readonly Sentence[] = [
  ...Object.keys(hashes).map(
    (field): Sentence => ({
      says: `4.2: ${field} is a string and required; contract: 32 bytes of hex, 0x optional`,
      rows: [
        ...accepts(
          sign,
          field,
          same(
            `"${hash}"`,
            `"0x${hash}"`,
            `"${hash.toLowerCase()}"`,
            `"0x${hash.toUpperCase()}"`,
            `"${'0'.repeat(64)}"`,
            `"0x${'f'.repeat(64)}"`,
          ),
        ),
        ...refuses(sign, field, [
          ...absent,
          ...same(
            '""',
            '"0x"',
            `"0X${hash}"`,
            `"${hash.slice(1)}"`,
            `"${hash}0"`,
            `"${hash}00"`,
            `"${'g'.repeat(64)}"`,
            `" ${hash}"`,
            `"${hash} "`,
            '"hello"',
          ),
        ]),
        ...refuses(sign, field, restOnly('5', '0', ...strangeTypes, `[${Array.from({ length: 32 }, () => 1).join(',')}]`)),
      ],
    }),
  ),
  {
    says: 'contract: a field that signing does not define is 400 naming it',
    rows: ['salt', 'hash', 'domainSeparator'].flatMap((field) => refuses(sign, field, restOnly('1'))),
  },
  {
    says: '4.3: id is a string and not required; contract: 1 to 36 of A-Z a-z 0-9 _ -',
    rows: [
      ...accepts(create, 'id', absent),
      ...refuses(create, 'id', same('"a b"', '"a.b"', '"é"', `"${'a'.repeat(37)}"`, '"a/b"', '"a\\n"')),
      ...refuses(create, 'id', restOnly('5', ...strangeTypes)),
    ],
  },
  {
    says: '4.3, 4.4: url is a string; contract: http or https, at most 2048 characters, no user info, no private address',
    rows: [
      ...urls.flatMap((url) => accepts(both, 'url', same(JSON.stringify(url)), () => url)),
      ...refuses(both, 'url', same(...noUrls.map((url) => JSON.stringify(url)))),
      ...refuses(both, 'url', restOnly('5', ...strangeTypes)),
      ...refuses(create, 'url', [...absent, ...same('""')]),
      ...accepts(update, 'url', absent),
    ],
  },
  {
    says: '4.3, 4.4: type is webhook and not required',
    rows: [
      ...accepts(both, 'type', [...absent, { rest: '"webhook"', rpc: 'NOTIFICATION_TYPE_WEBHOOK' }]),
      ...refuses(both, 'type', restOnly('"Webhook"', '"WEBHOOK"', '"email"', '""', '5', '1', ...strangeTypes)),
    ],
  },
  {
    says: '4.3: signing_key is a string and not required; has_signing_key tells whether one is set',
    rows: [
      ...accepts(create, 'signing_key', [...absent, ...same('""')]),
      ...accepts(create, 'signing_key', same('"k"', `"${'k'.repeat(32)}"`, '"é😀"', '" "', `"${'k'.repeat(8192)}"`)),
    ],
  },
  {
    says: '4.3, 4.4: signing_key is nothing else; deviation: at most 8,192 bytes, no lone surrogate',
    rows: [
      ...refuses(both, 'signing_key', same(`"${'k'.repeat(8193)}"`, `"${'é'.repeat(4097)}"`)),
      ...refuses(both, 'signing_key', restOnly('5', '"\\ud800"', ...strangeTypes)),
    ],
  },
  {
    says: '4.4: all fields are optional, an empty object is valid, and null means absent',
    rows: ['signing_key', 'type', 'url'].flatMap((field) => accepts(update, field, absent)),
  },
  {
    says: 'contract: a field that notifications do not define is 400 naming it',
    rows: ['uri', 'key', 'has_signing_key', 'signingKey'].flatMap((field) => refuses(both, field, restOnly('1'))),
  },
];
