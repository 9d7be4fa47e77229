/** What an owner is told of a term that ends: when, why it is not renewed by itself, and what to do. */
import { toUnicode } from 'tr46';
import type { Message } from '../mail/index.ts';
import type { Renewal } from '../renewals/index.ts';
import type { NoticeStage } from '../tables.ts';

export interface NoticeFacts {
  readonly name: string;
  readonly stage: NoticeStage;
  readonly termEnd: Date;
  readonly renewal: Renewal;
  /** When auto-renew stops trying. */
  readonly deadline: Date;
  readonly releaseAt: Date | null;
}

const LEFT = {
  '30_days': 'within 30 days',
  '14_days': 'within 14 days',
  '7_days': 'within 7 days',
  '1_day': 'tomorrow',
};

export function composeNotice(
  owner: { readonly name: string; readonly email: string },
  facts: NoticeFacts,
  id: string,
): Message {
  const { name, stage, termEnd } = facts;
  const { domain: unicode } = toUnicode(name);
  const shown = unicode === name ? name : `${unicode} (${name})`;
  const isOver = stage === 'expired';
  const when = isOver ? `expired on ${dayOf(termEnd)}` : `expires on ${dayOf(termEnd)}`;
  const effect = isOver
    ? 'Its web sites and mailboxes may stop working at any time, and its registry deletes it if nobody renews it.'
    : 'After that its web sites and mailboxes stop working, and its registry deletes it.';
  const text = `Hello ${owner.name},

${shown} ${when}. ${effect}

${reasonOf(facts)}

${remedyOf(facts)}
`;
  const subject = isOver ? `${unicode} has expired` : `${unicode} expires ${LEFT[stage]}`;
  return { id, to: owner.email, subject, text };
}

/** Why it is not renewed by itself. */
function reasonOf({ renewal, deadline, releaseAt }: NoticeFacts): string {
  if (releaseAt !== null) return 'You asked for it to be released then.';
  const { term, shortfall } = renewal;
  if (term === 'unpaid' && shortfall !== null) {
    return `Auto-renew is on, and your wallet is ${eurosOf(shortfall)} short of the price. It is renewed as soon
as the wallet covers it, until ${dayOf(deadline)}; after that only your own renewal keeps it.`;
  }
  if (term === 'failed')
    return 'Auto-renew is on, and its registry has not taken the renewal so far. It is tried again.';
  if (!renewal.auto_renew) return 'Auto-renew is off.';
  return `Auto-renew has not renewed it${shortfall === null ? '' : ': your wallet did not cover the price'}.`;
}

function remedyOf({ name, renewal }: NoticeFacts): string {
  const price = renewal.price === null ? '' : ` It costs ${eurosOf(renewal.price)}.`;
  return `To keep it, renew it: POST /domains/${name}/renew.${price}`;
}

function dayOf(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function eurosOf(amount: number): string {
  return `${amount.toFixed(2)} EUR`;
}
