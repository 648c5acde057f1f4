import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import { type Health, HealthCheckResponse_ServingStatus as Serving } from '../../../gen/grpc/health/v1/health_pb.js';
import { DomainError } from '../../core/errors/errors.js';
import { shownName } from '../../core/text/safe-text.js';
import { pause } from '../../core/work/abort.js';
import type { Readiness } from '../contract/readiness.js';

/** How often a watch checks the readiness. */
const watchIntervalMs = 5000;

export interface HealthServiceOptions {
  /** All services; each has the health of the whole. */
  readonly services: readonly DescService[];
  readonly readiness: () => Promise<Readiness>;
  /** Ends watches at once. */
  readonly shutdownSignal: AbortSignal;
}

/**
 * Implements `grpc.health.v1.Health`: SERVING while the service is ready. The empty name means the whole server. An unknown name is
 * NOT_FOUND for Check and SERVICE_UNKNOWN for Watch, as its definition requires.
 */
export function createHealthService({ services, readiness, shutdownSignal }: HealthServiceOptions): ServiceImpl<typeof Health> {
  const names = new Set(['', ...services.map((service) => service.typeName)]);
  const statusNow = async () => ((await readiness()).ready ? Serving.SERVING : Serving.NOT_SERVING);
  return {
    async check({ service }) {
      if (!names.has(service))
        throw new DomainError('not_found', 'PATH_NOT_FOUND', 'unknown service', { metadata: { service: shownName(service) } });
      return { status: await statusNow() };
    },
    async list() {
      const status = await statusNow();
      return { statuses: Object.fromEntries([...names].map((name) => [name, { status }])) };
    },
    async *watch({ service }, context) {
      let latest: Serving | undefined;
      while (!context.signal.aborted || latest === undefined) {
        const status = names.has(service) ? await statusNow() : Serving.SERVICE_UNKNOWN;
        if (status !== latest) yield { status };
        latest = status;
        // The context's signal aborts when the caller leaves, and when the service begins to stop.
        await pause(watchIntervalMs, context.signal);
      }
      if (shutdownSignal.aborted && latest === Serving.SERVING) yield { status: Serving.NOT_SERVING };
    },
  };
}
