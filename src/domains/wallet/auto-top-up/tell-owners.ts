/** Tells owners by mail that their automatic top-up was switched off: sent until the mail server has taken it, under one Message-ID. */
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import type { Mailer } from '../../mail/index.ts';
import { getRegistrant } from '../../registrant.ts';
import { systemDb, workspaceDb } from '../../workspace-scope.ts';

interface MailDependencies {
  readonly db: Database;
  readonly mailer: Mailer;
  readonly logger: Logger;
}

const BATCH = 20;

export async function mailDeclines({ db, logger, mailer }: MailDependencies): Promise<void> {
  const untold = await systemDb(db)
    .selectFrom('auto_top_ups')
    .select(['workspace_id', 'untold_payment_id', 'failure', 'amount_cents'])
    .where('untold_payment_id', 'is not', null)
    .limit(BATCH)
    .execute();
  for (const { workspace_id, untold_payment_id, failure, amount_cents } of untold) {
    const scoped = workspaceDb(db, workspace_id);
    try {
      const owner = await getRegistrant(scoped);
      await mailer.send({
        id: `msg_${untold_payment_id}`,
        to: owner.email,
        subject: 'Your wallet is not topped up any more: the card was declined',
        text: compose(owner.name, failure?.message ?? '', amount_cents ?? 0),
      });
    } catch (error) {
      logger.error(
        { err: error, workspaceId: workspace_id },
        'an owner was not told of a declined card; it is tried again',
      );
      return;
    }
    await scoped
      .updateTable('auto_top_ups')
      .set({ untold_payment_id: null })
      .where('untold_payment_id', '=', untold_payment_id)
      .execute();
  }
}

function compose(name: string, reason: string, amountCents: number): string {
  return `Hello ${name},

your wallet fell below its threshold, and the saved card could not be charged with ${(amountCents / 100).toFixed(2)} EUR:
${reason}

The automatic top-up is switched off: nothing is charged any more. Names that renew by themselves are paid from the
wallet, so please top it up (POST /wallet/top-ups), or save another card (POST /wallet/card) and switch it on again
(PUT /wallet/auto-top-up).
`;
}
