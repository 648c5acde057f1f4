import { startApp } from '../../src/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { type Ask, askRest, type RestAnswer } from './app-rig.js';
import { createEd25519Home, type Ed25519HomeOptions } from './ed25519-home.js';
import type { ServiceHome } from './service.js';
import { silentLog } from './stored-samples.js';

/** The whole service in this process, with the relayer r1 on a network of ed25519 keys. */
export interface Ed25519App {
  readonly home: ServiceHome;
  readonly baseUrl: string;
  ask(verb: string, path: string, ask?: Ask): Promise<RestAnswer>;
  stop(): Promise<void>;
}

/** Starts it on a free port of the loopback address. Without `rpcUrls` nothing listens where its node should be: transactions stay pending. */
export async function startEd25519App({
  rpcUrls = ['http://127.0.0.1:9'],
  ...options
}: Partial<Ed25519HomeOptions> & Pick<Ed25519HomeOptions, 'network'>): Promise<Ed25519App> {
  const home = await createEd25519Home({ rpcUrls, ...options });
  const { settings, config } = await loadConfiguration(home.env);
  const app = await startApp(settings, config, silentLog);
  return {
    home,
    baseUrl: `http://127.0.0.1:${app.port}`,
    ask: (verb, path, ask = {}) => askRest(app.port, verb, path, ask),
    async stop() {
      await app.stop();
      await home.remove();
    },
  };
}
