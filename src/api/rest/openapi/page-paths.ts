import { errorRef } from './error-responses.js';
import { answerHeaders } from './headers.js';
import { refTo, type Schema } from './schema.js';

/** The body of `/api/v1/ready`. */
export const readinessSchema: Schema = {
  title: 'Readiness',
  type: 'object',
  properties: {
    ready: { type: 'boolean', description: 'True if the service can take requests.' },
    status: { type: 'string', enum: ['ready', 'not_ready'], description: 'The same as a word.' },
    components: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'The state of each part of the service: `ok`, or the problem.',
    },
    networks: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'The state of each network: `ok`, `unreachable` or `not seen yet`. It does not affect `ready`.',
    },
  },
  required: ['ready', 'status', 'components', 'networks'],
  additionalProperties: true,
};

/** The HTTP pages that are neither RPC methods nor REST routes. */
export const pagePaths: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  '/api/v1/health': page('health', 'Returns OK while the process runs', {
    200: responseOf('text/plain', '`OK`.', { type: 'string', enum: ['OK'] }),
  }),
  '/api/v1/ready': page('ready', 'Returns whether the service can take requests', {
    200: responseOf('application/json', 'The service is ready.', refTo('schemas', 'Readiness')),
    503: responseOf('application/json', 'The service is not ready.', refTo('schemas', 'Readiness')),
  }),
  '/metrics': page(
    'metrics',
    'Returns metrics for Prometheus',
    {
      200: responseOf('text/plain', 'Metrics in the text format of Prometheus.', { type: 'string' }),
      401: errorRef(['unauthenticated']),
      500: errorRef(['internal']),
    },
    { description: 'Needs any valid API key.', security: [{ key: [] }] },
  ),
};

function page(
  operationId: string,
  summary: string,
  responses: Schema,
  access: Schema = { security: [] },
): Readonly<Record<string, Schema>> {
  return { get: { operationId, tags: ['Health'], summary, ...access, responses } };
}

function responseOf(contentType: string, description: string, schema: Schema): Schema {
  return { description, headers: answerHeaders({ rateLimited: false }), content: { [contentType]: { schema } } };
}
