/** What registrants are told: that their address is to be confirmed, until when, and which names are suspended for want of that. */
import { toUnicode } from 'tr46';
import type { Message } from '../mail/index.ts';
import type { VerificationRow } from './verification.ts';

interface SomeNames {
  readonly names: readonly string[];
  readonly hasMore: boolean;
}

export interface LinkFacts {
  readonly link: string;
  readonly linkEndsAt: Date;
  readonly suspendAt: Date;
  readonly asked: SomeNames;
  readonly suspended: SomeNames;
  readonly now: Date;
}

export function composeLink(
  { email, message_id: id, name, organization }: VerificationRow & { readonly message_id: string },
  { asked, link, linkEndsAt, now, suspendAt, suspended }: LinkFacts,
): Message {
  const holder = organization === null ? name : `${name}, ${organization}`;
  const isSuspended = suspended.names.length > 0;
  const effect = isSuspended
    ? `As that has not been done in time, these domains are suspended: their web sites and mailboxes cannot be reached until it is.
They work again within minutes.

${listOf(suspended)}`
    : `${suspendAt > now ? `Until ${dayOf(suspendAt)}: after that` : 'Otherwise'} these domains are suspended, so that their web sites and mailboxes cannot be reached until you
confirm it:

${listOf(asked)}`;
  const text = `Hello ${name},

this address is that of a holder of domains: ${holder}. The rules for domains want it to be confirmed by whoever reads its mail.
To do so, open this page and press the button:

${link}

${effect}

The link works once, until ${dayOf(linkEndsAt)}. POST /registrant/verification has another one sent.

If you are not this holder, do nothing.
`;
  const subject = isSuspended
    ? 'Your domains are suspended until you confirm your e-mail address'
    : 'Please confirm your e-mail address for your domains';
  return { id, to: email, subject, text };
}

function listOf({ hasMore, names }: SomeNames): string {
  const lines = names.map((name) => {
    const { domain: unicode } = toUnicode(name);
    return `  ${unicode === name ? name : `${unicode} (${name})`}`;
  });
  return [...lines, ...(hasMore ? ['  and more'] : [])].join('\n');
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}
