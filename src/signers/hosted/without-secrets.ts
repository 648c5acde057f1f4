/** A shorter text is part of too many words: masking it would hide the error, and show what it is. */
const minLength = 6;

/**
 * Replaces credentials in the text of a provider by `[secret]`: as they are, and as JSON, URLs and Basic authentication write them. Texts of fewer than 6
 * characters stay, so callers must keep credentials out of fields that they build themselves.
 */
export function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  const forms = secrets.flatMap((secret) => {
    if (secret === undefined || secret.length < minLength) return [];
    const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '');
    return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64];
  });
  // The longest first, so that masking a short one leaves no rest of a longer one.
  return [...new Set(forms)].sort((a, b) => b.length - a.length).reduce((rest, form) => rest.replaceAll(form, '[secret]'), text);
}
