import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { before, describe, it } from 'node:test';
import { verifyWebhook } from '../../examples/webhooks/verify.js';
import { verifyWebhook as verifyWithLibrary } from '../../examples/webhooks/verify-with-library.js';
import { verifyWebhook as verifyByClient } from '../../src/client/verify-webhook.js';
import { signatureHeaders } from '../../src/webhooks/sign-delivery.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** A delivery to a receiver that has `signingKey`. */
interface Delivered {
  readonly signingKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

interface Case {
  readonly name: string;
  readonly isGenuine: boolean;
  readonly delivered: Delivered;
}

/** Returns true for each delivery that a language's example accepts, or why the example cannot run here. Makes them when it is ready, because they age. */
type Judge = (deliver: () => readonly Delivered[]) => Promise<readonly boolean[] | string>;

const folder = 'examples/webhooks';
const library = 'standardwebhooks==1.1.0';
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const event = Buffer.from('{"id":"0190","event":"transaction_update","payload":{"value":123456789012345678901234567890,"text":"ü ✓"}}');
const plain = 'a signing key of more than 32 characters';
const encoded = `whsec_${randomBytes(32).toString('base64')}`;
/** Made when they are verified, because their times must be recent. */
const makeCases = (): readonly Case[] => casesOf(plain).concat(casesOf(encoded));

function sign(signingKey: string, timestampSeconds = nowSeconds(), retiredKeys: readonly string[] = []): Delivered {
  return {
    signingKey,
    headers: signatureHeaders({ id: '0190', body: event, timestampSeconds, signingKey, retiredKeys }),
    body: event,
  };
}

function casesOf(key: string): Case[] {
  const good = sign(key);
  const withHeader = (name: string, value: string) => ({ ...good, headers: { ...good.headers, [name]: value } });
  const without = (name: string) => ({
    ...good,
    headers: Object.fromEntries(Object.entries(good.headers).filter(([header]) => header !== name)),
  });
  const flipped = Buffer.from(event);
  flipped[20] = (flipped[20] ?? 0) ^ 1;
  const genuine = (name: string, delivered: Delivered): Case => ({ name, isGenuine: true, delivered });
  const forged = (name: string, delivered: Delivered): Case => ({ name, isGenuine: false, delivered });
  return [
    genuine('a delivery', good),
    genuine('one that is four minutes old', sign(key, nowSeconds() - 240)),
    genuine('one for a receiver that has the key before', {
      ...sign('the next key of this notification', nowSeconds(), [key]),
      signingKey: key,
    }),
    genuine('one for a receiver that has the new key', sign(key, nowSeconds(), ['the key before, which was retired'])),
    forged('a flipped bit', { ...good, body: flipped }),
    forged('a byte more', { ...good, body: Buffer.concat([event, Buffer.from(' ')]) }),
    forged('another id', withHeader('webhook-id', '0191')),
    forged('another timestamp', withHeader('webhook-timestamp', `${nowSeconds() - 1}`)),
    forged('one that is ten minutes old', sign(key, nowSeconds() - 600)),
    forged('one that is from the future', sign(key, nowSeconds() + 600)),
    forged('a timestamp that is no number', withHeader('webhook-timestamp', 'now')),
    forged('another key', { ...good, signingKey: `${key.slice(0, -5)}AAAA=` }),
    forged('a signature cut short', withHeader('webhook-signature', (good.headers['webhook-signature'] ?? '').slice(0, 20))),
    forged('an empty signature', withHeader('webhook-signature', 'v1,')),
    forged(
      'a signature of another version',
      withHeader('webhook-signature', (good.headers['webhook-signature'] ?? '').replace('v1,', 'v1a,')),
    ),
    forged('no signature', without('webhook-signature')),
    forged('no id', without('webhook-id')),
    forged('no timestamp', without('webhook-timestamp')),
  ].map((one) => ({ ...one, name: `${one.name} (${key.startsWith('whsec_') ? 'whsec_ key' : 'plain key'})` }));
}

function accepts(verify: () => unknown): boolean {
  try {
    verify();
    return true;
  } catch {
    return false;
  }
}

/** The input of the programs below: one line of JSON. */
function asInput(delivered: readonly Delivered[]): string {
  return JSON.stringify(delivered.map(({ signingKey, headers, body }) => ({ signingKey, headers, body: body.toString('base64') })));
}

function run(command: string, args: readonly string[], cwd: string, input: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(command, args, { cwd }, (error, stdout) => (error === null ? resolve(stdout) : reject(error)));
    child.stdin?.end(input);
  });
}

const pythonProgram = `
import base64, json, sys
from verify import verify_webhook
def accepts(one):
    try:
        verify_webhook(one["signingKey"], one["headers"], base64.b64decode(one["body"]))
        return True
    except ValueError:
        return False
print(json.dumps([accepts(one) for one in json.load(sys.stdin)]))
`;

