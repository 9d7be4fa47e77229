/** Tells owners by mail what has become of a payment that is disputed: sent until the mail server has taken it, under one Message-ID. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Mailer } from '../../mail/index.ts';
import { getRegistrant } from '../../registrant.ts';
import type { DisputeState } from '../../tables.ts';
import { systemDb, workspaceDb } from '../../workspace-scope.ts';
import { readWallet } from '../ledger.ts';

interface MailDependencies {
  readonly db: Database;
  readonly mailer: Mailer;
  readonly logger: Logger;
}

const BATCH = 20;

export async function mailDisputes({ db, logger, mailer }: MailDependencies): Promise<void> {
  const untold = await systemDb(db)
    .selectFrom('disputes')
    .select(['workspace_id', 'id', 'amount_cents', 'state'])
    .where('untold', '=', true)
    .limit(BATCH)
    .execute();
  for (const { workspace_id, id, amount_cents, state } of untold) {
    const scoped = workspaceDb(db, workspace_id);
    try {
      const { email, name } = await getRegistrant(scoped);
      const { availableCents } = await readWallet(db, workspace_id);
      await mailer.send({
        id: `msg_${id}_${state}`,
        to: email,
        subject: SUBJECTS[state],
        text: `Hello ${name},\n\n${compose(state, amount_cents, availableCents)}\n`,
      });
    } catch (error) {
      logger.error({ err: error, workspaceId: workspace_id }, 'an owner was not told of a dispute; it is tried again');
      return;
    }
    // It may be another by now.
    await scoped
      .updateTable('disputes')
      .set({ untold: false })
      .where('id', '=', id)
      .where('state', '=', state)
      .execute();
  }
}

const SUBJECTS: Readonly<Record<DisputeState, string>> = {
  open: 'A payment to your wallet is disputed',
  won: 'A disputed payment is back in your wallet',
  lost: 'A dispute is decided: the payment stays out of your wallet',
};

function compose(state: DisputeState, amountCents: number, availableCents: number): string {
  const amount = euros(amountCents);
  const now = `Your wallet has ${euros(availableCents)} now.`;
  if (state === 'won')
    return `the dispute of a payment by card is over, and the ${amount} are in your wallet again. ${now}`;
  const below =
    availableCents < 0
      ? `\n\nWhile that is below zero nothing can be bought, and names that renew by themselves wait. Please top the wallet up
(POST /wallet/top-ups).`
      : '';
  if (state === 'lost')
    return `the bank has decided a dispute: the payment of ${amount} stays with the card. ${now}${below}`;
  return `the holder of a card has disputed a payment of ${amount} at the bank, which has taken the money back. It has left
your wallet, and comes back if the dispute is decided so. ${now}${below}

The saved card is not charged by itself any more. If the dispute is a mistake, please have the bank withdraw it.`;
}

function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}
