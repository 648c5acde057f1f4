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
      description: 'The parts of the service, each `ok` or what is wrong.',
    },
    networks: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'The networks, each `ok`, `unreachable` or `not seen yet`. They never make the service not ready.',
    },
  },
  required: ['ready', 'status', 'components', 'networks'],
};

/** The pages that are neither RPC nor enveloped REST. */
export const pagePaths: Readonly<Record<string, Readonly<Record<string, Schema>>>> = {
  '/api/v1/health': {
    get: {
      operationId: 'health',
      tags: ['Health'],
      summary: 'The process answers',
      security: [],
      responses: { 200: { description: '`OK`.', headers, content: { 'text/plain': { schema: { type: 'string', const: 'OK' } } } } },
    },
  },
  '/api/v1/ready': {
    get: {
      operationId: 'ready',
      tags: ['Health'],
      summary: 'The service can take requests',
      security: [],
      responses: {
        200: { description: 'It is ready.', headers, content: { 'application/json': { schema: readinessSchema } } },
        503: { description: 'It is not ready.', headers, content: { 'application/json': { schema: readinessSchema } } },
      },
    },
  },
  '/metrics': {
    get: {
      operationId: 'metrics',
      tags: ['Health'],
      summary: 'What the service counts and times, for Prometheus',
      description: 'Any valid key will do.',
      security: [{ key: [] }],
      responses: {
        200: { description: 'The text format of Prometheus.', headers, content: { 'text/plain': { schema: { type: 'string' } } } },
        401: errorRef(['unauthenticated']),
        500: errorRef(['internal']),
      },
    },
  },
};
