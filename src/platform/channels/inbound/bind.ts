/** Somebody binds a pending deployment to themselves, by its start token. */
import { appendEvent } from '../../feed/append-event.ts';
import type { TenantTransaction } from '../../store/tenant-db.ts';
import type { InboundMessage, OpenAccount } from '../channel.ts';
import { countGuess, forgetGuesses, hashStartToken } from './start-tokens.ts';

export interface BoundDeployment {
  readonly id: string;
  readonly smith_id: string;
}

/** Undefined: the token is wrong, used or over, or the sender has tried too many. */
export async function bindByToken(
  tx: TenantTransaction,
  { kind, accountId }: OpenAccount,
  { sender }: InboundMessage,
  token: string,
  now: Date,
): Promise<BoundDeployment | undefined> {
  const guesser = { kind, accountId, sender };
  if (!(await countGuess(tx, guesser, now))) return undefined;
  const { rows } = await tx.raw<BoundDeployment>({
    text: `
      update deployments set address = $5, status = 'active', start_token_hash = null, start_token_expires_at = null,
        updated_at = now()
      where project_id = $1 and kind = $2 and account_id in ('', $3) and start_token_hash = $4 and status = 'pending'
        and start_token_expires_at > $6
      returning id, smith_id`,
    values: [kind, accountId, hashStartToken(token), sender, now],
  });
  const [bound] = rows;
  if (bound === undefined) return undefined;
  await forgetGuesses(tx, guesser);
  await appendEvent(tx, {
    type: 'deployment.bound',
    smithId: bound.smith_id,
    actor: { kind: 'smith', id: bound.smith_id, token_id: '', email: '' },
    data: { kind, channel_id: bound.id, address: sender },
  });
  return bound;
}
