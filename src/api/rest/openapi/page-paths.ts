import { errorRef } from './error-responses.js';
import { answerHeaders } from './headers.js';
import type { Schema } from './schema.js';

const headers = answerHeaders({ rateLimited: false });

const readinessSchema: Schema = {
  type: 'object',
  properties: {
    ready: { type: 'boolean' },
    status: { type: 'string', enum: ['ready', 'not_ready'] },
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
};

/** The HTTP pages that are neither RPC methods nor REST routes. */
export const pagePaths: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  '/api/v1/health': {
    get: {
      operationId: 'health',
      tags: ['Health'],
      summary: 'Returns OK while the process runs',
      security: [],
      responses: { 200: { description: '`OK`.', headers, content: { 'text/plain': { schema: { type: 'string', const: 'OK' } } } } },
    },
  },
  '/api/v1/ready': {
    get: {
      operationId: 'ready',
      tags: ['Health'],
      summary: 'Returns whether the service can take requests',
      security: [],
      responses: {
        200: { description: 'The service is ready.', headers, content: { 'application/json': { schema: readinessSchema } } },
        503: { description: 'The service is not ready.', headers, content: { 'application/json': { schema: readinessSchema } } },
      },
    },
  },
  '/metrics': {
    get: {
      operationId: 'metrics',
      tags: ['Health'],
      summary: 'Returns metrics for Prometheus',
      description: 'Needs any valid API key.',
      security: [{ key: [] }],
      responses: {
        200: {
          description: 'Metrics in the text format of Prometheus.',
          headers,
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
        401: errorRef(['unauthenticated']),
        500: errorRef(['internal']),
      },
    },
  },
};
