/* `npm run suite -- screenshots [-- --out screenshots]`: pictures of every view of the console, and the one of the README. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { skipWithoutChromium, startChromium } from '../support/chromium.js';
import { openConsole, viewsOf } from '../support/console-page.js';
import { startConsoleRig } from '../support/console-rig.js';
import { fillConsole } from '../support/console-world.js';

const { values: options } = parseArgs({ options: { out: { type: 'string', default: 'screenshots' } } });
if (skipWithoutChromium !== false) throw new Error(skipWithoutChromium);

const sizes = [
  { name: 'wide', width: 1440, height: 900 },
  { name: 'phone', width: 360, height: 780 },
] as const;

const rig = await startConsoleRig();
const browser = await startChromium();
try {
  const views = viewsOf(await fillConsole(rig));
  const overview = views.find(({ name }) => name === 'overview');
  if (overview === undefined) throw new Error('no view is named overview');
  await mkdir(options.out, { recursive: true });
  for (const { name: size, width, height } of sizes) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, visit, close } = await openConsole(browser, { baseUrl: rig.baseUrl, key: rig.keys.all, width, height, colorScheme });
      // Where it points at nothing.
      await page.mouse.move(0, 0);
      await visit(overview);
      // The service reads balances while an overview is open, so they are known a moment after the page opens.
      await page.locator('td[data-title="Balance"]', { hasText: 'unknown' }).first().waitFor({ state: 'detached' });
      for (const view of views) {
        await visit(view);
        await page.screenshot({ path: join(options.out, `${view.name}-${size}-${colorScheme}.png`), fullPage: true });
        if (view.name !== 'lane' || size !== 'wide' || colorScheme !== 'light') continue;
        const { y, height: panelHeight } = (await page.locator('.lane-panel').boundingBox()) ?? { y: 0, height };
        await mkdir('docs/images', { recursive: true });
        await page.screenshot({
          path: 'docs/images/console.png',
          fullPage: true,
          clip: { x: 0, y: 0, width, height: y + panelHeight + 14 },
        });
      }
      await close();
    }
  }
  process.stdout.write(`screenshots of ${views.length} views are in ${options.out}; docs/images/console.png is new\n`);
} finally {
  await browser.close();
  await rig.stop();
}
