/** What a mailbox is told when it is made or changed, and the handle of one that names none. */
import { randomBytes } from 'node:crypto';
import { ApiError } from '../../../kernel/http/errors.ts';
import { MAX_TITLE_CHARS } from '../web-page.ts';
import { readAddress } from './address.ts';

const MAX_HANDLE_CHARS = 40;
/** Of the domain itself (RFC 2142), and of machines. */
const RESERVED = new Set([
  'abuse',
  'admin',
  'bounce',
  'bounces',
  'hostmaster',
  'mailer-daemon',
  'no-reply',
  'noreply',
  'postmaster',
  'root',
  'security',
  'webmaster',
]);

/** JSON: the deployment's `provider_metadata`. */
export type MailboxSettings = {
  readonly display_name?: string;
  readonly owner_email?: string;
};

/**
 * `at`: where the members stand in the request. `hasOwner`: the mailbox is a smith's. Throws `code` for what is wrong with a
 * member.
 */
export function readMailboxSettings(
  given: Readonly<Record<string, unknown>>,
  { at, code, hasOwner }: { readonly at: string; readonly code: string; readonly hasOwner: boolean },
): MailboxSettings {
  const { display_name, owner_email, ...unknown } = given;
  const refuse = (name: string, message: string) =>
    new ApiError(code, { param: at === '' ? name : `${at}.${name}`, message });
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw refuse(other, `A mailbox has no \`${other}\`. Send display_name and owner_email.`);
  if (owner_email !== undefined && !hasOwner) {
    throw refuse(
      'owner_email',
      'An agent’s mailbox takes everybody’s mail. Leave `owner_email` out, or target a smith.',
    );
  }
  const owner = typeof owner_email === 'string' ? readAddress(owner_email) : undefined;
  if (owner_email !== undefined && owner === undefined) {
    throw refuse('owner_email', '`owner_email` is no mail address. Write one such as ada@example.com.');
  }
  if (display_name !== undefined && !isName(display_name)) {
    throw refuse('display_name', `\`display_name\` is one line of 1 to ${MAX_TITLE_CHARS} characters.`);
  }
  return {
    ...(isName(display_name) && { display_name: display_name.trim() }),
    ...(owner !== undefined && { owner_email: owner }),
  };
}

/** Handles to try, one after the other. */
export function* proposeHandles(displayName: string | undefined): Generator<string, undefined> {
  const slug = (displayName ?? '')
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_HANDLE_CHARS)
    .replaceAll(/^-+|-+$/g, '');
  if (slug !== '' && !RESERVED.has(slug)) yield slug;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    yield `${slug === '' ? 'smith' : slug}-${randomBytes(3).toString('hex')}`;
  }
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_TITLE_CHARS && !/\p{Cc}/u.test(value);
}
