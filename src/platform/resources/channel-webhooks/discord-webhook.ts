import { InteractionResponseFlags, InteractionResponseType } from 'discord-interactions';
import type { Static } from 'typebox';
import type { Clock } from '../../../kernel/clock/clock.ts';
import { operationsFor } from '../../../kernel/http/operation.ts';
import { component } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { TenantCaller } from '../../access/caller.ts';
import {
  type InboundMessage,
  type Messaging,
  type OpenAccount,
  type OpenedAccounts,
  readDiscordCall,
  verifyDiscordCall,
} from '../../channels/index.ts';

/** An interaction has some KiB. */
const MAX_CALL_BYTES = 512 * 1024;

/** Discord, speaking of one project's application: the call takes from that project's budget. */
interface DiscordSender extends TenantCaller {
  readonly account: OpenAccount;
}

const discord = operationsFor<DiscordSender>();

const InteractionResponse = component(
  'DiscordInteractionResponse',
  Type.Object({
    type: Type.Integer(),
    data: Type.Optional(Type.Object({ flags: Type.Integer(), content: Type.Optional(Type.String()) })),
  }),
);
type InteractionResponse = Static<typeof InteractionResponse>;

export interface DiscordWebhookDependencies {
  readonly accounts: OpenedAccounts;
  readonly clock: Clock;
  readonly messaging: Pick<Messaging, 'accept'>;
}

export function discordWebhook({ accounts, clock, messaging }: DiscordWebhookDependencies) {
  return discord.raw({
    id: 'discord.webhook.receive',
    method: 'POST',
    path: '/v1/discord/webhook/{tenant}',
    posture: 'public',
    summary: 'Receive an interaction from Discord',
    description:
      'Only Discord calls this. A ping is answered at once, as Discord asks for; what people type is acknowledged, and ' +
      'answered through the interaction when the answer is there.',
    params: Type.Object({ tenant: Type.String() }),
    reply: InteractionResponse,
    maxBodyBytes: MAX_CALL_BYTES,
    errors: ['missing_signature', 'bad_signature', 'bad_webhook', 'payload_too_large'],
    async verify({ params, body, headers }) {
      const call = { bytes: body.bytes, headers, now: clock.now() };
      const account = await verifyDiscordCall(accounts, params.tenant, call);
      return { kind: 'tenant', projectId: account.projectId, tokenId: '', scopes: new Set<string>(), account };
    },
    async handler({ caller: { account }, body }): Promise<InteractionResponse> {
      const interaction = readDiscordCall(account, body.bytes);
      if (interaction.kind === 'ping') return { type: InteractionResponseType.PONG };
      if (interaction.kind === 'unknown') return privately('This is not known here. Try /ask.');
      const { message, isPrivate } = interaction;
      if (isStop(message)) {
        // What is said of it takes the place of the answer that is stopped.
        await messaging.accept(account, [{ ...message, reply: undefined }]);
        return privately('Stopping…');
      }
      const { unbound } = await messaging.accept(account, [message]);
      if (unbound > 0) return privately(NOT_CONNECTED);
      return {
        type: InteractionResponseType.DEFERRED_CHANNEL_MESSAGE_WITH_SOURCE,
        ...(isPrivate && { data: { flags: InteractionResponseFlags.EPHEMERAL } }),
      };
    },
  });
}

function isStop({ text }: InboundMessage): boolean {
  return text.trim().toLowerCase() === '/stop';
}

const NOT_CONNECTED = 'You are not connected here. If you were given a code, type /link with it.';

/** Seen by whoever typed alone. */
function privately(content: string): InteractionResponse {
  const data = { flags: InteractionResponseFlags.EPHEMERAL, content };
  return { type: InteractionResponseType.CHANNEL_MESSAGE_WITH_SOURCE, data };
}
