import { createServer as createHttp1Server } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import type { ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { announcePorts } from './announce-ports.js';
import { signSample } from './sign-sample.js';

// RPC's baseline: connect-node as its own documentation sets it up; first port Connect over HTTP/1.1, second gRPC over HTTP/2.
const adapter = connectNodeAdapter({
  routes: (router: ConnectRouter) =>
    router.service(SigningService, {
      signTypedData: ({ domainSeparator, hashStructMessage }) => ({ signature: signSample(domainSeparator, hashStructMessage) }),
    }),
});
announcePorts([createHttp1Server(adapter), createHttp2Server(adapter)]);
