import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Log } from '../../core/work/log.js';
import { type Repeating, repeat } from '../../core/work/repeat.js';

/** A certificate chain and its private key, in PEM. */
export interface Certificate {
  readonly certPem: string;
  readonly keyPem: string;
}

/** The files of a certificate. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The service compares the files, since a watch misses a volume that is swapped by a symbolic link. */
const checkIntervalMs = 10_000;

/** Reads the files. Throws if one cannot be read, or if they do not belong together, as in the middle of a renewal. */
export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [certPem, keyPem] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert: certPem, key: keyPem });
  return { certPem, keyPem };
}

/** Reads the files again from time to time. */
export interface CertificateRenewal extends Pick<Repeating, 'stop'> {
  /** Reads them now. Never throws. */
  renew(): Promise<void>;
  /** When the certificate in use expires. */
  expiryMs(): number;
}

/** Calls `use` with each new content of the files. While they cannot be used, the earlier certificate stays in use. */
export function startCertificateRenewal(
  files: CertificateFiles,
  { current, use, log }: { readonly current: Certificate; readonly use: (next: Certificate) => void; readonly log: Log },
): CertificateRenewal {
  let used = current;
  let problem: string | null = null;

  async function renew(): Promise<void> {
    try {
      const next = await readCertificate(files);
      problem = null;
      if (next.certPem === used.certPem && next.keyPem === used.keyPem) return;
      use(next);
      used = next;
      log.info({ file: files.certFile }, 'TLS certificate renewed');
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== problem)
        log.error({ err: error, file: files.certFile }, 'the TLS certificate cannot be renewed; the earlier one stays in use');
      problem = message;
    }
  }

  const checking = repeat(renew, checkIntervalMs, { onError: () => undefined, runsAtOnce: false });
  return { renew, expiryMs: () => Date.parse(new X509Certificate(used.certPem).validTo), stop: () => checking.stop() };
}
