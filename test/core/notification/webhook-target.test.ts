import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import { checkWebhookTarget } from '../../../src/core/notification/webhook-target.js';

function refusal(url: string, allowPrivateTargets = false): DomainError | null {
  try {
    checkWebhookTarget(url, allowPrivateTargets);
    return null;
  } catch (error) {
    assert(error instanceof DomainError);
    return error;
  }
}

const reserved = [
  // Loopback, in every spelling.
  'http://127.0.0.1/',
  'http://127.1/',
  'http://127.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://127.0.0.1./',
  'http://127.255.255.254/',
  'http://%31%32%37.0.0.1/',
  'http://１２７.０.０.１/',
  'http://127。0。0。1/',
  'http://127.0.0.1\\',
  'http://127.0.0.1\\@hooks.acme.com/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  // Unspecified.
  'http://0/',
  'http://0.0.0.0/',
  'http://0.1.2.3/',
  'http://[::]/',
  // Private.
  'http://10.0.0.1/',
  'http://10.1/',
  'http://0xa.0.0.1/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.1.1/',
  'http://3232235777/',
  // Carrier NAT, link-local, metadata.
  'http://100.64.0.1/',
  'http://100.100.100.200/latest/meta-data/',
  'http://169.254.169.254/latest/meta-data/',
  'http://2852039166/',
  'http://0xa9fea9fe/',
  'http://169.254.43518/',
  'http://168.63.129.16/metadata',
  'http://192.0.0.192/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fc00::1]/',
  'http://[fec0::1]/',
  // Multicast, broadcast, tests, documentation, for the future.
  'http://224.0.0.1/',
  'http://239.255.255.250/',
  'http://255.255.255.255/',
  'http://240.0.0.1/',
  'http://198.18.0.1/',
  'http://192.0.2.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  // IPv4 in IPv6: mapped, compatible, translated, NAT64, 6to4, Teredo.
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:8.8.8.8]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::169.254.169.254]/',
  'http://[64:ff9b:1::a00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'http://192.88.99.1/',
  // Names.
  'http://localhost/',
  'http://localhost:8080/hook',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://localhost../',
  'http://lo\u00adcalhost/',
  'http://ｌｏｃａｌｈｏｓｔ/',
  'http://%6c%6f%63%61%6c%68%6f%73%74/',
  'http://app.localhost/',
  'http://printer.local/',
  'http://metadata.google.internal/computeMetadata/v1/',
  'http://METADATA.GOOGLE.INTERNAL./',
  'http://ip-10-0-0-1.ec2.internal/',
  'http://receiver.default.svc.cluster.local/',
  'http://metadata/',
  'http://receiver:3000/',
  'http://router.lan/',
  'http://nas.home.arpa/',
];

const malformed: readonly (readonly [string, RegExp])[] = [
  ['', /required/],
  ['hooks.acme.com/x', /absolute URL/],
  ['//hooks.acme.com/x', /absolute URL/],
  ['http://', /absolute URL/],
  ['http:127.0.0.1', /absolute URL with a host/],
  ['http:\\\\127.0.0.1\\', /absolute URL with a host/],
  ['https:///a', /absolute URL with a host/],
  ['http:////hooks.acme.com/x', /absolute URL with a host/],
  ['https:hooks.acme.com', /absolute URL with a host/],
  ['https:/hooks.acme.com', /absolute URL with a host/],
  ['https:\\\\hooks.acme.com', /absolute URL with a host/],
  ['https://\\hooks.acme.com', /absolute URL with a host/],
  ['https://?hooks.acme.com', /absolute URL with a host/],
  ['http://a b/', /white space/],
  ['https://hooks.acme.com/a\nb', /white space/],
  ['ht\ttp://hooks.acme.com/', /white space/],
  [' https://hooks.acme.com/', /white space/],
  ['https://hooks.acme.com/\0', /control/],
  ['http://1.2.3.4.5/', /absolute URL/],
  ['http://256.0.0.1/', /absolute URL/],
  ['http://[::1', /absolute URL/],
  ['ftp://hooks.acme.com/', /must begin with http:\/\/ or https:\/\//],
  ['file:///etc/passwd', /must begin with http:\/\/ or https:\/\//],
  ['javascript:alert(1)', /must begin with http:\/\/ or https:\/\//],
  ['gopher://127.0.0.1:25/', /must begin with http:\/\/ or https:\/\//],
  ['https://user@hooks.acme.com/', /a user name or password$/],
  ['https://user:hunter2@hooks.acme.com/', /a user name or password$/],
  ['https://:hunter2@hooks.acme.com/', /a user name or password$/],
  ['https://hooks.acme.com@127.0.0.1/', /a user name or password$/],
  [`https://hooks.acme.com/${'x'.repeat(2026)}`, /2048/],
];

const taken = [
  'https://hooks.acme.com/relayer?token=abc#part',
  'http://hooks.acme.com:8080/',
  'HTTPS://HOOKS.ACME.COM/',
  'https://hooks.acme.com./',
  'https://bücher.de/',
  'https://localhost.acme.com/',
  'https://internal.acme.com/',
  'https://my.locality.com/',
  'http://8.8.8.8/',
  'http://134744072/',
  'http://172.15.0.1/',
  'http://172.32.0.1/',
  'http://100.63.255.255/',
  'http://100.128.0.1/',
  'http://11.0.0.1/',
  'http://223.255.255.255/',
  'https://[2606:4700:4700::1111]/',
  'https://[2001:4860:4860::8888]/',
  `https://hooks.acme.com/${'x'.repeat(2025)}`,
];

describe('webhook target', () => {
  for (const url of reserved) {
    it(`webhook target: rejects ${JSON.stringify(url)}`, () => {
      const error = refusal(url);
      assert.equal(error?.kind, 'invalid');
      assert.equal(error.reason, 'WEBHOOK_TARGET_REFUSED');
      assert.equal(error.fields[0]?.field, 'url');
    });
    it(`webhook target: accepts ${JSON.stringify(url)} if private targets are allowed`, () => assert.equal(refusal(url, true), null));
  }

  for (const [url, why] of malformed) {
    it(`webhook target: always rejects ${JSON.stringify(url.slice(0, 60))}`, () => {
      for (const allowPrivateTargets of [false, true]) {
        const error = refusal(url, allowPrivateTargets);
        assert.equal(error?.reason, 'FIELD_INVALID');
        assert.equal(error.fields[0]?.field, 'url');
        assert.match(error.message, why);
      }
    });
  }

  for (const url of taken) {
    it(`webhook target: accepts ${url.slice(0, 60)}`, () => assert.equal(refusal(url), null));
  }

  it('webhook target: never echoes the URL, which may be secret', () => {
    for (const url of ['https://u:hunter2@hooks.acme.com/', 'http://127.0.0.1/hunter2', 'ftp://x.com/hunter2', 'hunter2']) {
      const error = refusal(url);
      assert(error !== null);
      assert.doesNotMatch(JSON.stringify([error.message, error.fields]), /hunter2/);
    }
  });
});
