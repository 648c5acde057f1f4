const headerGrpcMessage = 'grpc-message';

/** All but printable ASCII, and the percent sign. */
const mustBeEncoded = /[^\x20-\x24\x26-\x7e]+/g;

/**
 * Writes `grpc-message` with no more percent-encoding than the protocol asks for. Connect encodes every reserved character, and grpc-js,
 * which decodes with `decodeURI`, would show its users `%3A` and `%2C` in the middle of our sentences.
 */
export function encodeGrpcMessagePlainly(trailers: Headers): Headers {
  const message = trailers.get(headerGrpcMessage);
  if (message !== null) trailers.set(headerGrpcMessage, decodeURIComponent(message).replace(mustBeEncoded, encodeURIComponent));
  return trailers;
}
