import type { DescMessage, Message } from '@bufbuild/protobuf';
import { RelayerSchema } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { TransactionSchema } from '../../../gen/relayer/v1/transaction_pb.js';
import { CodecCompiler } from '../../codec/message-codec.js';
import { writeObject } from '../../codec/object-codec.js';
import type { Properties } from '../../codec/reading.js';

const compiler = new CodecCompiler();

/** Renders the record of a transaction as REST's JSON, for webhooks. */
export const renderTransaction = rendererOf(TransactionSchema);

/** Renders the record of a relayer as REST's JSON, for webhooks. */
export const renderRelayer = rendererOf(RelayerSchema);

function rendererOf(schema: DescMessage): (record: Message) => string {
  const codec = compiler.object(schema);
  return (record) => writeObject(codec, record as unknown as Properties);
}
