import type { Clock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { operationsFor, type RequestContext } from '../../../kernel/http/operation.ts';
import { plainText } from '../../../kernel/http/reply.ts';
import type { RawBody } from '../../../kernel/http/request-body.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  forgetSlackTeam,
  type InboundMessage,
  isSlackConversation,
  type Messaging,
  type OpenAccount,
  readSignedSlackCall,
  readSlackChallenge,
  type SignedSlackApp,
  verifyOwnSlackCall,
  verifySlackCall,
} from '../../channels/index.ts';

/** An event has some KiB; its text has 40,000 characters at most. */
const MAX_CALL_BYTES = 1024 * 1024;

/** Slack, speaking of an app: the call takes from the budget of its project. */
interface SlackSender extends TenantCaller {
  readonly account: OpenAccount;
  /** The app is a smith's own. */
  readonly own?: SignedSlackApp;
}

/** Nobody, where Slack asks whether this is the right address before it is known who it is. */
const slack = operationsFor<SlackSender | undefined>();

export interface SlackWebhookDependencies {
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly clock: Clock;
  readonly messaging: Pick<Messaging, 'accept'>;
}

/** One for the project's app, one for each that is a smith's own. */
export function slackWebhooks({ vault, clock, messaging }: SlackWebhookDependencies) {
  const facts = {
    method: 'POST',
    posture: 'public',
    answers: ['text'],
    maxBodyBytes: MAX_CALL_BYTES,
    errors: ['missing_signature', 'bad_signature', 'bad_webhook', 'payload_too_large'],
    async handler({ caller, body, headers, db }: SlackRequest) {
      const call = { bytes: body.bytes, headers };
      const said =
        caller === undefined ? readSlackChallenge(call) : await receive({ messaging, vault, db }, caller, call);
      return plainText(said ?? '');
    },
  } as const;
  const callOf = ({ body, headers }: Pick<SlackRequest, 'body' | 'headers'>) => {
    const call = { bytes: body.bytes, headers, now: clock.now() };
    return readSlackChallenge(call) === undefined ? call : undefined;
  };
  return [
    slack.raw({
      ...facts,
      id: 'slack.webhook.receive',
      path: '/v1/slack/webhook/{tenant}',
      summary: 'Receive an event, a command or a button from Slack',
      description:
        'Only Slack calls this, and signs each call; a message that comes again changes nothing. Its question for a `challenge` is ' +
        'answered unsigned too, since it may come before the app is saved here.',
      params: Type.Object({ tenant: Type.String() }),
      async verify({ db, params, ...request }) {
        const call = callOf(request);
        return call && senderOf({ account: await verifySlackCall({ db, vault }, params.tenant, call) });
      },
    }),
    slack.raw({
      ...facts,
      id: 'slack.app_webhook.receive',
      path: '/v1/slack/webhook/{tenant}/{depid}',
      summary: 'Receive an event, a command or a button for a Slack app of a smith’s own',
      description:
        'As `slack.webhook.receive`, for the app that was made for the deployment: only that app’s own secret signs these calls.',
      params: Type.Object({ tenant: Type.String(), depid: Type.String() }),
      async verify({ db, params, ...request }) {
        const call = callOf(request);
        if (call === undefined) return undefined;
        const own = await verifyOwnSlackCall({ db, vault }, params.tenant, params.depid, call);
        return senderOf({ account: own.account, own });
      },
    }),
  ];
}

type SlackRequest = RequestContext<SlackSender | undefined> & { readonly body: RawBody; readonly db: Database };

function senderOf(sender: Pick<SlackSender, 'account' | 'own'>): SlackSender {
  const { projectId } = sender.account;
  return { kind: 'tenant', projectId, tokenId: '', scopes: new Set<string>(), ...sender };
}

const NOT_CONNECTED = 'You are not connected here.';

/** What whoever typed a command sees at once; undefined: nothing. */
async function receive(
  { messaging, vault, db }: Pick<SlackWebhookDependencies, 'messaging' | 'vault'> & { readonly db: Database },
  { account, own }: Pick<SlackSender, 'account' | 'own'>,
  signed: Parameters<typeof readSignedSlackCall>[1],
): Promise<string | undefined> {
  const call = readSignedSlackCall(account, signed);
  if (call.kind === 'uninstalled') await forgetSlackTeam({ db, vault }, account, call.teamId);
  if (call.kind !== 'message') return undefined;
  const { message, isForBot, isCommand } = call;
  if (!isForBot && !(await isSlackConversation(db, account, message))) return undefined;
  const { unbound } = await messaging.accept(account, [own === undefined ? message : toOwn(own, message)]);
  return isCommand && unbound > 0 ? NOT_CONNECTED : undefined;
}

/** For its smith, whoever has written: an app with an owner hears nobody else. */
function toOwn({ deploymentId, owner }: SignedSlackApp, message: InboundMessage): InboundMessage {
  const isHeard = owner === null || owner === message.sender;
  return { ...message, deploymentId, ...(!isHeard && { fate: 'unbound' }) };
}
