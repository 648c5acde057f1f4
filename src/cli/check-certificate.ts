import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { fileProblem, readRegularFile } from '../config/json-file.js';
import type { Problem } from '../config/problem.js';
import type { Settings } from '../config/settings.js';
import { readableByOthers } from './readable-by-others.js';

/** From this long before its end on, a certificate is worth a note. */
const soonMs = 14 * 24 * 3_600_000;

/** What serving with the files of TLS_CERT_FILE and TLS_KEY_FILE would fail on, and what to know about them. Nothing without TLS. */
export function checkCertificate(
  { tlsCertFile, tlsKeyFile }: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>,
  nowMs: number,
): { readonly problems: readonly Problem[]; readonly notices: readonly string[] } {
  const problems: Problem[] = [];
  const notices: string[] = [];

  function read<T>(path: string, file: string, parse: (pem: string) => T, wanted: string): T | null {
    let found: ReturnType<typeof readRegularFile>;
    try {
      found = readRegularFile(file);
    } catch (error) {
      problems.push({ path, problem: `the file ${file} ${fileProblem(error)}` });
      return null;
    }
    if (path === 'TLS_KEY_FILE' && (found.mode & readableByOthers) !== 0)
      notices.push(`the private key ${file} can be read by other users; run chmod 600 on it`);
    try {
      return parse(found.bytes.toString('utf8'));
    } catch {
      problems.push({ path, problem: `the file ${file} has no ${wanted}` });
      return null;
    }
  }

  if (tlsCertFile === null || tlsKeyFile === null) return { problems, notices };
  const certificate = read('TLS_CERT_FILE', tlsCertFile, (pem) => new X509Certificate(pem), 'certificate in PEM');
  const key: KeyObject | null = read('TLS_KEY_FILE', tlsKeyFile, createPrivateKey, 'private key in PEM without a passphrase');
  if (certificate !== null && key !== null && !certificate.checkPrivateKey(key))
    problems.push({ path: 'TLS_KEY_FILE', problem: `is not the key of the certificate in ${tlsCertFile}` });
  if (certificate !== null) {
    const [fromMs, untilMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
    const until = new Date(untilMs).toISOString();
    if (untilMs <= nowMs) notices.push(`the certificate in ${tlsCertFile} expired at ${until}`);
    else if (untilMs - nowMs < soonMs) notices.push(`the certificate in ${tlsCertFile} expires at ${until}`);
    if (fromMs > nowMs) notices.push(`the certificate in ${tlsCertFile} is not valid before ${new Date(fromMs).toISOString()}`);
  }
  return { problems, notices };
}