const pythonLibraryProgram = `
import base64, json, sys
from standardwebhooks.webhooks import WebhookVerificationError
from verify_with_library import verify_webhook
def accepts(one):
    try:
        verify_webhook(one["signingKey"], one["headers"], base64.b64decode(one["body"]))
        return True
    except (WebhookVerificationError, ValueError):
        return False
print(json.dumps([accepts(one) for one in json.load(sys.stdin)]))
`;

/** Installs the library, once for all runs of this build's folder. Returns the folder that has it; null if pip cannot install it. */
async function pythonLibrary(): Promise<string | null> {
  const installed = resolve('dist/test/python', library);
  if (existsSync(installed)) return installed;
  await mkdir(dirname(installed), { recursive: true });
  const [environment, target] = [await temporaryFolder(), await mkdtemp(`${installed}-`)];
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries', '0', '--timeout', '20'];
  try {
    await run('python3', ['-m', 'venv', environment], folder, '');
    await run(join(environment, 'bin', 'python'), [...pip, '--target', target, library], folder, '');
    await rename(target, installed);
    return installed;
  } catch {
    await rm(target, { recursive: true, force: true });
    // Another run may have installed it meanwhile.
    return existsSync(installed) ? installed : null;
  }
}

const goProgram = `package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"

	"example/webhooks"
)

func main() {
	var all []struct {
		SigningKey string
		Headers    map[string]string
		Body       []byte
	}
	if err := json.NewDecoder(os.Stdin).Decode(&all); err != nil {
		panic(err)
	}
	answers := make([]bool, len(all))
	for index, one := range all {
		headers := http.Header{}
		for name, value := range one.Headers {
			headers.Set(name, value)
		}
		answers[index] = webhooks.Verify(one.SigningKey, headers, one.Body, time.Now()) == nil
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
`;

const languages: readonly { readonly name: string; readonly probe: readonly [string, ...string[]] | null; readonly judge: Judge }[] = [
  {
    name: 'TypeScript',
    probe: null,
    judge: async (deliver) => deliver().map(({ signingKey, headers, body }) => accepts(() => verifyWebhook(signingKey, headers, body))),
  },
  {
    name: 'TypeScript with standardwebhooks',
    probe: null,
    judge: async (deliver) => deliver().map(({ signingKey, headers, body }) => accepts(() => verifyWithLibrary(signingKey, headers, body))),
  },
  {
    name: "TypeScript with the package's client",
    probe: null,
    judge: (deliver) =>
      Promise.all(
        deliver().map(({ signingKey, headers, body }) =>
          verifyByClient(signingKey, new Headers(headers), body).then(
            () => true,
            () => false,
          ),
        ),
      ),
  },
  {
    name: 'Python',
    probe: ['python3', '--version'],
    judge: async (deliver) => JSON.parse(await run('python3', ['-B', '-c', pythonProgram], folder, asInput(deliver()))),
  },
  {
    name: 'Python with standardwebhooks',
    probe: ['python3', '--version'],
    judge: async (deliver) => {
      const installed = await pythonLibrary();
      if (installed === null) return 'pip cannot install standardwebhooks here';
      const program = `import sys; sys.path.insert(0, ${JSON.stringify(installed)})\n${pythonLibraryProgram}`;
      return JSON.parse(await run('python3', ['-B', '-c', program], folder, asInput(deliver())));
    },
  },
  {
    name: 'Go',
    probe: ['go', 'version'],
    judge: async (deliver) => {
      const dir = await temporaryFolder({ 'go.mod': 'module example\n\ngo 1.20\n', 'main.go': goProgram });
      await mkdir(join(dir, 'webhooks'));
      await copyFile(join(folder, 'verify.go'), join(dir, 'webhooks', 'verify.go'));
      return JSON.parse(await run('go', ['run', '.'], dir, asInput(deliver())));
    },
  },
];

for (const { name, probe, judge } of languages) {
  const isMissing = probe !== null && spawnSync(probe[0], probe.slice(1)).status !== 0;
  describe(`the example in ${name}`, { skip: isMissing ? `${probe[0]} is not installed here` : false }, () => {
    let verdicts: readonly boolean[] | string;
    before(async () => {
      verdicts = await judge(() => makeCases().map(({ delivered }) => delivered));
    });
    makeCases().forEach(({ name: what, isGenuine }, index) => {
      it(`${isGenuine ? 'accepts' : 'rejects'} ${what}`, (test) => {
        if (typeof verdicts === 'string') test.skip(verdicts);
        else assert.equal(verdicts[index], isGenuine);
      });
    });
  });
}
