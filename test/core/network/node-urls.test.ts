import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import { checkNodeUrls, nodeUrlProblems, unmaskedUrls } from '../../../src/core/network/node-urls.js';
import { maskedUrl } from '../../../src/core/text/masked-url.js';

function refusal(urls: readonly (string | { readonly url: string; readonly weight: number })[]): string {
  try {
    checkNodeUrls(
      'rpc_urls',
      urls.map((one) => (typeof one === 'string' ? { url: one, weight: 100 } : one)),
    );
  } catch (error) {
    assert.ok(error instanceof DomainError);
    assert.ok(!error.message.includes('secret'), 'providers’ keys are never said back');
    return error.message;
  }
  return 'none';
}

describe('RPC URLs', () => {
  it('RPC URLs: are masked after the host, if they hold more', () => {
    for (const plain of ['https://eth.example.com', 'https://eth.example.com/', 'wss://eth.example.com:8443', 'HTTP://127.0.0.1:8545'])
      assert.equal(maskedUrl(plain), plain);
    for (const more of [
      'https://secret@a',
      'https://:secret@a/',
      'https://a?secret',
      'https://a/#secret',
      'https://a/secret',
      'https://a//',
    ])
      assert.equal(maskedUrl(more), 'https://a/***');
    assert.equal(maskedUrl('https://eth.example.com:8443/v2/secret?key=secret'), 'https://eth.example.com:8443/***');
    assert.equal(maskedUrl('http://user:secret@127.0.0.1:8545'), 'http://127.0.0.1:8545/***');
    assert.equal(maskedUrl('wss://user:secret@eth.example.com/ws/v3/secret'), 'wss://eth.example.com/***');
  });

  const key = { url: 'https://a/v2/secret', weight: 100, headers: [{ name: 'X-Key', value: 'secret' }] };
  const plain = { url: 'https://b/', weight: 1, headers: [{ name: 'X-Key', value: 'another' }] };
  const [shownKey, shownHeader] = ['https://a/***', { name: 'x-key', value: '***' }];
  for (const [what, sent, stored, expected] of [
    ['a masked URL keeps what is stored but its weight', { url: shownKey, weight: 2 }, [plain, key], { ...key, weight: 2 }],
    ['a masked header keeps its value', { url: shownKey, weight: 100, headers: [shownHeader] }, [plain, key], key],
    ['a masked header of a plain URL too', { url: 'https://b/', weight: 1, headers: [shownHeader] }, [plain, key], plain],
    ['other headers replace those that are stored', { ...plain, url: shownKey }, [key], { ...plain, url: key.url }],
    ['a complete URL is what it says', { url: 'https://a/v3', weight: 1 }, [key], { url: 'https://a/v3', weight: 1 }],
    ['a masked URL of another host', { url: 'https://c/***', weight: 1 }, [key], null],
    ['a masked URL that is that of two', { url: shownKey, weight: 1 }, [key, { ...key, url: 'https://a/v3/secret' }], null],
    ['a masked header of another URL', { url: 'https://c/', weight: 1, headers: [shownHeader] }, [key, plain], null],
    ['a masked header of a complete URL of the same host', { url: 'https://a/v3', weight: 1, headers: [shownHeader] }, [key], null],
    ['a masked header that is not stored', { url: shownKey, weight: 1, headers: [{ name: 'Y', value: '***' }] }, [key], null],
  ] as const)
    it(`RPC URLs: what was read is sent back: ${what}${expected === null ? ' is refused' : ''}`, () => {
      const found = unmaskedUrls([sent], stored);
      if (expected !== null) assert.deepEqual(found, [expected]);
      assert.equal(nodeUrlProblems('rpc_urls', found).length > 0, expected === null);
    });

  for (const [what, urls, expected] of [
    ['http and https', ['http://127.0.0.1:8545', 'HTTPS://eth.example.com/v2/secret?key=1'], 'none'],
    ['no URL at all, which is for its caller to judge', [], 'none'],
    ['ws and wss', ['ws://127.0.0.1:8545', 'WSS://eth.example.com/v2/secret?key=1'], 'none'],
    [
      'another protocol',
      ['ftp://eth.example.com/secret'],
      'rpc_urls[0].url must be a URL that begins with http://, https://, ws:// or wss://',
    ],
    ['what is no URL', ['http://[secret'], 'rpc_urls[0].url must be a URL that begins with http://, https://, ws:// or wss://'],
    ...['https:///a', 'http:////a/b', 'https:a', 'https:/a', 'https:\\\\a', 'https://\\a', 'https://?a', 'https://#a'].map(
      (url) =>
        [`${url}, which has no host`, [url], 'rpc_urls[0].url must be a URL that begins with http://, https://, ws:// or wss://'] as const,
    ),
    ['white space', ['http://a/ secret'], 'rpc_urls[0].url must be a URL that begins with http://, https://, ws:// or wss://'],
    ['one that was masked', ['http://a/secret', 'https://eth.example.com/***'], 'rpc_urls[1].url is masked; send the complete URL'],
    ['one that is too long', [`http://a/${'x'.repeat(2048)}`], 'rpc_urls[0].url must be at most 2048 characters'],
    ['too many', Array.from({ length: 21 }, () => 'http://a/'), 'rpc_urls must have at most 20 items'],
    ['none that is used', [{ url: 'http://a/', weight: 0 }], 'rpc_urls must have at least one item with a weight above 0'],
  ] as const) {
    it(`RPC URLs: ${expected === 'none' ? 'accepts' : 'rejects'} ${what}`, () => assert.equal(refusal(urls), expected));
  }

  const one = (name: string, value = 'secret') => [{ name, value }];
  const refused = 'is a header that only the service or a proxy sets';
  for (const [what, headers, expected] of [
    ['a key', [...one('X-Api-Key'), ...one('Authorization', 'Bearer secret key')], null],
    ['16', Array.from({ length: 16 }, (_, index) => ({ name: `X-${index}`, value: 'a' })), null],
    ['17', Array.from({ length: 17 }, (_, index) => ({ name: `X-${index}`, value: 'a' })), ['headers', 'must have at most 16 items']],
    ['one twice', [...one('X-Api-Key'), ...one('x-api-key', 'a')], ['headers[1].name', 'is the name of another item']],
    ...['Host', 'content-length', 'Content-Type', 'TE', 'Connection', 'Proxy-Authorization', 'Sec-WebSocket-Key', 'traceparent'].map(
      (name) => [name, one(name), ['headers[0].name', refused]] as const,
    ),
    ...['Metadata-Flavor', 'Metadata', 'X-aws-ec2-metadata-token'].map(
      (name) => [`${name}, which opens a metadata service`, one(name), ['headers[0].name', refused]] as const,
    ),
    ...['', 'a b', 'a:', 'a\r\nHost', 'ä', 'a'.repeat(65)].map(
      (name) =>
        [JSON.stringify(name), one(name), ['headers[0].name', 'must be 1 to 64 characters from A-Z, a-z, 0-9, -, _ and .']] as const,
    ),
    ...['', ' secret', 'secret ', 'secret\r\nHost: a', 'secret\u0000', 'secretä', 's'.repeat(4097)].map(
      (value) =>
        [
          `the value ${JSON.stringify(value.slice(0, 20))}`,
          one('X-Api-Key', value),
          ['headers[0].value', 'must be 1 to 4096 printable ASCII characters, without a space at the beginning or the end'],
        ] as const,
    ),
    ['a masked value', one('X-Api-Key', '***'), ['headers[0].value', 'is masked; send the complete value']],
  ] as const) {
    it(`RPC headers: ${expected === null ? 'accepts' : 'rejects'} ${what}`, () => {
      const problems = nodeUrlProblems('rpc_urls', [{ url: 'https://a/', weight: 100, headers }]);
      assert.deepEqual(problems, expected === null ? [] : [{ field: `rpc_urls[0].${expected[0]}`, description: expected[1] }]);
    });
  }

  it('RPC headers: rejects Authorization beside a user in the URL, which becomes the same header', () => {
    const [problem] = nodeUrlProblems('rpc_urls', [{ url: 'https://user:pass@a/', weight: 100, headers: one('authorization') }]);
    assert.deepEqual(problem, {
      field: 'rpc_urls[0].headers[0].name',
      description: 'must not be Authorization, because the URL has a user name',
    });
  });

  for (const type of ['stellar', 'solana'] as const) {
    it(`RPC URLs: rejects a WebSocket on ${type}, whose nodes answer no calls there`, () => {
      const urls = [{ url: 'wss://node.example.com/', weight: 100 }];
      const expected = /^rpc_urls\[0\]\.url must begin with http:\/\/ or https:\/\/; only EVM nodes answer ws and wss$/;
      assert.throws(() => checkNodeUrls('rpc_urls', urls, { type }), { message: expected });
      assert.doesNotThrow(() => checkNodeUrls('rpc_urls', urls, { type: 'evm' }));
    });
  }
});
