import { ApiError } from '../../kernel/http/errors.ts';
import { type ClaimsNotice, isNoticeOf, type NoticeService, NoticeUnavailable } from '../registry/claims-notices.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { type ClaimsDependencies, notShownHere, readLaunchDemand } from './launch-demand.ts';
import { findShownNotice, findWantedKey, insertNotice, type NoticeRow } from './store.ts';

/**
 * The notice of a name, which the workspace can accept from now on until it ends. Throws `not_found` where no trademark claims the name,
 * `registration_failed` where the name is not sold, and `internal` where the registry or the service of notices does not answer.
 */
export async function showNotice(
  deps: ClaimsDependencies,
  workspaceId: string,
  name: string,
): Promise<Omit<NoticeRow, 'workspace_id'>> {
  const { clock, db, noticeService } = deps;
  const scoped = workspaceDb(db, workspaceId);
  const lookupKey = (await findWantedKey(scoped, name)) ?? (await askLookupKey(deps, name));
  if (noticeService === undefined) throw notShownHere(name);
  const shown = await findShownNotice(scoped, { name, lookupKey, now: clock.now() });
  if (shown !== undefined) return shown;
  const notice = await fetchNotice(deps, noticeService, name, lookupKey);
  const { claims, id, notAfter } = notice;
  const row = {
    notice_id: id,
    name,
    lookup_key: lookupKey,
    not_after: notAfter,
    claims: [...claims],
    shown_at: clock.now(),
  };
  await insertNotice(scoped, row);
  return row;
}

async function askLookupKey(deps: ClaimsDependencies, name: string): Promise<string> {
  const demand = await readLaunchDemand(deps, name);
  if (demand.kind === 'claims_notice') return demand.lookupKey;
  if (demand.kind === 'refused') {
    throw new ApiError('registration_failed', {
      message: `${capitalized(demand.reason)}.`,
      details: { reason: 'launch' },
    });
  }
  throw new ApiError('not_found', {
    message: 'No notice of this name has to be accepted. GET /check says what its registration needs.',
    details: { reason: 'not_claimed' },
  });
}

async function fetchNotice(
  { clock, logger }: ClaimsDependencies,
  service: NoticeService,
  name: string,
  lookupKey: string,
): Promise<ClaimsNotice> {
  try {
    const notice = await service.fetchNotice(lookupKey);
    const label = name.slice(0, name.indexOf('.'));
    if (notice.label !== label || !isNoticeOf(label, notice)) {
      throw new NoticeUnavailable(`it answered with the notice of ${notice.label}`);
    }
    if (notice.notAfter <= clock.now()) throw new NoticeUnavailable('it answered with a notice that has ended');
    return notice;
  } catch (error) {
    if (!(error instanceof NoticeUnavailable)) throw error;
    logger.error({ name, reason: error.message }, 'the notice of a trademark claim cannot be had from its service');
    throw new ApiError('internal', {
      message: `A trademark claims ${name}, and its notice cannot be had from the trademark clearinghouse now. Nothing was charged; repeat the call in a minute.`,
      details: { reason: 'notice_unavailable' },
      cause: error,
    });
  }
}

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
