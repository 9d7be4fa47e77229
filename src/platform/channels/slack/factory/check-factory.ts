/** What makes apps, as it is saved: Slack is asked whether the token is good and the manifest one that it would take. */
import { ApiError } from '../../../../kernel/http/errors.ts';
import type { CheckedAccount } from '../../accounts/checked-account.ts';
import { type SlackApi, SlackProblem } from '../web-api.ts';
import { composeManifest, invalidTemplate, type OwnAddresses, readManifestTemplate } from './manifest.ts';

export interface SlackFactory {
  readonly configToken: string;
  readonly configRefreshToken: string;
  /** A text of JSON; undefined: the usual one. */
  readonly manifestTemplate: string | undefined;
  readonly appLimit: number;
}

const SAMPLE = { deploymentId: 'dep_00000000000000000000000000', name: 'Smith', hasOwner: true };

/** What of it is kept with the account. Throws `invalid_manifest_template` and `slack_api_error`. */
export async function checkFactory(
  api: SlackApi,
  baseUrl: string,
  { configToken, configRefreshToken, manifestTemplate, appLimit }: SlackFactory,
  at: OwnAddresses,
  signal: AbortSignal,
): Promise<Pick<CheckedAccount, 'settings' | 'secrets'>> {
  const { manifest } = composeManifest(readManifestTemplate(manifestTemplate), at, SAMPLE);
  try {
    const args = { manifest: JSON.stringify(manifest) };
    await api.call({ baseUrl, token: configToken }, 'apps.manifest.validate', args, signal);
  } catch (problem) {
    if (!(problem instanceof SlackProblem)) throw problem;
    throw refusalOf(problem);
  }
  return {
    settings: {
      app_limit: appLimit,
      ...(manifestTemplate !== undefined && { manifest_template: manifestTemplate }),
    },
    secrets: { config_token: configToken, config_refresh_token: configRefreshToken },
  };
}

function refusalOf(problem: SlackProblem): ApiError {
  if (problem.code === 'invalid_manifest') return invalidTemplate(problem.message, problem);
  if (problem.kind === 'refused') {
    const message = `Slack does not accept the configuration token (${problem.code}). Generate another pair under *Your App Configuration Tokens* at api.slack.com/apps.`;
    return new ApiError('slack_api_error', { param: 'config_token', message, cause: problem });
  }
  const message = `Slack could not be asked: ${problem.message} Try again.`;
  return new ApiError('slack_api_error', { message, cause: problem });
}
