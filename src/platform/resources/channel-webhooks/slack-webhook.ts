import Type from 'typebox';
import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { operationsFor } from '../../../kernel/http/operation.ts';
import { plainText } from '../../../kernel/http/reply.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  forgetSlackTeam,
  isSlackConversation,
  type Messaging,
  type OpenAccount,
  readSignedSlackCall,
  readSlackChallenge,
  verifySlackCall,
} from '../../channels/index.ts';

/** An event has some KiB; its text has 40,000 characters at most. */
const MAX_CALL_BYTES = 1024 * 1024;

/** Slack, speaking of one project's app: the call takes from that project's budget. */
interface SlackSender extends TenantCaller {
  readonly account: OpenAccount;
}

/** Nobody, where Slack asks whether this is the right address before it is known who it is. */
const slack = operationsFor<SlackSender | undefined>();

export interface SlackWebhookDependencies {
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly clock: Clock;
  readonly messaging: Pick<Messaging, 'accept'>;
}

export function slackWebhook({ vault, clock, messaging }: SlackWebhookDependencies) {
  return slack.raw({
    id: 'slack.webhook.receive',
    method: 'POST',
    path: '/v1/slack/webhook/{tenant}',
    posture: 'public',
    summary: 'Receive an event, a command or a button from Slack',
    description:
      'Only Slack calls this, and signs each call; a message that comes again changes nothing. Its question for a `challenge` is ' +
      'answered unsigned too, since it may come before the app is saved here.',
    params: Type.Object({ tenant: Type.String() }),
    answers: ['text'],
    maxBodyBytes: MAX_CALL_BYTES,
    errors: ['missing_signature', 'bad_signature', 'bad_webhook', 'payload_too_large'],
    async verify({ db, params, body, headers }) {
      const call = { bytes: body.bytes, headers, now: clock.now() };
      if (readSlackChallenge(call) !== undefined) return undefined;
      const account = await verifySlackCall({ db, vault }, params.tenant, call);
      return { kind: 'tenant', projectId: account.projectId, tokenId: '', scopes: new Set<string>(), account };
    },
    async handler({ caller, body, headers, db }) {
      const call = { bytes: body.bytes, headers };
      const said =
        caller === undefined ? readSlackChallenge(call) : await receive({ messaging, vault, db }, caller.account, call);
      return plainText(said ?? '');
    },
  });
}

const NOT_CONNECTED = 'You are not connected here.';

/** What whoever typed a command sees at once; undefined: nothing. */
async function receive(
  { messaging, vault, db }: Pick<SlackWebhookDependencies, 'messaging' | 'vault'> & { readonly db: Database },
  account: OpenAccount,
  signed: Parameters<typeof readSignedSlackCall>[1],
): Promise<string | undefined> {
  const call = readSignedSlackCall(account, signed);
  if (call.kind === 'uninstalled') await forgetSlackTeam({ db, vault }, account, call.teamId);
  if (call.kind !== 'message') return undefined;
  const { message, isForBot, isCommand } = call;
  if (!isForBot && !(await isSlackConversation(db, account, message))) return undefined;
  const { unbound } = await messaging.accept(account, [message]);
  return isCommand && unbound > 0 ? NOT_CONNECTED : undefined;
}
