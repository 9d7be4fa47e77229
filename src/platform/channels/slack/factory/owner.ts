/** Whom alone an app of a smith's own obeys, where that was said: the member of a workspace who has the mail address. */
import { abortAfter } from '../../../../kernel/clock/timers.ts';
import { ApiError } from '../../../../kernel/http/errors.ts';
import { appendEvent } from '../../../feed/append-event.ts';
import type { TenantTransaction } from '../../../store/tenant-db.ts';
import { settingOf } from '../../accounts/open-account.ts';
import type { OpenAccount } from '../../channel.ts';
import { objectAt } from '../../provider/read-json.ts';
import { baseUrlOf } from '../access.ts';
import type { MeantDeployment } from '../install-link.ts';
import type { Install } from '../installs.ts';
import { deploymentAccountOf } from '../open-account.ts';
import { addressOf, isUserId } from '../place.ts';
import { type SlackApi, SlackProblem } from '../web-api.ts';

/** The client gives up earlier, and says what is known then. */
const DEADLINE_MS = 60_000;

/** As a deployment's `address`. Undefined where everybody is obeyed, or it is known already. Throws `slack_api_error`. */
export async function findOwner(
  api: SlackApi,
  account: OpenAccount,
  { address }: Pick<MeantDeployment, 'address'>,
  { teamId, botToken }: Pick<Install, 'teamId' | 'botToken'>,
): Promise<string | undefined> {
  const email = settingOf(account.settings, 'owner_email');
  if (deploymentAccountOf(account) === '' || email === '' || address !== null) return undefined;
  try {
    const access = { baseUrl: baseUrlOf(account), token: botToken };
    const found = await api.call(access, 'users.lookupByEmail', { email }, abortAfter(DEADLINE_MS));
    const { id } = objectAt(found, 'user');
    if (isUserId(id)) return addressOf(teamId, id);
  } catch (error) {
    if (!(error instanceof SlackProblem)) throw error;
    if (error.code !== 'users_not_found') throw refuse(`${error.message} Open the installation link again.`, error);
  }
  throw refuse(
    'Nobody in the workspace has the mail address of the owner. Correct `owner_email`, and install it again.',
  );
}

function refuse(why: string, cause?: unknown): ApiError {
  return new ApiError('slack_api_error', { message: `The app cannot be used as it was installed. ${why}`, cause });
}

export async function bindOwner(tx: TenantTransaction, deploymentId: string, address: string): Promise<void> {
  const { rows } = await tx.raw<{ smith_id: string }>({
    text: `
      update deployments set address = $3, updated_at = now()
      where project_id = $1 and id = $2 and address is null and status <> 'disconnected'
      returning smith_id`,
    values: [deploymentId, address],
  });
  const [bound] = rows;
  if (bound === undefined) return;
  await appendEvent(tx, {
    type: 'deployment.bound',
    smithId: bound.smith_id,
    actor: { kind: 'smith', id: bound.smith_id, token_id: '', email: '' },
    data: { kind: 'slack', channel_id: deploymentId, address },
  });
}
