import type { Socket } from 'node:net';

/** The HTTP/2 preface begins `PRI * HTTP/2.0`; no HTTP/1 verb begins so. Three bytes tell, and every request has as many. */
const prefaceStart = Buffer.from('PRI');

/**
 * Tells by its first bytes which HTTP a connection speaks, and leaves all bytes to be read by whoever takes it over. A connection that does
 * not send three bytes within `timeoutMs` is destroyed. `onDecided` may be called never, and is called once at most.
 */
export function sniffHttpVersion(socket: Socket, timeoutMs: number, onDecided: (version: 1 | 2) => void): void {
  let received: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const onClose = () => clearTimeout(timer);
  const onData = (chunk: Buffer) => {
    received = received.byteLength === 0 ? chunk : Buffer.concat([received, chunk]);
    if (received.byteLength < prefaceStart.byteLength) return;
    clearTimeout(timer);
    socket.off('data', onData);
    socket.off('close', onClose);
    socket.pause();
    socket.unshift(received);
    const version = received.subarray(0, prefaceStart.byteLength).equals(prefaceStart) ? 2 : 1;
    onDecided(version);
    // An HTTP/2 session takes over the descriptor and reads by itself; resuming would take bytes away from it.
    if (version === 1) socket.resume();
  };
  socket.on('data', onData);
  socket.once('close', onClose);
}
