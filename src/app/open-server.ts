import { type CertificateFiles, readCertificate, startCertificateRenewal } from '../api/http/certificate-files.js';
import { connectionsThatFit } from '../api/http/connection-limit.js';
import { createServer, type ServerOptions } from '../api/http/server.js';
import type { Settings } from '../config/settings.js';
import { systemIds } from '../core/records/ids.js';
import type { AppContext } from './app-context.js';

/** Makes the server, which does not listen yet, and renews its certificate while the service runs. */
export async function openServer(
  { settings, log, telemetry, onStop }: AppContext,
  handler: ServerOptions['handler'],
  shutdownDeadlineMs: number,
) {
  const files = certificateFilesOf(settings);
  const certificate = files === null ? null : await readCertificate(files);
  const server = createServer({
    host: settings.host,
    port: settings.port,
    tls: certificate,
    handler,
    newRequestId: systemIds.timeOrdered,
    log,
    meter: telemetry.meter,
    shutdownDeadlineMs,
    connectionLimits: {
      total: await connectionsThatFit(),
      perAddress: settings.connectionsPerAddress,
      isProxy: settings.trustedProxies.includes,
    },
  });
  const renewal =
    files === null || certificate === null
      ? null
      : startCertificateRenewal(files, { current: certificate, use: server.useCertificate, log });
  onStop('work', async () => renewal?.stop());
  return { server, renewCertificate: async () => renewal?.renew() };
}

function certificateFilesOf({ tlsCertFile, tlsKeyFile }: Settings): CertificateFiles | null {
  return tlsCertFile === null || tlsKeyFile === null ? null : { certFile: tlsCertFile, keyFile: tlsKeyFile };
}
