/** The time limits of connections, in milliseconds. */
export interface ServerTimeouts {
  /** From the connection to its first bytes; with TLS, to the end of the handshake. */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its headers (HTTP/1). */
  readonly headersMs: number;
  /**
   * From a request's first byte (HTTP/2: its headers) to the end of its body. Also how long its answer may stay unread (HTTP/1: up to twice
   * as long).
   */
  readonly requestMs: number;
  /** Between two requests (HTTP/1). Longer than load balancers keep theirs, so that balancers close first. */
  readonly keepAliveMs: number;
  /** Without any traffic (HTTP/2): then the server sends a PING and waits as long again for the answer. */
  readonly quietSessionMs: number;
  /** Without a new call (HTTP/2): then the server closes the session, so that the caller opens a new connection for its next call. */
  readonly idleSessionMs: number;
  /** How often the server looks for late headers and requests. */
  readonly checkEveryMs: number;
}

/** Maximum size of the headers of a request. */
export const maxHeaderBytes = 16_384;
