import { plainText, redirect } from '../../../kernel/http/reply.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import type { Outbound } from '../../../kernel/outbound/outbound.ts';
import type { Vault } from '../../../kernel/vault/vault.ts';
import { open } from '../../access/operation.ts';
import { completeSlackInstall } from '../../channels/index.ts';

const MAX_QUERY_CHARS = 2_048;
const INSTALLED = 'The app is installed. You may close this page.';

export interface SlackOauthDependencies {
  readonly vault: Pick<Vault, 'open' | 'seal'>;
  readonly outbound: Pick<Outbound, 'fetch'>;
  readonly publicUrl: string;
}

export function slackOauth({ vault, outbound, publicUrl }: SlackOauthDependencies) {
  const text = (description: string) => Type.Optional(Type.String({ maxLength: MAX_QUERY_CHARS, description }));
  return open.read({
    id: 'slack.oauth',
    method: 'GET',
    path: '/v1/slack/oauth/{tenant}',
    posture: 'public',
    summary: 'Come back from installing a Slack app',
    description:
      'Slack sends the browser here with its `code` and the `state` of an `install_url`: the bot’s token is kept, and the ' +
      'browser goes on to the app in its workspace.',
    params: Type.Object({ tenant: Type.String() }),
    query: Type.Object({
      code: text('What Slack gives the bot’s token for, once.'),
      state: text('Of the deployment whose `install_url` was opened.'),
      error: text('Why there is no code.'),
    }),
    answers: ['redirect', 'text'],
    errors: ['invalid_state', 'slack_oauth_unconfigured', 'slack_api_error'],
    async handler({ db, params, query: { code, state, error } }) {
      const callback = { projectId: params.tenant, code, state, error };
      const appUrl = await completeSlackInstall({ db, vault, outbound, publicUrl }, callback);
      return appUrl === undefined ? plainText(INSTALLED) : redirect(appUrl);
    },
  });
}
