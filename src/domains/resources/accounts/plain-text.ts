/** Texts of registrants, and auth codes: what a registry cannot be sent (RFC 5733 4, XML 1.0 2.2) is refused before it is kept, not when a name is bought. */
import { ApiError } from '../../../kernel/http/errors.ts';

const NOT_PLAIN = /[\p{Cc}\p{Cs}\u2028\u2029\ufffe\uffff]/u;

/** Members of a body by the paths that callers know them by. Throws `bad_request`. */
export function requirePlain(texts: Readonly<Record<string, string | null | undefined>>): void {
  for (const [param, text] of Object.entries(texts)) {
    if (text === null || text === undefined || !NOT_PLAIN.test(text)) continue;
    throw new ApiError('bad_request', {
      message: `\`${param}\` holds a line break, a control character or half a character. Send it as one line of text.`,
      param,
    });
  }
}

/** The members of a contact, as `requirePlain` wants them. A street may have lines of its own (RFC 5733 2.4). */
export function contactTexts({ street, ...others }: Readonly<Record<string, string | null | undefined>> = {}) {
  const members = Object.entries({ ...others, street: street?.replaceAll('\n', ' ') });
  return Object.fromEntries(members.map(([member, text]) => [`contact.${member}`, text]));
}
