import { createServer } from 'node:http';
import { announcePorts } from './announce-ports.js';
import { signSample } from './sign-sample.js';

// REST's baseline: what node:http itself costs, with JSON, hash and signature, and nothing else.
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { domain_separator: string; hash_struct_message: string };
    const data = signSample(body.domain_separator, body.hash_struct_message);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ success: true, data, error: null }));
  });
});
announcePorts([server]);
