import { RelayerSchema } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { TransactionSchema } from '../../../gen/relayer/v1/transaction_pb.js';
import type { Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

/** The group of the webhooks. A group that they shared with operations would hide those in clients of some generators. */
export const webhookTag: Schema = { name: 'Webhooks', description: 'The events that the service posts to the URL of a notification.' };

/** The headers of a delivery. */
const signatureHeaders: Readonly<Record<string, string>> = {
  'webhook-id': "The event's id, the same in every delivery attempt.",
  'webhook-timestamp': 'The time of this delivery attempt in Unix seconds.',
  'webhook-signature':
    '`v1,` and the base64 of HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`. While a key is being replaced, there is one signature per key, separated by spaces. Present only if the notification has a signing key.',
  'X-Signature':
    'The base64 of HMAC-SHA256 over the body alone; the HMAC key is the text of the current signing key. Present only if the notification has a signing key.',
};

/** Returns the events that the service posts to notifications, by type, and adds their schemas. */
export function webhooksOf(compiler: SchemaCompiler): Readonly<Record<string, Schema>> {
  const transactionPayload = compiler.extended(TransactionSchema, 'Payload', {
    payload_type: { type: 'string', enum: ['transaction'], description: 'The type of the content.' },
  });
  return {
    transaction_update: webhook(compiler, {
      event: 'transaction_update',
      summary: 'A transaction was accepted or replaced, or its status changed',
      payload: transactionPayload,
    }),
    transaction_delayed: webhook(compiler, {
      event: 'transaction_delayed',
      summary: 'A transaction has waited for longer than its speed promises; `status_reason` names the obstacle',
      payload: transactionPayload,
    }),
    approval_required: webhook(compiler, {
      event: 'approval_required',
      summary: 'A transaction was accepted, or got new content, that API keys must approve before it is signed',
      payload: transactionPayload,
    }),
    relayer_state_update: webhook(compiler, {
      event: 'relayer_state_update',
      summary: 'The service disabled or enabled a relayer, or its balance is low',
      payload: compiler.add('RelayerStatePayload', {
        title: 'RelayerStatePayload',
        type: 'object',
        properties: {
          payload_type: {
            type: 'string',
            enum: ['relayer_disabled', 'relayer_enabled', 'relayer_low_balance'],
            description: 'What happened to the relayer.',
          },
          relayer: { ...compiler.message(RelayerSchema, 'answer'), description: 'The relayer.' },
          disable_reason: { type: 'string', description: 'Why the service disabled the relayer. Absent if it is enabled.' },
        },
        required: ['payload_type', 'relayer'],
        additionalProperties: true,
      }),
    }),
    test: webhook(compiler, {
      event: 'test',
      summary: 'A caller tested a notification',
      payload: compiler.add('TestPayload', {
        title: 'TestPayload',
        type: 'object',
        properties: {
          payload_type: { type: 'string', enum: ['test'], description: 'The type of the content.' },
          notification_id: { type: 'string', description: 'The tested notification.' },
        },
        required: ['payload_type', 'notification_id'],
        additionalProperties: true,
      }),
    }),
  };
}

/** One type of event; `payload` refers to the schema of its content. */
interface WebhookEvent {
  readonly event: string;
  readonly summary: string;
  readonly payload: Schema;
}

function webhook(compiler: SchemaCompiler, { event, summary, payload }: WebhookEvent): Schema {
  return {
    post: {
      operationId: event.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      tags: [webhookTag.name],
      summary,
      description:
        'Return 2xx quickly, then process the event. Delivery is at least once, in order for each transaction: ignore an `id` that you have already processed.',
      parameters: Object.entries(signatureHeaders).map(([name, description]) => ({
        name,
        in: 'header',
        required: name === 'webhook-id' || name === 'webhook-timestamp',
        description,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, content: { 'application/json': { schema: eventSchema(compiler, event, payload) } } },
      responses: {
        '2XX': { description: 'The event is delivered.' },
        410: { description: 'Gone: the service stops posting to this URL until the notification is updated.' },
        default: { description: 'The service retries the delivery on the schedule of `WEBHOOK_RETRY_SECONDS`.' },
      },
    },
  };
}

/** Names the body of an event: `transaction_update` is `TransactionUpdateEvent`. */
function eventSchema(compiler: SchemaCompiler, event: string, payload: Schema): Schema {
  const name = `${event.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`;
  return compiler.add(name, {
    title: name,
    type: 'object',
    properties: {
      id: { type: 'string', description: "The event's id." },
      event: { type: 'string', enum: [event], description: 'The type of the event. Later versions may add types.' },
      payload: { ...payload, description: 'The content of the event.' },
      timestamp: {
        type: 'string',
        format: 'date-time',
        description: 'When the event happened, the same in every delivery attempt.',
      },
    },
    required: ['id', 'event', 'payload', 'timestamp'],
    additionalProperties: true,
  });
}
