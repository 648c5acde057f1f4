import { errorRef } from './error-responses.js';
import { answerHeaders } from './headers.js';
import { refTo, type Schema } from './schema.js';

/** The body of `/api/v1/ready`. */
export const readinessSchema: Schema = {
  title: 'Readiness',
  type: 'object',
  properties: {
    ready: { type: 'boolean', description: 'True if the service can take requests.' },
    status: { type: 'string', enum: ['healthy', 'unhealthy'], description: '`healthy` if `ready` is true, otherwise `unhealthy`.' },
    timestamp: { type: 'string', format: 'date-time', description: 'When the service answered.' },
    components: { ...refTo('schemas', 'ReadinessComponents'), description: 'The state of each part of the service.' },
    networks: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description:
        'The state of each network: `ok`, `unreachable`, `not seen yet` or `RPC nodes are on different branches of the chain`. It does not affect `ready`.',
    },
  },
  required: ['ready', 'status', 'timestamp', 'components', 'networks'],
  additionalProperties: true,
};

/** The parts that `/api/v1/ready` names. */
export const readinessComponentsSchema: Schema = {
  title: 'ReadinessComponents',
  type: 'object',
  description: 'The state of each part of the service. Other parts appear only if they have a problem, which their text describes.',
  properties: {
    store: { type: 'string', description: '`ok`, or the problem of the database.' },
    lanes: { type: 'string', description: '`ok`, or the problem of the queues of transactions.' },
    system: { ...refTo('schemas', 'SystemState'), description: 'The system resources that the process uses.' },
  },
  required: ['system'],
  additionalProperties: true,
};

/** The system resources that the process uses. */
export const systemStateSchema: Schema = {
  title: 'SystemState',
  type: 'object',
  description: 'The system resources that the process uses. The figures are 0 if the operating system does not report them.',
  properties: {
    status: { type: 'string', enum: ['healthy'], description: 'Always `healthy`: the figures do not affect `ready`.' },
    fd_count: { type: 'integer', format: 'int64', minimum: 0, description: 'Open file descriptors.' },
    fd_limit: { type: 'integer', format: 'int64', minimum: 0, description: 'Maximum number of open file descriptors.' },
    fd_usage_percent: { type: 'number', format: 'double', minimum: 0, description: 'Open file descriptors in percent of the maximum.' },
    close_wait_count: { type: 'integer', format: 'int64', minimum: 0, description: 'Connections that only the other side has closed.' },
  },
  required: ['status', 'fd_count', 'fd_limit', 'fd_usage_percent', 'close_wait_count'],
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
