import { freePort } from '../../src/sandbox/free-port.js';
import { type LaunchedService, launchService, type ServiceHome } from './service.js';
import { waitFor } from './wait-for.js';

/** One of several instances of a service: a process that is started again when it ends. */
export interface Instance {
  readonly port: number;
  readonly baseUrl: string;
  /** The process that runs now, or ran last. */
  process(): LaunchedService;
  /** True if it answers that it is ready. */
  isReady(): Promise<boolean>;
}

/** Several instances on one database. */
export interface Instances {
  readonly all: readonly Instance[];
  /** Resolves to one that is ready. */
  ready(): Promise<Instance>;
  /** What processes that ended have written, oldest first. */
  readonly ended: readonly string[];
  /** Ends all processes and starts none again. */
  stop(): Promise<void>;
}

/** Settings of one instance, by its index. */
type SettingsOf = (index: number) => Readonly<Record<string, string>>;

/** Starts instances of the service in this home, each as soon as the one before it answers. */
export async function startInstances(home: ServiceHome, count: number, settingsOf: SettingsOf = () => ({})): Promise<Instances> {
  const all: Instance[] = [];
  const ended: string[] = [];
  let isStopping = false;

  async function start(index: number): Promise<Instance> {
    const port = await freePort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const env = { ...home.env, ...settingsOf(index), APP_PORT: String(port) };
    let process: LaunchedService;
    const launch = (): void => {
      const launched = launchService({ ...home, env });
      process = launched;
      void launched.exited.then(() => {
        ended.push(launched.output());
        if (!isStopping) launch();
      });
    };
    const statusOf = (path: string) =>
      fetch(`${baseUrl}${path}`, { signal: AbortSignal.timeout(700) }).then(
        ({ status }) => status,
        () => null,
      );
    launch();
    // It is healthy before it serves calls, and may never be ready.
    await waitFor('an instance to listen', () => (/"msg":"listening"/.test(process.output()) ? true : undefined), 60_000);
    return { port, baseUrl, process: () => process, isReady: async () => (await statusOf('/api/v1/ready')) === 200 };
  }

  for (let started = 0; started < count; started += 1) all.push(await start(started));
  return {
    all,
    ended,
    ready: () =>
      waitFor(
        'an instance to be ready',
        async () => {
          for (const instance of all) if (await instance.isReady()) return instance;
          return undefined;
        },
        60_000,
      ),
    async stop() {
      isStopping = true;
      await Promise.all(all.map((instance) => instance.process().kill()));
    },
  };
}
