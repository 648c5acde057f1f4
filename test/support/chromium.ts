import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's path. */
const executablePath = '/usr/bin/chromium';

/** The reason for which browser tests are skipped, or false. */
export const skipWithoutChromium: string | false = existsSync(executablePath)
  ? false
  : `skipped: this machine has no ${executablePath} (apt-get install chromium)`;

/** Starts a headless browser that makes no requests of its own. */
export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
