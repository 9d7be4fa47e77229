/** What calls Slack where an answer goes. */
import { type Destination, SendFailure } from '../channel.ts';
import type { FindAccess } from './access.ts';
import { readPlace } from './place.ts';
import type { SlackAccess, SlackApi } from './web-api.ts';

export interface LiveDependencies {
  readonly api: SlackApi;
  readonly findAccess: FindAccess;
}

/** Throws `SendFailure`. */
export async function requireAccess(
  { findAccess }: LiveDependencies,
  { account, chat }: Destination,
): Promise<SlackAccess> {
  const { teamId } = readPlace(chat);
  const access = await findAccess(account, teamId);
  if (access !== undefined) return access;
  throw new SendFailure('refused', `The app is not installed in the workspace ${teamId}: there is no bot token of it.`);
}
