import { ApiError } from '../../kernel/http/errors.ts';
import type { Caller } from '../access/caller.ts';
import { type ClaimsAcceptance, isAcceptanceLive } from '../registry/claims-notices.ts';
import type { HeldMark, LaunchDemand, LaunchPhaseName, MarkKind } from '../registry/registry.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { type ClaimsDependencies, notShownHere, readLaunchDemand } from './launch-demand.ts';
import { findNotice } from './store.ts';

/** What a customer has accepted, and when. */
export interface GivenNotice {
  readonly id: string;
  readonly acceptedAt: Date;
}

/** What the caller of a purchase sends along. */
export interface GivenForLaunch extends HeldMark {
  readonly notice?: GivenNotice | undefined;
}

/** What goes with the order; empty where nothing is needed. */
export interface LaunchTerms extends HeldMark {
  readonly claimsAcceptance?: ClaimsAcceptance;
  /** In which it is applied for; absent: it is no application. */
  readonly launchPhase?: LaunchPhaseName;
}

/** What the registration of a name needs of its customer. */
export type LaunchNeed = Exclude<LaunchDemand, { readonly kind: 'refused' }>;

/** How far callers' clocks may be from ours. */
const CLOCK_TOLERANCE_MS = 300_000;

/**
 * What was given, as far as the registration of the name needs it now. Throws before any money is touched: `registration_failed` with the
 * reason, and with the path to the notice where there is one; `bad_request` for a moment that cannot be.
 */
export async function meetLaunchDemand(
  deps: ClaimsDependencies,
  caller: Pick<Caller, 'tokenId' | 'workspaceId'>,
  name: string,
  { notice, ...held }: GivenForLaunch,
): Promise<LaunchTerms> {
  const need = await readLaunchNeed(deps, name, held);
  const applied = need.application && { launchPhase: need.application };
  switch (need.kind) {
    case 'none':
      return { ...applied };
    case 'mark':
      return { ...held, ...applied };
    case 'claims_notice':
      return { claimsAcceptance: await acceptNotice(deps, caller, name, notice), ...applied };
    default:
      return need satisfies never;
  }
}

/** What was given, while the registry does not say what it demands: that is asked by the order. Throws as `meetLaunchDemand` for a notice. */
export async function keepForLaunch(
  deps: Pick<ClaimsDependencies, 'clock' | 'db'>,
  caller: Pick<Caller, 'tokenId' | 'workspaceId'>,
  name: string,
  { notice, ...held }: GivenForLaunch,
): Promise<LaunchTerms> {
  return {
    ...(notice !== undefined && { claimsAcceptance: await acceptNotice(deps, caller, name, notice) }),
    ...held,
  };
}

/** Throws `registration_failed` where its customer cannot meet it, and `internal` where the registry does not answer. */
export async function readLaunchNeed(
  deps: Pick<ClaimsDependencies, 'noticeService' | 'registry'>,
  name: string,
  held: HeldMark,
): Promise<LaunchNeed> {
  const demand = await readLaunchDemand(deps, name, held);
  switch (demand.kind) {
    case 'none':
      return demand;
    case 'refused':
      throw new ApiError('registration_failed', {
        message: `${demand.reason.charAt(0).toUpperCase()}${demand.reason.slice(1)}. Nothing was charged.`,
        details: { reason: refusalReason(held) },
      });
    case 'mark':
      requireMark(name, demand.requires, held);
      return demand;
    case 'claims_notice':
      if (deps.noticeService === undefined) throw notShownHere(name);
      return demand;
    default:
      return demand satisfies never;
  }
}

function refusalReason({ mark, markCode, signedMark }: HeldMark): 'launch' | 'mark_refused' | 'signed_mark_refused' {
  if (signedMark !== undefined) return 'signed_mark_refused';
  return (mark ?? markCode) === undefined ? 'launch' : 'mark_refused';
}

const MARK_PARTS = {
  signed_mark: '`signed_mark`: the mark that the Trademark Clearinghouse signed, in base64',
  mark_code: '`mark_code`: the code that the validator of your trademark has given you',
  mark: '`mark`: the document of your trademark, in base64',
  mark_code_and_mark:
    '`mark_code`: the code that the validator of your trademark has given you, and `mark`: its document, in base64',
} as const;

function requireMark(name: string, requires: MarkKind, { mark, markCode, signedMark }: HeldMark): void {
  const isThere = {
    signed_mark: signedMark !== undefined,
    mark_code: markCode !== undefined,
    mark: mark !== undefined,
    mark_code_and_mark: markCode !== undefined && mark !== undefined,
  };
  if (isThere[requires]) return;
  throw new ApiError('registration_failed', {
    message: `${name} is only for the holder of a trademark now. Nothing was charged. If you are one, repeat the call with ${MARK_PARTS[requires]}.`,
    details: { reason: `${requires}_required` },
  });
}

/** Throws as `meetLaunchDemand`. */
export async function acceptNotice(
  deps: Pick<ClaimsDependencies, 'clock' | 'db'>,
  { tokenId, workspaceId }: Pick<Caller, 'tokenId' | 'workspaceId'>,
  name: string,
  given: GivenNotice | undefined,
): Promise<ClaimsAcceptance> {
  if (given === undefined) {
    throw refusal(name, 'claims_notice_required', `A trademark claims ${name}, so its notice has to be accepted`);
  }
  const row = await findNotice(workspaceDb(deps.db, workspaceId), given.id);
  if (row?.name !== name) {
    throw refusal(
      name,
      'claims_notice_unknown',
      `The notice in \`claims_notice.id\` is none that you were shown of ${name}`,
    );
  }
  const now = deps.clock.now();
  const acceptedAt = given.acceptedAt > now ? now : given.acceptedAt;
  requirePossible(given.acceptedAt, row.shown_at, now);
  const acceptance = {
    noticeId: row.notice_id,
    notAfter: row.not_after.toISOString(),
    acceptedAt: acceptedAt.toISOString(),
    recordedAt: now.toISOString(),
    tokenId,
  };
  if (isAcceptanceLive(acceptance, now)) return acceptance;
  throw refusal(name, 'claims_notice_expired', `The notice of ${name}, or your acceptance of it, has ended`);
}

/** Nobody accepts what comes later, or what was not shown yet. */
function requirePossible(acceptedAt: Date, shownAt: Date, now: Date): void {
  const isLate = acceptedAt.getTime() > now.getTime() + CLOCK_TOLERANCE_MS;
  if (!isLate && acceptedAt.getTime() >= shownAt.getTime() - CLOCK_TOLERANCE_MS) return;
  const message = isLate
    ? `\`claims_notice.accepted_at\` lies in the future: it is ${now.toISOString()} now. Say when the notice was accepted.`
    : `\`claims_notice.accepted_at\` lies before ${shownAt.toISOString()}, when the notice was first shown. Say when it was accepted.`;
  throw new ApiError('bad_request', { message, param: 'claims_notice.accepted_at' });
}

function refusal(name: string, reason: string, what: string): ApiError {
  const notice = `/claims-notices/${name}`;
  return new ApiError('registration_failed', {
    message: `${what}. Nothing was charged. Read GET ${notice}, and if you accept it repeat the call with \`claims_notice\`: its id, and when you accepted it.`,
    details: { reason, notice },
  });
}
