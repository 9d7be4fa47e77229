import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import type { Logger } from '../../kernel/log/log.ts';
import type { NoticeService } from '../registry/claims-notices.ts';
import { type HeldMark, type LaunchDemand, type Registry, RegistryUnavailable } from '../registry/registry.ts';

export interface ClaimsDependencies {
  readonly db: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Pick<Registry, 'launchDemandOf'>;
  /** Undefined: none is configured, so names that trademarks claim are not sold. */
  readonly noticeService?: NoticeService | undefined;
}

/** Throws `internal` where the registry does not answer. */
export async function readLaunchDemand(
  { registry }: Pick<ClaimsDependencies, 'registry'>,
  name: string,
  held?: HeldMark,
): Promise<LaunchDemand> {
  try {
    return await registry.launchDemandOf(name, held);
  } catch (error) {
    if (!(error instanceof RegistryUnavailable)) throw error;
    const message =
      'The registry does not say now what registering the name needs. Nothing was charged; repeat the call.';
    throw new ApiError('internal', { message, cause: error });
  }
}

/** Where a name that a trademark claims cannot be bought, as no notice of it can be shown. */
export function notShownHere(name: string): ApiError {
  return new ApiError('registration_failed', {
    message: `A trademark claims ${name}, and its notice cannot be shown here, so the name is not sold here. Nothing was charged. GET /suggest has other names.`,
    details: { reason: 'claims_not_supported' },
  });
}
