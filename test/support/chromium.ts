import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where Debian puts it. */
const executablePath = '/usr/bin/chromium';

/** Why tests of pages are skipped; false where they can run. */
export const skipWithoutChromium: string | false = existsSync(executablePath)
  ? false
  : `skipped: this machine has no ${executablePath} (apt-get install chromium)`;

/** Starts a browser without a window, which asks nobody for anything by itself. */
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
